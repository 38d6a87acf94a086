// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/ports.hpp"

#include <cerrno>
#include <utility>

#include <netinet/in.h>

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = TcpTable::Id;
using socklnd::ConnectRequest;
using socklnd::SocketAddress;
using socklnd::StreamAddresses;

Result<TcpPorts::Started> TcpPorts::connect(const ConnectRequest& request) {
  const StreamAddresses& at = request.addresses;
  const bool from_here = !is_any(at.local);
  if (at.remote.port == 0 || is_any(at.remote) ||
      (from_here && is_ipv4(at.local) != is_ipv4(at.remote)))
    return std::unexpected(Errc::kInvalid);
  if (at.local.port == 0 && request.privileged_port) return connect_privileged(request);

  Started started;
  const auto tried = try_port(request, at.local.port, started);
  if (!tried) return std::unexpected(tried.error());
  if (*tried == Try::kPortTaken) return std::unexpected(Errc::kBusy);
  return started;
}

Result<TcpPorts::Started> TcpPorts::connect_privileged(const ConnectRequest& request) {
  Started started;
  if (request.addresses.remote != sought_) tried_ = 0;
  sought_ = request.addresses.remote;
  for (unsigned i = 0; i < kTriesPerCall && tried_ < kCount; ++i) {
    ++tried_;
    const std::uint16_t port = next_;
    PLNET_CHECK(port >= kLowest && port <= kHighest, "a privileged port");
    next_ = port == kLowest ? kHighest : static_cast<std::uint16_t>(port - 1);
    // Two nodes that connect to each other between the same two ports would get one connection in
    // place of two, without an accept.
    if (port == request.addresses.remote.port) continue;
    stats_.add(Id::kPortTries);
    const auto tried = try_port(request, port, started);
    if (!tried) return std::unexpected(tried.error());
    if (*tried == Try::kStarted) {
      tried_ = 0;
      return started;
    }
  }
  if (tried_ < kCount) return std::unexpected(Errc::kAgain);
  tried_ = 0;
  stats_.add(Id::kPortsExhausted);
  return std::unexpected(Errc::kBusy);
}

// A socket whose bind failed is used again for the next port; one whose connect failed stays bound
// to its port.
Result<TcpPorts::Try> TcpPorts::try_port(const ConnectRequest& request, std::uint16_t port,
                                         Started& started) {
  const SocketAddress& remote = request.addresses.remote;
  if (!started.socket.valid()) {
    auto opened = open_socket(remote);
    if (!opened) return std::unexpected(opened.error());
    started.socket = std::move(*opened);
    congestion_.choose(started.socket.get());
    // With the address alone, connect() chooses the port, and considers the destination.
    if (port == 0) (void)set_option(started.socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  }
  const int descriptor = started.socket.get();
  if (port != 0 || !is_any(request.addresses.local)) {
    SocketAddress local = request.addresses.local;
    if (is_any(local) && is_ipv4(remote)) local.ip[10] = local.ip[11] = 0xff;
    local.port = port;
    const SystemAddress from(local);
    if (::bind(descriptor, from.get(), from.size) != 0) {
      if (errno == EADDRINUSE) return Try::kPortTaken;
      return std::unexpected(errc_of_errno(errno));
    }
  }
  stats_.add(Id::kOptionFailures, set_options(descriptor, is_ipv4(remote), request.options));
  const SystemAddress to(remote);
  if (::connect(descriptor, to.get(), to.size) == 0 || errno == EINPROGRESS) return Try::kStarted;
  if (errno == EADDRNOTAVAIL) {
    started.socket.reset();
    return Try::kPortTaken;
  }
  started.error = errno;
  return Try::kStarted;
}

std::string explain_connect_failure(Errc code, const ConnectRequest& request) {
  const std::string to = "cannot connect to " + text_of(request.addresses.remote) + ": ";
  const bool privileged = request.privileged_port && request.addresses.local.port == 0;
  const std::string from = privileged ? "ports 512 to 1023" : text_of(request.addresses.local);
  switch (code) {
    case Errc::kNotPermitted:
      return to + "no permission to use " + from +
             " as source: run as root or with CAP_NET_BIND_SERVICE";
    case Errc::kBusy: return to + "all of " + from + " are in use towards this address";
    case Errc::kNotFound:
      return to + "the source address " + text_of(request.addresses.local) +
             " is not of this machine";
    default: return to + std::string(text_of(code));
  }
}

}  // namespace plnet::drivers
