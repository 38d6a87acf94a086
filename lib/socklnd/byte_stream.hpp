// SPDX-License-Identifier: BSD-3-Clause
// The drivers of socklnd: reliable byte streams. Implemented by drivers/net/tcp and
// drivers/net/sim; drivers/net/fault stacks on either.
//
// One StreamDriver serves one shard, and only that shard calls it. Event handlers may call it
// except where a comment forbids it; no call makes an event before it returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"

namespace plnet::socklnd {

// Index and generation: the id of a closed stream never names another stream.
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

// A negative or zero value leaves the system's default; for type_of_service only a negative one.
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

// The state of a live stream, for lnetctl. Zero where the driver does not know.
struct StreamFacts {
  std::uint64_t unsent_bytes = 0;          // in our socket buffer, not yet on the wire
  std::uint64_t unacknowledged_bytes = 0;  // handed to TCP, not yet acknowledged by the peer's
  std::uint64_t retransmits = 0;
  std::uint32_t round_trip_usec = 0;
  std::uint32_t napi_id = 0;
};

// The progress of a live stream, for a caller that looks at many.
struct StreamProgress {
  std::uint64_t unacknowledged_bytes = 0;  // as in StreamFacts
  // Retransmissions, or probes of a closed window, in a row without an answer of the peer's TCP.
  // The TCP of a peer that does not read answers them.
  std::uint32_t unanswered = 0;
};

// The whole state of a live stream, for reports. Zero where the driver does not know.
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

// A stream between two shards: detached from one driver, to be adopted by another of its kind.
struct DetachedStream {
  std::intptr_t descriptor = -1;
  StreamAddresses addresses;
};

class StreamEvents {
 public:
  virtual ~StreamEvents() = default;

  // Hot. The place for the next bytes of this stream: the rest of a payload, or empty when a header
  // is expected. Called right before each read, so that payload is read without a copy.
  [[nodiscard]] virtual std::span<std::byte> destination(StreamId stream) = 0;

  // Hot. One read is done: `direct` bytes are in destination(), `staged` follow them. Returns the
  // number of staged bytes that were used: all, except after pause_reading(). The driver then keeps
  // the rest and passes it again, first, when reading is resumed. A partial header counts as used:
  // the connection keeps those few bytes itself.
  [[nodiscard]] virtual std::size_t on_bytes(StreamId stream, std::size_t direct,
                                             std::span<const std::byte> staged) = 0;

  // Hot. A write() that took only a part may go on.
  virtual void on_writable(StreamId stream) = 0;
  // The bytes that await() asked for are in the socket and cannot be lost any more. To leave them
  // there, call pause_reading() in here; the end of the stream is not reported before
  // resume_reading().
  virtual void on_awaited(StreamId /*stream*/) {}

  // Cold.
  virtual void on_connected(StreamId stream, const StreamAddresses& addresses) = 0;
  virtual void on_accepted(StreamId stream, const StreamAddresses& addresses) = 0;
  // The last event of each stream, also of a connect that failed. `cause` is kClosed for an orderly
  // end by the peer. `unacknowledged_bytes`: written but never acknowledged by the peer's TCP,
  // hence possibly lost.
  virtual void on_closed(StreamId stream, Errc cause, std::uint64_t unacknowledged_bytes) = 0;
};

// A call for a stream that has closed does nothing and is counted.
class StreamDriver {
 public:
  virtual ~StreamDriver() = default;

  // Hot. Gathers the pieces into as few system calls as possible. Returns the bytes taken, from the
  // front; fewer than offered is back-pressure: on_writable() follows, and calls before it take 0.
  // Pieces may be freed or changed as soon as this returns.
  virtual std::size_t write(StreamId stream,
                            std::span<const std::span<const std::byte>> pieces) = 0;

