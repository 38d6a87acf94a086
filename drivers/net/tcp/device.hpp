// SPDX-License-Identifier: BSD-3-Clause
// Byte streams over the system's TCP sockets, for one shard. Nothing blocks and no thread helps:
// poll() asks one readiness set (an edge-triggered epoll) what has changed, so a connection that is
// idle costs no system call, and one that speaks costs one for each read and each send. What an
// edge said is remembered until a read comes up short or a write fits, so interest never has to be
// changed.
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
  // Streams with an id at a time, of one shard; more are refused. Three for each peer, say.
  std::size_t connections_max = 4096;
  // What is read beyond a payload: several hundred small messages, or a dozen of 4 KiB, in one
  // call. Where payloads are large it is less (TcpRx::kStagedOfBulk).
  std::size_t staging_bytes = std::size_t{64} * 1024;
  // Several shards listen on the same address and the system spreads connections over them. Then
  // nobody notices if a second node does so, too.
  bool share_listeners = false;
  // A connection that was the only one to speak is read directly, without a look at the readiness
  // set before, until so many reads in turn have found nothing: some 20 us. A conversation of small
  // messages is then as quick as on a bare socket. 0: always look first.
  unsigned hot_reads = 64;
  // On every stream, until the system refuses it once.
  BusyPoll busy_poll;
  // TcpCongestion::kAuto, kSystem, or a name of the system's.
  std::string congestion_control{TcpCongestion::kAuto};
  // A shard without time to spare lets small messages come together where that costs nothing.
  bool coalesce = true;
  // Large payloads go from socket to socket where the LND asks for it and SIGPIPE is ignored.
  bool relay = true;
};

class TcpDevice final : public socklnd::StreamDriver, public Pollable {
 public:
  using StreamId = socklnd::StreamId;

  // Streams served in one poll: enough to amortise the turn, few enough to leave room for others.
  static constexpr std::size_t kServedPerPoll = 64;
  // And no more after so many bytes, some tenths of a millisecond of copying.
  static constexpr std::size_t kBytesPerPoll = std::size_t{1} << 20U;
  // When as many are ready already the readiness set is looked at in every so manyth poll only. A
  // crowd that is never done is no reason not to hear who else speaks, comes, leaves or has room
  // again; a call for some hundred streams served, or some megabytes, is little.
  static constexpr unsigned kPollsUnlooked = 4;
  static constexpr unsigned kAcceptsPerPoll = 16;
  // Direct reads of the hot connection between two looks at the readiness set: others wait for no
  // longer than a few microseconds.
  static constexpr unsigned kHotPolls = 8;
  // Out of descriptors: the system does not say when there are some again.
  static constexpr Duration kAcceptRetry = std::chrono::milliseconds(100);

  // Allocates everything that it will ever need. `events` outlives the device.
  [[nodiscard]] static Outcome<std::unique_ptr<TcpDevice>> open(const TcpConfig& config,
                                                                socklnd::StreamEvents& events);
  ~TcpDevice() override = default;
  TcpDevice(const TcpDevice&) = delete;
  TcpDevice& operator=(const TcpDevice&) = delete;

  std::size_t write(StreamId stream, std::span<const std::span<const std::byte>> pieces) override;
  void pause_reading(StreamId stream) override;
  void resume_reading(StreamId stream) override;
  void acknowledge_now(StreamId stream) override;
  // Why await() never says yes though it is wanted; "": nothing stands against it.
  [[nodiscard]] std::string_view relay_refusal() const { return relay_.refusal(); }
  [[nodiscard]] bool await(StreamId stream, std::size_t bytes) override;
  [[nodiscard]] std::size_t relay(StreamId from, StreamId to,
                                  std::span<const std::span<const std::byte>> head,
                                  std::size_t bytes) override;
  void fetch(StreamId stream, std::span<std::byte> target) override;
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
  unsigned hot_left_ = 0;        // reads that may find nothing until it is one of many again
  unsigned hot_polls_left_ = 0;  // until the next look at the readiness set
  unsigned polls_unlooked_ = 0;  // since the last one, with enough to do without
  Coalescer coalescer_;
  TcpMemory memory_;
  TcpRx rx_;
  TcpTx tx_;
  TcpRelay relay_;
  Instant now_{};  // of the last poll
  TcpCongestion congestion_;
  TcpPorts ports_;
  TcpListeners listeners_;
  std::uint64_t pending_listeners_ = 0;       // those that are readable, a bit each
  Instant accept_retry_at_ = Instant::max();  // set while accepting is suspended
  std::array<epoll_event, kServedPerPoll> harvest_{};
};

}  // namespace plnet::drivers
