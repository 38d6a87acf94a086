// SPDX-License-Identifier: BSD-3-Clause
// The simulator's byte streams for one shard. Uses the freedom of the contract, as a socket driver
// does: writes take only a part, reads end at any byte, connections break; all of it drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/sim/fetch.hpp"
#include "drivers/net/sim/pooled_bytes.hpp"
#include "drivers/net/sim/stream_fabric.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/pollable.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

#define PLNET_SIM_STREAM_COUNTERS(X)                                                            \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                        \
  X(kAccepts, "accepts", "connections", kCount, "incoming connections")                         \
  X(kFailedConnects, "failed_connects", "connections", kCount, "attempts that failed")          \
  X(kOpen, "open", "connections", kGauge, "streams that have an id now")                        \
  X(kBytesWritten, "bytes_written", "bytes", kCount, "bytes taken by write()")                  \
  X(kBytesRelayed, "bytes_relayed", "bytes", kCount, "handed on from stream to stream")         \
  X(kBytesRead, "bytes_read", "bytes", kCount, "bytes handed to the LND")                       \
  X(kWrites, "writes", "calls", kCount, "calls of write()")                                     \
  X(kShortWrites, "short_writes", "calls", kCount, "writes that took less than offered")        \
  X(kReads, "reads", "calls", kCount, "reads, one on_bytes() each")                             \
  X(kRemainders, "remainders", "calls", kCount, "reads of which staged bytes were left over")   \
  X(kResets, "resets", "connections", kCount, "connections broken by the peer or the network")  \
  X(kTimeouts, "timeouts", "connections", kCount, "connections whose peer went silent")         \
  X(kStaleCalls, "stale_calls", "calls", kCount, "calls for a stream that has closed; ignored") \
  X(kQuickAcks, "quick_acks", "calls", kCount, "calls of acknowledge_now()")                    \
  X(kPollWork, "poll_work", "events", kCount, "pieces of work done by poll()")
PLNET_COUNTERS(SimStreamCounters, PLNET_SIM_STREAM_COUNTERS);

class SimStreamDriver final : public socklnd::StreamDriver, public Pollable {
 public:
  using StreamId = socklnd::StreamId;

  // `doorbell` is rung when poll() has work. All outlive the driver.
  SimStreamDriver(SimStreamFabric& fabric, HostId host, socklnd::StreamEvents& events,
                  Doorbell& doorbell);
  ~SimStreamDriver() override;
  SimStreamDriver(const SimStreamDriver&) = delete;
  SimStreamDriver& operator=(const SimStreamDriver&) = delete;

