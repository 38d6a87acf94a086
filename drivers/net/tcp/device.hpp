// SPDX-License-Identifier: BSD-3-Clause
// Byte streams over the system's TCP sockets, for one shard. Nothing blocks, and there is no helper
// thread: poll() asks one readiness set (an edge-triggered epoll) for changes. So an idle
// connection costs no system call, and an active one costs one for each read and each write. An
// edge is remembered until a read finds the socket empty or a write fits, so the set of events of a
// socket never changes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/epoll.h>

#include "drivers/net/tcp/busy_poll.hpp"
#include "drivers/net/tcp/coalescer.hpp"
#include "drivers/net/tcp/congestion.hpp"
#include "drivers/net/tcp/connection.hpp"
#include "drivers/net/tcp/listener.hpp"
#include "drivers/net/tcp/memory.hpp"
#include "drivers/net/tcp/ports.hpp"
#include "drivers/net/tcp/relay.hpp"
#include "drivers/net/tcp/rx.hpp"
#include "drivers/net/tcp/stats.hpp"
#include "drivers/net/tcp/tx.hpp"
#include "lib/base/pollable.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

struct TcpConfig {
  // Open streams of one shard; more are refused. A peer has three or more.
  std::size_t connections_max = 4096;
  // Bytes read beyond a payload in one call: several hundred small messages, or a dozen of 4 KiB.
  // Fewer where payloads are large (TcpRx::kStagedOfBulk).
  std::size_t staging_bytes = std::size_t{64} * 1024;
  // Several shards listen on the same address, and the system spreads connections over them. Then a
  // second node that listens there, too, is not noticed.
  bool share_listeners = false;
  // If only one connection was active, it is read directly, without a look at the readiness set,
  // until so many reads in a row have found nothing: some 20 us. A conversation of small messages
  // is then as fast as on a bare socket. 0: the readiness set is always asked first.
  unsigned hot_reads = 64;
  // Set on every stream, until the system refuses it once.
  BusyPoll busy_poll;
  // TcpCongestion::kAuto, kSystem, or a name of the system's.
  std::string congestion_control{TcpCongestion::kAuto};
  // A shard without idle time lets small messages come together where that costs nothing.
  bool coalesce = true;
  // Large payloads go from socket to socket where the LND asks for it and SIGPIPE is ignored.
  bool relay = true;
};

class TcpDevice final : public socklnd::StreamDriver, public Pollable {
 public:
  using StreamId = socklnd::StreamId;

  // Streams served in one poll: enough to amortise the turn, few enough to leave time for the rest.
  static constexpr std::size_t kServedPerPoll = 64;
  // The bytes after which a poll ends: some tenths of a millisecond of copying.
  static constexpr std::size_t kBytesPerPoll = std::size_t{1} << 20U;
  // If as many streams as one poll serves are ready already, only one poll in so many asks the
  // readiness set. New data, new connections, ends and room in other streams are still noticed; one
  // call for some hundred streams served, or some megabytes, costs little.
  static constexpr unsigned kPollsUnlooked = 4;
  static constexpr unsigned kAcceptsPerPoll = 16;
  // Direct reads of the hot connection between two looks at the readiness set: other connections
  // wait some microseconds at most.
  static constexpr unsigned kHotPolls = 8;
  // The pause after a lack of descriptors: the system does not report free ones.
  static constexpr Duration kAcceptRetry = std::chrono::milliseconds(100);

  // Allocates all memory at start. `events` outlives the device.
  [[nodiscard]] static Outcome<std::unique_ptr<TcpDevice>> open(const TcpConfig& config,
                                                                socklnd::StreamEvents& events);
  ~TcpDevice() override = default;
  TcpDevice(const TcpDevice&) = delete;
  TcpDevice& operator=(const TcpDevice&) = delete;

  std::size_t write(StreamId stream, std::span<const std::span<const std::byte>> pieces) override;
  void pause_reading(StreamId stream) override;
  void resume_reading(StreamId stream) override;
  void acknowledge_now(StreamId stream) override;
  // The reason for which await() is always false though it is wanted; "": none.
  [[nodiscard]] std::string_view relay_refusal() const { return relay_.refusal(); }
  [[nodiscard]] bool await(StreamId stream, std::size_t bytes) override;
  [[nodiscard]] std::size_t relay(StreamId from, StreamId to,
                                  std::span<const std::span<const std::byte>> head,
                                  std::size_t bytes) override;
  [[nodiscard]] Result<void> fetch(StreamId stream, std::span<std::byte> target) override;
  void limit_next_read(StreamId id, std::size_t bytes) override;
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
  [[nodiscard]] socklnd::StreamDetails details(StreamId stream) const override;
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] int wake_descriptor() const override { return epoll_.get(); }
  [[nodiscard]] Instant next_deadline() const override {
    return std::min(accept_retry_at_, relay_.next_deadline());
  }

 private:
  TcpDevice(const TcpConfig& config, socklnd::StreamEvents& events, TcpSocket epoll);

  // device.cpp: the turn.
  [[nodiscard]] unsigned serve_ready(Instant now);
  [[nodiscard]] unsigned serve_hot(Instant now);
  void harvest();
  void note_listener(StreamId id);
  void note_connection(StreamId id, std::uint32_t events);
  void serve(TcpConnection& connection, Instant now);
  [[nodiscard]] bool wait_is_over(TcpConnection& connection);
  void end_overdue_waits(Instant now);
  void finish_connect(TcpConnection& connection);
  void report_closed(TcpConnection& connection);
  [[nodiscard]] bool live(const TcpConnection& connection, StreamId id) const;
  void make_ready(TcpConnection& connection);
  void forget(TcpConnection& connection);
  unsigned accept_some(Instant now);
  [[nodiscard]] bool accept_one(TcpListener& listener, Instant now);
  [[nodiscard]] TcpConnection* find_or_count(StreamId stream);
  // setup.cpp
  [[nodiscard]] Result<TcpConnection*> add(int descriptor);
  [[nodiscard]] bool watch(int descriptor, std::uint64_t token, std::uint32_t events);
  void set_busy_poll(int descriptor);

  const TcpConfig config_;
  bool busy_poll_ = false;  // wanted, and not refused
  socklnd::StreamEvents& events_;
  TcpStats stats_;
  TcpSocket epoll_;
  TcpConnections connections_;
  IntrusiveList<TcpConnection> ready_;
  std::size_t ready_count_ = 0;
  StreamId hot_;
  unsigned hot_left_ =
      0;  // direct reads that may find nothing before the connection is polled like all others
  unsigned hot_polls_left_ = 0;  // until the next look at the readiness set
  unsigned polls_unlooked_ = 0;  // polls since the last look that had enough work without one
  Coalescer coalescer_;
  TcpMemory memory_;
  TcpRx rx_;
  TcpTx tx_;
  TcpRelay relay_;
  Instant now_{};  // of the last poll
  TcpCongestion congestion_;
  TcpPorts ports_;
  TcpListeners listeners_;
  std::uint64_t pending_listeners_ = 0;  // the readable ones, one bit each
  static_assert(TcpListeners::kMax <= 64, "each listener has a bit");
  Instant accept_retry_at_ = Instant::max();  // set while accepting is suspended
  std::array<epoll_event, kServedPerPoll> harvest_{};
};

}  // namespace plnet::drivers
