// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/tx.hpp"

#include <cerrno>

#include <sys/socket.h>

namespace plnet::drivers {

using Id = TcpTable::Id;

std::size_t TcpTx::write(TcpConnection& connection,
                         std::span<const std::span<const std::byte>> pieces) {
  std::size_t taken = 0;
  while (!pieces.empty()) {
    std::size_t count = 0;
    std::size_t offered = 0;
    std::size_t used = 0;
    for (; used < pieces.size() && count < kPiecesPerCall; ++used) {
      const std::span<const std::byte> piece = pieces[used];
      if (piece.empty()) continue;
      gather_[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
      offered += piece.size();
    }
    pieces = pieces.subspan(used);
    if (count == 0) break;
    const std::size_t sent = send(connection, count, !pieces.empty());
    taken += sent;
    if (sent == offered) continue;
    stats_.add(Id::kShortWrites);
    connection.blocked = true;
    break;
  }
  stats_.add(Id::kBytesWritten, taken);
  return taken;
}

std::size_t TcpTx::send(TcpConnection& connection, std::size_t count, bool more) {
  // A reset comes back as a value, not as a signal.
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
