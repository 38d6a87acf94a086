// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection of a shard. Records come from a fixed table and never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "drivers/net/tcp/memory.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

struct Awaiting;  // the list of connections that wait for the rest of a payload

// Linked while poll() has work for the connection.
struct TcpConnection : ListNode<>, ListNode<Awaiting> {
  TcpSocket socket;
  socklnd::StreamId id;
  bool connecting : 1 = false;  // on_connected() has not been called
  bool paused : 1 = false;
  bool was_paused : 1 = false;  // paused during the event handler that runs
  bool readable : 1 = false;    // since the last read that found the socket empty
  bool to_the_end : 1 = false;  // the peer has closed: a short read is not the last one
  bool blocked : 1 = false;     // a write took only a part: on_writable() follows
  bool writable : 1 = false;    // on_writable() may be called now, or a connect has been decided
  bool broken : 1 = false;      // reset or timed out; bytes that have arrived can still be read
  bool finished : 1 = false;    // no byte is left to read; `cause` is the reason
  bool closing : 1 = false;     // close() was called; the socket is closed
  bool pressed : 1 = false;     // the system wants a read although the awaited bytes are not there
  bool holding : 1 = false;     // the awaited bytes lie in the socket: its end is reported later
  bool bulk : 1 = false;        // the last payload that had a destination was large
  bool roomy : 1 = false;       // the receive buffer has the size for large payloads
  Errc cause = Errc::kClosed;
  // Staged bytes that a handler did not use when it paused.
  std::uint32_t kept_buffer = TcpMemory::kNone;
  std::uint32_t kept_from = 0;
  std::uint32_t kept_to = 0;
  Instant acks_shared_until = Instant::min();  // TCP is told again at that time
  std::size_t awaited = 0;                     // nothing is read before so many bytes are there
  std::uint32_t low_water = 1;                 // the system reports no smaller number of bytes
  std::uint32_t next_read_max = 0;  // beyond the destination; 0: the size of the staging buffer
  Instant await_until{};
  std::uint64_t unacknowledged = 0;         // as of its end
  std::uint32_t burst_bytes = kUsualBurst;  // burst_of() the socket, as of the last look
  std::uint32_t large_calls = 0;

  using ListNode<>::linked;
  using ListNode<>::unlink;

  [[nodiscard]] bool has_remainder() const { return kept_buffer != TcpMemory::kNone; }
  [[nodiscard]] bool open() const { return !connecting && !closing; }
  // poll() has work for the connection.
  [[nodiscard]] bool wants_service() const {
    if (closing || writable) return true;
    if (broken) return !holding;
    return !connecting && !paused && (readable || has_remainder());
  }
  // Only while the socket is open. A SYN does not count as a byte.
  void note_unacknowledged() { unacknowledged = connecting ? 0 : unacknowledged_of(socket.get()); }
  // A system call on the socket has failed for good. The first cause stays.
  void fail(Errc why) {
    if (cause == Errc::kClosed) cause = why;
    broken = true;
    readable = true;  // until the end is read
    to_the_end = true;
  }
};

// All connections of a shard; index and generation as in a StreamId.
class TcpConnections {
 public:
  explicit TcpConnections(std::size_t capacity) : pool_(capacity) {}

  // Null: all are in use.
  [[nodiscard]] TcpConnection* take() {
    TcpConnection* const connection = pool_.take();
    if (connection == nullptr) return nullptr;
    const socklnd::StreamId id{pool_.index_of(connection), connection->id.generation};
    *connection = TcpConnection{};
    connection->id = id;
    return connection;
  }
  // The id names no connection any more.
  void give(TcpConnection& connection) {
    PLNET_CHECK(!connection.ListNode<>::linked() && !connection.ListNode<Awaiting>::linked() &&
                    !connection.has_remainder(),
                "a closed connection waits for nothing");
    connection.socket.reset();
    ++connection.id.generation;
    pool_.give(&connection);
  }
  // Null: the id has ended.
  [[nodiscard]] TcpConnection* find(socklnd::StreamId id) {
    if (id.index >= pool_.capacity()) return nullptr;
    TcpConnection& connection = pool_.at(id.index);
    return connection.id == id ? &connection : nullptr;
  }
  [[nodiscard]] const TcpConnection* find(socklnd::StreamId id) const {
    return const_cast<TcpConnections*>(this)->find(id);
  }
  [[nodiscard]] bool full() const { return pool_.free_count() == 0; }

 private:
  Pool<TcpConnection> pool_;
};

}  // namespace plnet::drivers
