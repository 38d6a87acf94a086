// SPDX-License-Identifier: BSD-3-Clause
// What socklnd asks of a driver: reliable byte streams. Served by drivers/net/tcp and
// drivers/net/sim; drivers/net/fault stacks on either.
//
// One StreamDriver serves one shard and is called by it alone. Calls made from within an event
// handler are allowed except where said; none of them calls back before it returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"

namespace plnet::socklnd {

// Index and generation: an id whose stream has closed never names another one.
struct StreamId {
  std::uint32_t index = ~0U;
  std::uint32_t generation = 0;

  friend bool operator==(const StreamId&, const StreamId&) = default;
};

// IPv4 addresses are held as v4-mapped IPv6.
struct SocketAddress {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;

  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

struct StreamAddresses {
  SocketAddress local;
  SocketAddress remote;
};

// A negative or zero value leaves the system's default; of type_of_service, only a negative one.
struct StreamOptions {
  bool no_delay = true;
  bool close_discards_unsent = true;  // TCP linger2 −1, as the kernel's LND
  int send_buffer_bytes = 0;
  int receive_buffer_bytes = 0;
  int keepalive_idle_s = 0;
  int keepalive_interval_s = 0;
  int keepalive_count = 0;
  int type_of_service = -1;
};

struct ConnectRequest {
  StreamAddresses addresses;    // local.port 0: any; else exactly this one
  bool privileged_port = true;  // pick a local port from 1023 down to 512
  StreamOptions options;
};

// What TCP tells about a live stream, for lnetctl. Zero where the driver does not know.
struct StreamFacts {
  std::uint64_t unsent_bytes = 0;          // in our socket buffer, not yet on the wire
  std::uint64_t unacknowledged_bytes = 0;  // handed to TCP, not yet acknowledged by the peer's
  std::uint64_t retransmits = 0;
  std::uint32_t round_trip_usec = 0;
  std::uint32_t napi_id = 0;
};

// How a live stream does, for whoever looks at many of them.
struct StreamProgress {
  std::uint64_t unacknowledged_bytes = 0;  // as in StreamFacts
  // Retransmissions, or probes of a window that is closed, that the peer's TCP has left unanswered
  // in a row. A peer that does not read answers them.
  std::uint32_t unanswered = 0;
};

// All that can be told of a live stream, for people. Zero where the driver does not know.
struct StreamDetails {
  StreamAddresses addresses;
  std::uint64_t unsent_bytes = 0;  // as in StreamFacts
  std::uint64_t unacknowledged_bytes = 0;
  std::uint64_t unread_bytes = 0;  // in our socket buffer
  std::uint32_t send_buffer_bytes = 0;
  std::uint32_t receive_buffer_bytes = 0;
  bool nagle = false;  // small segments wait for more
  std::uint64_t retransmits = 0;
  std::uint32_t round_trip_usec = 0;
  std::uint32_t round_trip_variance_usec = 0;
  std::string congestion_control{};     // as the system calls it
  std::uint32_t congestion_window = 0;  // segments
  std::uint32_t segment_bytes = 0;      // the largest that we send
  std::uint32_t napi_id = 0;
};

// A stream between two shards: taken off one driver, to be put on another of the same kind.
struct DetachedStream {
  std::intptr_t descriptor = -1;
  StreamAddresses addresses;
};

class StreamEvents {
 public:
  virtual ~StreamEvents() = default;

  // Hot. Where the next bytes of this stream go: the rest of a payload, or empty when a header is
  // expected. Asked right before each read, so that payload lands where it belongs without a copy.
  [[nodiscard]] virtual std::span<std::byte> destination(StreamId stream) = 0;

  // Hot. One read is done: `direct` bytes are in destination(), `staged` follow them. Returns how
  // many of the staged bytes were used up. Fewer than all is right only after pause_reading(): the
  // driver then keeps the remainder and presents it again, first, once reading is resumed. A
  // partial header counts as used: the connection keeps those few bytes itself.
  [[nodiscard]] virtual std::size_t on_bytes(StreamId stream, std::size_t direct,
                                             std::span<const std::byte> staged) = 0;

  // Hot. A write() that came up short may go on.
  virtual void on_writable(StreamId stream) = 0;
  // What await() asked for is there: it lies in the socket and cannot be lost any more. Who wants
  // it to stay there calls pause_reading() in here; the stream's end is not told before it goes on.
  virtual void on_awaited(StreamId /*stream*/) {}

