// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection as its shard knows it. Records come from a fixed table and never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "drivers/net/tcp/memory.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

struct Awaiting;  // its place among those that wait for the rest of a payload

// In the list of those that poll() has something to do for.
struct TcpConnection : ListNode<>, ListNode<Awaiting> {
  TcpSocket socket;
  socklnd::StreamId id;
  bool connecting : 1 = false;  // on_connected() is not out
  bool paused : 1 = false;
  bool was_paused : 1 = false;  // during the handler that runs
  bool readable : 1 = false;    // since the last read that found the socket empty
  bool to_the_end : 1 = false;  // the peer has ended it: a short read is not the last one
  bool blocked : 1 = false;     // a write came up short and on_writable() is owed
  bool writable : 1 = false;    // and may be told now; or a connect is decided
  bool broken : 1 = false;      // reset or timed out; what has arrived can still be read
  bool finished : 1 = false;    // nothing is left to read: `cause` says why
  bool closing : 1 = false;     // close() was called, the socket is gone
  bool pressed : 1 = false;     // the system wants to be read although what is awaited is not there
  bool holding : 1 = false;     // what was awaited lies in the socket: its end can wait
  bool bulk : 1 = false;        // the last payload that had a destination was large
  bool roomy : 1 = false;       // the receive buffer has been told how large payloads are
  Errc cause = Errc::kClosed;
  // Staged bytes that a handler left when it paused.
  std::uint32_t kept_buffer = TcpMemory::kNone;
  std::uint32_t kept_from = 0;
  std::uint32_t kept_to = 0;
  Instant acks_shared_until = Instant::min();  // when to tell TCP again
  std::size_t awaited = 0;                     // nothing is read before so many bytes are there
  std::uint32_t low_water = 1;                 // the system is silent about less
  std::uint32_t next_read_max = 0;             // beyond the destination; 0: what the staging holds
  Instant await_until{};
  std::uint64_t unacknowledged = 0;         // as of its end
  std::uint32_t burst_bytes = kUsualBurst;  // burst_of() the socket, as of the last look
  std::uint32_t large_calls = 0;

  using ListNode<>::linked;
  using ListNode<>::unlink;

  [[nodiscard]] bool has_remainder() const { return kept_buffer != TcpMemory::kNone; }
  [[nodiscard]] bool open() const { return !connecting && !closing; }
  // Whether poll() has something to do for it.
  [[nodiscard]] bool wants_service() const {
    if (closing || writable) return true;
    if (broken) return !holding;
    return !connecting && !paused && (readable || has_remainder());
  }
  // While the socket is there. A SYN is no byte of anybody's.
  void note_unacknowledged() { unacknowledged = connecting ? 0 : unacknowledged_of(socket.get()); }
  // A system call on it has failed for good. The first cause stays.
  void fail(Errc why) {
    if (cause == Errc::kClosed) cause = why;
    broken = true;
    readable = true;  // up to the end
    to_the_end = true;
  }
};

// All connections of a shard; index and generation as in a StreamId.
class TcpConnections {
 public:
  explicit TcpConnections(std::size_t capacity) : pool_(capacity) {}

  // Null when all are in use.
  [[nodiscard]] TcpConnection* take() {
    TcpConnection* const connection = pool_.take();
    if (connection == nullptr) return nullptr;
    const socklnd::StreamId id{pool_.index_of(connection), connection->id.generation};
    *connection = TcpConnection{};
    connection->id = id;
    return connection;
  }
  // Its id names nothing from now on.
  void give(TcpConnection& connection) {
    connection.socket.reset();
    ++connection.id.generation;
    pool_.give(&connection);
  }
  // Null for an id that has ended.
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
