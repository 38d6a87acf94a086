// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/rx.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = TcpTable::Id;
using socklnd::StreamId;

void TcpRx::serve(TcpConnection& connection, Instant now) {
  const StreamId id = connection.id;
  if (connection.has_remainder()) {
    present_remainder(connection);
    if (connections_.find(id) == nullptr || connection.closing || connection.has_remainder())
      return;
  }
  if (now >= connection.acks_shared_until) share_acks(connection, now);
  std::size_t bytes = 0;
  for (unsigned reads = 0; reads < kReadsPerTurn && bytes < kBytesPerTurn; ++reads) {
    if (connection.paused || connection.awaited > 0 || !connection.readable) return;
    if (connection.has_remainder()) return;  // its bytes come first, in the next poll
    if (!read_once(connection, bytes)) return;
  }
}

bool TcpRx::read_once(TcpConnection& connection, std::size_t& bytes) {
  PLNET_CHECK(connection.open() && !connection.has_remainder(), "kept bytes are passed first");
  const StreamId id = connection.id;
  const std::span<std::byte> destination = events_.destination(id);
  if (connections_.find(id) == nullptr || connection.closing || connection.paused) return false;
  const std::span<std::byte> staging = staging_of(connection, destination.size());
  PLNET_CHECK(!staging.empty(), "a read has room");
  ssize_t result = 0;
  if (destination.empty()) {
    result = ::recv(connection.socket.get(), staging.data(), staging.size(), MSG_DONTWAIT);
  } else {
    const std::array<iovec, 2> pieces{
        {{destination.data(), destination.size()}, {staging.data(), staging.size()}}};
    result = ::readv(connection.socket.get(), pieces.data(), pieces.size());
  }
  stats_.add(Id::kReads);
  if (result <= 0) {
    note_end(connection, result);
    return false;
  }
  const auto count = static_cast<std::size_t>(result);
  PLNET_CHECK(count <= destination.size() + staging.size(), "the system fills the given room");
  bytes += count;
  connection.next_read_max = 0;
  if (destination.empty()) connection.bulk = false;
  // A short read has emptied the socket: later bytes make a new edge.
  if (count < destination.size() + staging.size() && !connection.to_the_end)
    connection.readable = false;
  const std::size_t direct = std::min(count, destination.size());
  const std::span<const std::byte> staged = staging.first(count - direct);
  stats_.add(Id::kBytesRead, count);
  stats_.add(Id::kBytesStaged, staged.size());
  bool alive = false;
  const std::size_t used = deliver(connection, direct, staged, alive);
  if (!alive) return false;
  if (used < staged.size()) {
    connection.kept_from = static_cast<std::uint32_t>(used);
    connection.kept_to = static_cast<std::uint32_t>(staged.size());
    connection.kept_buffer = memory_.keep_staging();
    stats_.add(Id::kRemainders);
  }
  return true;
}

// Much of small messages. Little behind a large payload: staged bytes are copied once more, and
// another large payload tends to follow.
std::span<std::byte> TcpRx::staging_of(TcpConnection& connection, std::size_t destination_bytes) {
  if (destination_bytes >= kBulkBytes) connection.bulk = true;
  std::size_t most = memory_.staging().size();
  if (connection.bulk) most = std::min(most, kStagedOfBulk);
  if (connection.next_read_max > 0) most = std::min<std::size_t>(most, connection.next_read_max);
  return memory_.staging().first(most);
}

// TCP takes a receiver that sends nothing for one that never answers, and acknowledges each read of
// a small message by itself, which costs more than the read and delays the message. In its
// interactive mode it waits for a second message, or for an answer that carries the
// acknowledgement. It leaves this mode after 40 ms without data, and after a loss.
void TcpRx::share_acks(TcpConnection& connection, Instant now) {
  connection.acks_shared_until = now + kAcksSharedEvery;
  stats_.add(Id::kSharedAcks);
  if (!set_option(connection.socket.get(), IPPROTO_TCP, TCP_QUICKACK, 0))
    stats_.add(Id::kOptionFailures);
}

void TcpRx::note_end(TcpConnection& connection, long result) {
  const int error = errno;
  if (result < 0 && (error == EAGAIN || error == EINTR)) {
    stats_.add(Id::kEmptyReads);
    connection.readable = error == EINTR;
    // A broken socket has no reason to wait.
    if (error == EAGAIN && connection.broken) connection.finished = true;
    return;
  }
  connection.finished = true;
  if (result < 0) connection.fail(errc_of_errno(error));
}

void TcpRx::present_remainder(TcpConnection& connection) {
  PLNET_CHECK(connection.kept_from < connection.kept_to, "kept bytes are not empty");
  const std::span<const std::byte> staged =
      memory_.bytes(connection.kept_buffer)
          .subspan(connection.kept_from, connection.kept_to - connection.kept_from);
  bool alive = false;
  const std::uint32_t buffer = std::exchange(connection.kept_buffer, TcpMemory::kNone);
  const std::size_t used = deliver(connection, 0, staged, alive);
  if (!alive || used == staged.size()) {
    memory_.give(buffer);
    return;
  }
  connection.kept_buffer = buffer;
  connection.kept_from += static_cast<std::uint32_t>(used);
  stats_.add(Id::kRemainders);
}

// `alive`: the stream is still open.
std::size_t TcpRx::deliver(TcpConnection& connection, std::size_t direct,
                           std::span<const std::byte> staged, bool& alive) {
  const StreamId id = connection.id;
  connection.was_paused = false;
  const std::size_t used = events_.on_bytes(id, direct, staged);
  PLNET_CHECK(used <= staged.size(), "a handler used more bytes than it was given");
  const bool detached = connections_.find(id) == nullptr;
  alive = !detached && !connection.closing;
  PLNET_CHECK(!detached || used == staged.size(), "a handler detached a stream with bytes left");
  PLNET_CHECK(!alive || used == staged.size() || connection.awaited == 0,
              "a handler that leaves bytes awaits none");
  PLNET_CHECK(!alive || used == staged.size() || connection.was_paused,
              "a handler left bytes over without pause_reading()");
  return used;
}

void TcpRx::forget_remainder(TcpConnection& connection) {
  if (connection.has_remainder())
    memory_.give(std::exchange(connection.kept_buffer, TcpMemory::kNone));
}

}  // namespace plnet::drivers