  // Cold.
  virtual void on_connected(StreamId stream, const StreamAddresses& addresses) = 0;
  virtual void on_accepted(StreamId stream, const StreamAddresses& addresses) = 0;
  // The last event of a stream, whoever ended it, and also for a connect that failed. `cause` is
  // kClosed for an orderly end by the peer. `unacknowledged_bytes`: written but never acknowledged
  // by the peer's TCP, hence possibly lost.
  virtual void on_closed(StreamId stream, Errc cause, std::uint64_t unacknowledged_bytes) = 0;
};

// A call for a stream that has closed does nothing and is counted.
class StreamDriver {
 public:
  virtual ~StreamDriver() = default;

  // Hot. Gathers the pieces into as few system calls as it can. Returns the bytes taken, from the
  // front; fewer than offered is back-pressure: on_writable() follows, and earlier tries take 0.
  // Pieces may be freed or changed as soon as this returns.
  virtual std::size_t write(StreamId stream,
                            std::span<const std::span<const std::byte>> pieces) = 0;

  // Hot. Nothing more is read from the stream, and its window closes, until resume_reading(). The
  // bytes that on_bytes() left over come again inside a later poll, not inside this call.
  virtual void pause_reading(StreamId stream) = 0;
  virtual void resume_reading(StreamId stream) = 0;

  // A payload that goes on to another stream need not come by here. A driver that cannot do that
  // says false to await(), and the rest is not called.
  //
  // Nothing of the stream is read until `bytes` of it are there: then on_awaited(). If the system
  // cannot hold as many, or they take long, reading goes on as ever and nothing is told.
  [[nodiscard]] virtual bool await(StreamId /*stream*/, std::size_t /*bytes*/) { return false; }
  // Writes `head` to `to`, then up to `bytes` of what waits in `from`, past our memory. Returns the
  // bytes taken, those of `head` first. If they are not all, `to` is blocked as by write(), or
  // broken, and what is left of `from` is to be fetched before anything else is relayed.
  [[nodiscard]] virtual std::size_t relay(StreamId /*from*/, StreamId /*to*/,
                                          std::span<const std::span<const std::byte>> /*head*/,
                                          std::size_t /*bytes*/) {
    return 0;
  }
  // Fills `target` with what comes next of a stream that was awaited and is paused.
  virtual void fetch(StreamId /*stream*/, std::span<std::byte> /*target*/) {}
  // A hint: the next bytes of the stream are best read without more than so many, since what comes
  // behind them may be awaited, too, and need not be read then. Good for one read.
  virtual void limit_next_read(StreamId /*stream*/, std::size_t /*bytes*/) {}

  // The peer's TCP learns at once of what we have read, not with what we send next. A system call.
  virtual void acknowledge_now(StreamId stream) = 0;

  // Cold. on_connected() or on_closed() follows: whatever goes wrong on the network is told by the
  // latter. Fails only for a reason of this machine's: kAgain if no free source port was found so
  // far, to be called again in a later turn; kBusy if none is left towards this address,
  // kNotPermitted without the right to privileged ones, kNotFound if the source address is not
  // ours, kNoMemory if all streams or descriptors are in use.
  [[nodiscard]] virtual Result<StreamId> connect(const ConnectRequest& request) = 0;
  // Cold. kBusy if somebody listens there, else as connect().
  [[nodiscard]] virtual Result<void> listen(const SocketAddress& local, unsigned backlog,
                                            const StreamOptions& accepted) = 0;
  virtual void stop_listening(const SocketAddress& local) = 0;
  // Cold. on_closed() follows, from a later poll, with `cause`.
  virtual void close(StreamId stream, Errc cause) = 0;
  // Cold. Moves a stream to another shard: detach here, adopt there. Only when all staged bytes are
  // used up and nothing waits to be written, else kBusy; within on_bytes() it is a promise to use
  // up all that this call brought. No on_closed() here: the id just ends. A stream whose adopt()
  // has failed is still detached: adopt it elsewhere, or where it came from, or discard it.
  [[nodiscard]] virtual Result<DetachedStream> detach(StreamId stream) = 0;
  [[nodiscard]] virtual Result<StreamId> adopt(const DetachedStream& stream,
                                               const StreamOptions& options) = 0;
  // Cold. A detached stream that nobody wants ends.
  virtual void discard(const DetachedStream& stream) = 0;
  // Cold. False if this is no address of this machine's, or no longer. The port does not matter.
  [[nodiscard]] virtual bool is_local(const SocketAddress& address) const = 0;
  [[nodiscard]] virtual StreamFacts facts(StreamId stream) const = 0;
  // Cold. Two system calls.
  [[nodiscard]] virtual StreamProgress progress(StreamId stream) const {
    return {.unacknowledged_bytes = facts(stream).unacknowledged_bytes};
  }
  // Cold: some ten system calls. Nothing is known of streams that have closed.
  [[nodiscard]] virtual StreamDetails details(StreamId /*stream*/) const { return {}; }
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::socklnd
