// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/tx.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = TcpTable::Id;

std::size_t TcpTx::write(TcpConnection& connection,
                         std::span<const std::span<const std::byte>> pieces, bool more) {
  PLNET_CHECK(connection.open() && !connection.blocked, "only a writable stream is written to");
  const std::size_t most = kBurstsPerCall * connection.burst_bytes;
  PLNET_CHECK(most > 0, "a call has room for a byte");
  std::size_t taken = 0;
  Place at;
  for (;;) {
    std::size_t offered = 0;
    const std::size_t count = gather(pieces, at, most, offered);
    if (count == 0) break;
    if (offered == most && connection.large_calls++ % kCallsBetweenLooks == 0) [[unlikely]]
      connection.burst_bytes = burst_of(connection.socket.get());
    const std::size_t sent = send(connection, count, more || at.piece < pieces.size());
    PLNET_CHECK(sent <= offered, "TCP takes no more than it is given");
    taken += sent;
    if (sent == offered) continue;
    stats_.add(Id::kShortWrites);
    connection.blocked = true;
    break;
  }
  stats_.add(Id::kBytesWritten, taken);
  return taken;
}

// Fills gather_ for one call, from `at` on, and moves `at` behind it.
std::size_t TcpTx::gather(std::span<const std::span<const std::byte>> pieces, Place& at,
                          std::size_t most, std::size_t& offered) {
  std::size_t count = 0;
  while (at.piece < pieces.size() && count < kPiecesPerCall && offered < most) {
    const std::span<const std::byte> rest = pieces[at.piece].subspan(at.offset);
    const std::size_t bytes = std::min(rest.size(), most - offered);
    if (bytes > 0) gather_[count++] = {const_cast<std::byte*>(rest.data()), bytes};
    offered += bytes;
    at = bytes < rest.size() ? Place{at.piece, at.offset + bytes} : Place{at.piece + 1, 0};
  }
  PLNET_DEBUG_CHECK(count <= gather_.size() && offered <= most, "a call has its limits");
  return count;
}

std::size_t TcpTx::send(TcpConnection& connection, std::size_t count, bool more) {
  // A reset is returned as a value, not as a signal.
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
  ssize_t sent = 0;
  if (count == 1) {
    sent = ::send(connection.socket.get(), gather_[0].iov_base, gather_[0].iov_len, flags);
  } else {
    msghdr message{};
    message.msg_iov = gather_.data();
    message.msg_iovlen = count;
    sent = ::sendmsg(connection.socket.get(), &message, flags);
  }
  stats_.add(Id::kSends);
  stats_.add(Id::kPiecesSent, count);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno != EAGAIN && errno != EINTR) connection.fail(errc_of_errno(errno));
  return 0;
}

}  // namespace plnet::drivers