  std::size_t write(StreamId stream, std::span<const std::span<const std::byte>> pieces) override;
  void pause_reading(StreamId stream) override;
  void resume_reading(StreamId stream) override;
  void acknowledge_now(StreamId stream) override;
  [[nodiscard]] bool await(StreamId stream, std::size_t bytes) override;
  [[nodiscard]] std::size_t relay(StreamId from, StreamId to,
                                  std::span<const std::span<const std::byte>> head,
                                  std::size_t bytes) override;
  [[nodiscard]] Result<void> fetch(StreamId stream, std::span<std::byte> target) override;
  [[nodiscard]] Result<StreamId> connect(const socklnd::ConnectRequest& request) override;
  [[nodiscard]] Result<void> listen(const socklnd::SocketAddress& local, unsigned backlog,
                                    const socklnd::StreamOptions& accepted) override;
  void stop_listening(const socklnd::SocketAddress& local) override;
  void close(StreamId stream, Errc cause) override;
  [[nodiscard]] Result<socklnd::DetachedStream> detach(StreamId stream) override;
  [[nodiscard]] Result<StreamId> adopt(const socklnd::DetachedStream& stream,
                                       const socklnd::StreamOptions& options) override;
  void discard(const socklnd::DetachedStream& stream) override;
  [[nodiscard]] bool is_local(const socklnd::SocketAddress& address) const override;
  [[nodiscard]] socklnd::StreamFacts facts(StreamId stream) const override;
  [[nodiscard]] socklnd::StreamProgress progress(StreamId stream) const override;
  [[nodiscard]] CounterView counters() const override { return counters_.view(); }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "sim streams"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }

  // Reserves, so that nothing is allocated before there are that many streams.
  void reserve(std::size_t streams) { streams_.reserve(streams); }

  // For SimStreamFabric.

  // Fetches the data of a note on this stream into the cache, in two steps.
  void prefetch(std::uint32_t index, unsigned step) const {
    if (step == 0) {
      fetch_lines(this, 2);
    } else {
      if (index < streams_.size()) __builtin_prefetch(&streams_[index]);
      fetch_lines(&doorbell_, 2);
    }
  }
  // Each call only makes a note for poll().
  std::uint32_t add_accepted(StreamEndId end);
  void note_connected(std::uint32_t index);
  void note_readable(std::uint32_t index);
  void note_writable(std::uint32_t index);
  // The connection is gone. `unread_lost`: bytes that have arrived but were not read are dropped.
  void note_ended(std::uint32_t index, Errc cause, bool unread_lost);

 private:
  // Streams in one poll, one read each: enough to amortise the turn, few enough to leave time for
  // the rest.
  static constexpr std::size_t kServedPerPoll = 64;
  static constexpr std::size_t kStreamsMax = 1U << 20U;  // ids are small integers; a bound on loops
  static constexpr std::uint32_t kNone = ~0U;

  struct Stream {
    StreamEndId end;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
    std::uint32_t next_ready = kNone;
    bool in_use : 1 = false;
    bool queued : 1 = false;  // among the ready ones
    bool paused : 1 = false;
    bool was_paused : 1 = false;  // paused during the event handler that runs
    bool reported : 1 = false;    // on_connected() or on_accepted() has been called
    bool accepted : 1 = false;
    bool connected : 1 = false;
    bool readable : 1 = false;
    bool writable : 1 = false;
    bool ended : 1 = false;        // the fabric has ended it
    bool unread_lost : 1 = false;  // and its unread bytes are lost
    bool closing : 1 = false;      // close() was called
    bool holding : 1 = false;      // the awaited bytes are there, and wait to be taken
    std::uint32_t awaited = 0;     // nothing is read before so many bytes are there
    Errc cause = Errc::kClosed;
    std::uint64_t unacknowledged = 0;
    // Staged bytes that the LND did not use when it paused: they have left the socket.
    PooledBytes remainder;
  };

  [[nodiscard]] Stream* find(StreamId id);
  [[nodiscard]] const Stream* find(StreamId id) const;
  [[nodiscard]] std::uint32_t add_stream(StreamEndId end);
  void free_stream(std::uint32_t index);
  void make_ready(std::uint32_t index);
  // stream_poll.cpp
  void serve(std::uint32_t index);
  [[nodiscard]] bool report_open(std::uint32_t index, StreamId id);
  [[nodiscard]] bool wait_is_over(StreamId id);
  void finish_turn(std::uint32_t index, StreamId id);
  bool read_once(StreamId id);
  bool present_remainder(StreamId id);
  void keep_remainder(StreamId id, std::span<const std::byte> staged, std::size_t used);
  void report_closed(std::uint32_t index, StreamId id);

  SimStreamFabric& fabric_;
  socklnd::StreamEvents& events_;
  Doorbell& doorbell_;
  std::vector<Stream> streams_;  // handlers may add streams: look up again after each
  // Served in order, each stream at most once.
  std::uint32_t first_ready_ = kNone;
  std::uint32_t last_ready_ = kNone;
  std::size_t ready_count_ = 0;
  std::uint32_t first_free_ = kNone;
  HostId host_;
  std::vector<socklnd::SocketAddress> listening_;
  Counters<SimStreamCounters> counters_;
};

}  // namespace plnet::drivers
