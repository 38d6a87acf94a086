// SPDX-License-Identifier: BSD-3-Clause
// Faults between socklnd and a stream driver. Bytes may be late, cut short, corrupted or lost, but
// never out of order, which a byte stream rules out. The table is in plan.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "drivers/net/fault/judge.hpp"
#include "lib/base/pollable.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

// Faults are possible on streams whose index is below this; others pass unchanged.
inline constexpr std::size_t kFaultStreamsMax = 1024;
// Bytes that can be corrupted at once without changing the sender's or the driver's buffers.
inline constexpr std::size_t kScratchBytes = 64UL * 1024;
// The pieces of a write that is halved; those behind are left out as well.
inline constexpr std::size_t kHalfPiecesMax = 64;

class FaultStreamDriver final : public socklnd::StreamDriver,
                                public socklnd::StreamEvents,
                                public Pollable {
 public:
  using StreamId = socklnd::StreamId;
  // Build the real driver with this as its events, then attach() it. Allocates here only.
  FaultStreamDriver(socklnd::StreamEvents& up, Random random);
  void attach(socklnd::StreamDriver& lower) { lower_ = &lower; }

  [[nodiscard]] Outcome<void> set_plan(const FaultPlan& plan) { return judge_.set_plan(plan); }
  [[nodiscard]] const FaultJudge& judge() const { return judge_; }

  // Pollable: polled before the real driver. Ends stalls.
  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "fault-stream"; }
  [[nodiscard]] Instant next_deadline() const override;

  // StreamDriver: called by socklnd.
  std::size_t write(StreamId stream, std::span<const std::span<const std::byte>> pieces) override;
  void pause_reading(StreamId stream) override;
  void resume_reading(StreamId stream) override;
  void acknowledge_now(StreamId stream) override { lower_->acknowledge_now(stream); }
  [[nodiscard]] bool await(StreamId stream, std::size_t bytes) override;
  [[nodiscard]] std::size_t relay(StreamId from, StreamId to,
                                  std::span<const std::span<const std::byte>> head,
                                  std::size_t bytes) override;
  [[nodiscard]] Result<void> fetch(StreamId stream, std::span<std::byte> target) override {
    return lower_->fetch(stream, target);
  }
  void limit_next_read(StreamId stream, std::size_t bytes) override {
    lower_->limit_next_read(stream, bytes);
  }
  [[nodiscard]] Result<StreamId> connect(const socklnd::ConnectRequest& request) override;
  [[nodiscard]] Result<void> listen(const socklnd::SocketAddress& local, unsigned backlog,
                                    const socklnd::StreamOptions& accepted) override;
  void stop_listening(const socklnd::SocketAddress& local) override;
  void close(StreamId stream, Errc cause) override;
  [[nodiscard]] Result<socklnd::DetachedStream> detach(StreamId stream) override;
  [[nodiscard]] Result<StreamId> adopt(const socklnd::DetachedStream& stream,
                                       const socklnd::StreamOptions& options) override;
  void discard(const socklnd::DetachedStream& stream) override { lower_->discard(stream); }
  [[nodiscard]] bool is_local(const socklnd::SocketAddress& address) const override {
    return lower_->is_local(address);
  }
  [[nodiscard]] socklnd::StreamFacts facts(StreamId stream) const override;
  [[nodiscard]] socklnd::StreamProgress progress(StreamId stream) const override;
  [[nodiscard]] socklnd::StreamDetails details(StreamId stream) const override {
    return lower_->details(stream);
  }
  [[nodiscard]] CounterView counters() const override { return judge_.counters(); }

  // StreamEvents: called by the real driver.
  [[nodiscard]] std::span<std::byte> destination(StreamId stream) override;
  [[nodiscard]] std::size_t on_bytes(StreamId stream, std::size_t direct,
                                     std::span<const std::byte> staged) override;
  void on_writable(StreamId stream) override;
  void on_awaited(StreamId stream) override;
  void on_connected(StreamId stream, const socklnd::StreamAddresses& addresses) override;
  void on_accepted(StreamId stream, const socklnd::StreamAddresses& addresses) override;
  void on_closed(StreamId stream, Errc cause, std::uint64_t unacknowledged_bytes) override;

 private:
  struct Stream {
    StreamId id;
    bool live = false;
    bool doomed = false;        // closed by a fault: on_closed() follows
    bool paused_above = false;  // socklnd paused it
    bool paused_here = false;   // a stall paused it
    bool held = false;          // a payload stays in its socket: no faults until it is taken
    bool writable_due = false;  // a write was cut short here, so on_writable() comes from here
    bool tx_stalled = false;
    Instant tx_until;
    Instant rx_until;
    std::span<std::byte> destination;
  };

  Stream* find(StreamId stream);
  void begin(StreamId stream);
  [[nodiscard]] bool stalls(Stream& stream) const;
  void stall(Stream& stream, const FaultRule& rule) const;
  std::size_t write_half(Stream& stream, std::span<const std::span<const std::byte>> pieces,
                         const FaultRule& rule);
  std::size_t write_spoilt(Stream& stream, std::span<const std::span<const std::byte>> pieces,
                           const FaultRule& rule);
  std::size_t deliver(Stream& stream, std::size_t direct, std::span<const std::byte> staged,
                      const FaultRule& rule);
  void kill(Stream& stream, Errc cause);

  socklnd::StreamEvents& up_;
  socklnd::StreamDriver* lower_ = nullptr;
  FaultJudge judge_;
  const std::unique_ptr<Stream[]> streams_;
  const std::unique_ptr<std::byte[]> scratch_;
  std::size_t high_ = 0;  // streams from this index on were never used
  Instant now_{};
};

}  // namespace plnet::drivers
