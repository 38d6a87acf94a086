// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <netinet/in.h>

namespace plnet::drivers {

using Id = TcpTable::Id;
using socklnd::SocketAddress;
using socklnd::StreamAddresses;
using socklnd::StreamOptions;

namespace {

// 0, or an errno. An address of ours that is not in use yet, since its link is down, can be
// listened on already: connections arrive as soon as there is a way.
int bind_to(int descriptor, const SocketAddress& local) {
  const SystemAddress at(local);
  if (::bind(descriptor, at.get(), at.size) == 0) return 0;
  const int error = errno;
  if (error != EADDRNOTAVAIL || is_ipv4(local) || !is_on_interface(local)) return error;
  if (!set_option(descriptor, IPPROTO_IPV6, IPV6_FREEBIND, 1)) return error;
  return ::bind(descriptor, at.get(), at.size) == 0 ? 0 : errno;
}

}  // namespace

Result<std::size_t> TcpListeners::open(const SocketAddress& local, unsigned backlog,
                                       const StreamOptions& accepted) {
  if (find(local) != nullptr) return std::unexpected(Errc::kBusy);
  const auto free =
      std::ranges::find_if(listeners_, [](const TcpListener& one) { return !one.socket.valid(); });
  if (free == listeners_.end()) return std::unexpected(Errc::kNoSpace);

  auto socket = open_socket(local);
  if (!socket) return std::unexpected(socket.error());
  const int descriptor = socket->get();
  // Only shards of one node share a port. A port that another node on this machine, or the kernel's
  // LNet, uses must be reported as busy.
  if (shared_ && !set_option(descriptor, SOL_SOCKET, SO_REUSEPORT, 1))
    return std::unexpected(Errc::kNotSupported);
  // An IPv4 NI may listen on the same port as an IPv6 one; :: is for both.
  if (!is_ipv4(local) && !is_any(local)) (void)set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  // Accepted sockets inherit this option and the next ones.
  congestion_.choose(descriptor);
  stats_.add(Id::kOptionFailures, set_options(descriptor, is_ipv4(local), accepted));
  if (const int error = bind_to(descriptor, local); error != 0)
    return std::unexpected(errc_of_errno(error));
  const int limit = static_cast<int>(std::min<unsigned>(backlog, std::numeric_limits<int>::max()));
  if (::listen(descriptor, limit) != 0) return std::unexpected(errc_of_errno(errno));
  free->socket = std::move(*socket);
  free->local = local;
  ++free->generation;
  return static_cast<std::size_t>(free - listeners_.begin());
}

Result<std::size_t> TcpListeners::close(const SocketAddress& local) {
  TcpListener* const found = find(local);
  if (found == nullptr) return std::unexpected(Errc::kNotFound);
  found->socket.reset();
  return static_cast<std::size_t>(found - listeners_.data());
}

TcpListener* TcpListeners::find(const SocketAddress& local) {
  for (TcpListener& one : listeners_) {
    if (one.socket.valid() && one.local == local) return &one;
  }
  return nullptr;
}

TcpListeners::Accept TcpListeners::accept(TcpListener& listener, TcpSocket& socket,
                                          StreamAddresses& addresses) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  stats_.add(Id::kAcceptCalls);
  socket = TcpSocket(::accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                               SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) {
    switch (errno) {
      case EAGAIN: return Accept::kNobody;
      // accept(2): these are errors of that connection only.
      case ECONNABORTED:
      case EINTR:
      case EPROTO:
      case ENETDOWN:
      case ENOPROTOOPT:
      case EHOSTDOWN:
      case ENONET:
      case EHOSTUNREACH:
      case ENETUNREACH:
      case ETIMEDOUT: stats_.add(Id::kAcceptsAborted); return Accept::kGone;
      // The connection stays in the queue, perhaps for long.
      default: stats_.add(Id::kAcceptFailures); return Accept::kNoResource;
    }
  }
  const auto both = addresses_of(socket.get());
  if (!both) {  // the connection was reset meanwhile
    socket.reset();
    stats_.add(Id::kAcceptsAborted);
    return Accept::kGone;
  }
  addresses = {.local = both->local, .remote = address_of(peer)};
  return Accept::kAccepted;
}

Result<void> try_to_listen(const SocketAddress& local) {
  const auto socket = open_socket(local);
  if (!socket) return std::unexpected(socket.error());
  const int descriptor = socket->get();
  if (!is_ipv4(local) && !is_any(local)) (void)set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (const int error = bind_to(descriptor, local); error != 0)
    return std::unexpected(errc_of_errno(error));
  if (::listen(descriptor, 0) != 0) return std::unexpected(errc_of_errno(errno));
  return {};
}

std::string explain_listen_failure(Errc code, const SocketAddress& local) {
  const std::string at = "cannot listen on " + text_of(local) + ": ";
  switch (code) {
    case Errc::kNotPermitted:
      return at + "no permission for ports below 1024: run as root or with CAP_NET_BIND_SERVICE";
    case Errc::kBusy:
      return at +
             "somebody else listens there, perhaps another node on this machine or the "
             "kernel's LNet (lsmod | grep ksocklnd)";
    case Errc::kNotFound: return at + "the address is not of this machine";
    default: return at + std::string(text_of(code));
  }
}

}  // namespace plnet::drivers
