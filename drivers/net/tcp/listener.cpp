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

// 0, or what is wrong. Where the address is ours and not in use yet, since its link is down, we
// listen already: callers come when there is a way to us.
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
  // Only shards of one node want to share a port. For everybody else that it is taken, by another
  // node on this machine or by the kernel's, has to come out.
  if (shared_ && !set_option(descriptor, SOL_SOCKET, SO_REUSEPORT, 1))
    return std::unexpected(Errc::kNotSupported);
  // An IPv4 NI may listen on the same port beside an IPv6 one; :: is for both.
  if (!is_ipv4(local) && !is_any(local)) (void)set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  // What is accepted here inherits this and these.
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
      // accept(2): what is wrong with that caller only.
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
      // Nothing was taken off the queue, and it may be the same for long.
      default: stats_.add(Id::kAcceptFailures); return Accept::kNoResource;
    }
  }
  const auto both = addresses_of(socket.get());
  if (!both) {  // reset meanwhile
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