  // Hot. Nothing more is read from the stream, and its window closes, until resume_reading(). The
  // bytes that on_bytes() did not use are passed again in a later poll, not inside this call.
  virtual void pause_reading(StreamId stream) = 0;
  virtual void resume_reading(StreamId stream) = 0;

  // The next four calls move a payload to another stream without our memory. A driver that cannot
  // do so returns false from await(), and the other three are not called.
  //
  // Nothing of the stream is read until `bytes` of it are in the socket: then on_awaited(). If the
  // system cannot hold as many, or they take long, reading goes on and there is no event.
  [[nodiscard]] virtual bool await(StreamId /*stream*/, std::size_t /*bytes*/) { return false; }
  // Writes `head` to `to`, then up to `bytes` that wait in `from`, past our memory. Returns the
  // bytes taken, those of `head` first. If they are not all, `to` is blocked as by write(), or
  // broken, and the rest of `from` has to be fetched before anything else is relayed.
  [[nodiscard]] virtual std::size_t relay(StreamId /*from*/, StreamId /*to*/,
                                          std::span<const std::span<const std::byte>> /*head*/,
                                          std::size_t /*bytes*/) {
    return 0;
  }
  // Fills `target` with the next bytes of a stream that was awaited and is paused. An error: the
  // system does not give them, and the stream has to be closed.
  [[nodiscard]] virtual Result<void> fetch(StreamId /*stream*/, std::span<std::byte> /*target*/) {
    return {};
  }
  // A hint for the next read: it should not read more than so many bytes, since those behind them
  // may be awaited, too.
  virtual void limit_next_read(StreamId /*stream*/, std::size_t /*bytes*/) {}

  // Acknowledges the bytes read at once, not with the next bytes that we send. A system call.
  virtual void acknowledge_now(StreamId stream) = 0;

  // Cold. on_connected() or on_closed() follows: the latter reports any failure of the network.
  // Fails only for local reasons: kAgain if no free source port was found so far, to be called
  // again in a later turn; kBusy if no port is left towards this address; kNotPermitted without the
  // right to privileged ports; kNotFound if the source address is not ours; kNoMemory if all
  // streams or descriptors are in use.
  [[nodiscard]] virtual Result<StreamId> connect(const ConnectRequest& request) = 0;
  // Cold. kBusy if another socket listens there, else as connect().
  [[nodiscard]] virtual Result<void> listen(const SocketAddress& local, unsigned backlog,
                                            const StreamOptions& accepted) = 0;
  virtual void stop_listening(const SocketAddress& local) = 0;
  // Cold. on_closed() follows, from a later poll, with `cause`.
  virtual void close(StreamId stream, Errc cause) = 0;
  // Cold. Moves a stream to another shard: detach here, adopt there. Only when all staged bytes are
  // used and nothing waits to be written, else kBusy; within on_bytes() the caller promises to use
  // all bytes of this call. The id ends without on_closed(). A stream whose adopt() has failed is
  // still detached: adopt it elsewhere, or where it came from, or discard it.
  [[nodiscard]] virtual Result<DetachedStream> detach(StreamId stream) = 0;
  [[nodiscard]] virtual Result<StreamId> adopt(const DetachedStream& stream,
                                               const StreamOptions& options) = 0;
  // Cold. Closes a detached stream.
  virtual void discard(const DetachedStream& stream) = 0;
  // Cold. False if this is not an address of this machine, or no longer. The port is ignored.
  [[nodiscard]] virtual bool is_local(const SocketAddress& address) const = 0;
  [[nodiscard]] virtual StreamFacts facts(StreamId stream) const = 0;
  // Cold. Two system calls.
  [[nodiscard]] virtual StreamProgress progress(StreamId stream) const {
    return {.unacknowledged_bytes = facts(stream).unacknowledged_bytes};
  }
  // Cold: some ten system calls. Empty for streams that have closed.
  [[nodiscard]] virtual StreamDetails details(StreamId /*stream*/) const { return {}; }
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::socklnd
