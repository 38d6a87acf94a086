// SPDX-License-Identifier: BSD-3-Clause
// Where a shard listens, and the connections that come in there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "drivers/net/tcp/congestion.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "drivers/net/tcp/stats.hpp"
#include "lib/base/result.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

struct TcpListener {
  TcpSocket socket;
  socklnd::SocketAddress local;
  std::uint32_t generation = 0;  // so that an event for its predecessor is not taken for its own
};

class TcpListeners {
 public:
  // One for each interface, address family and port: a site has a handful.
  static constexpr std::size_t kMax = 64;

  TcpListeners(bool shared, TcpCongestion& congestion, TcpStats& stats)
      : shared_(shared), congestion_(congestion), stats_(stats) {}

  // kBusy if somebody listens there, kNotPermitted without the right to a port below 1024,
  // kNotFound if no interface has the address, be its link down or not, kNoSpace when there are
  // kMax. The index, which close() tells again.
  [[nodiscard]] Result<std::size_t> open(const socklnd::SocketAddress& local, unsigned backlog,
                                         const socklnd::StreamOptions& accepted);
  // kNotFound if nobody listens there.
  [[nodiscard]] Result<std::size_t> close(const socklnd::SocketAddress& local);
  [[nodiscard]] TcpListener& at(std::size_t index) { return listeners_[index]; }

  enum class Accept : std::uint8_t {
    kAccepted,
    kGone,        // that one was gone before we got to it; there may be others
    kNobody,      // no more for now
    kNoResource,  // out of descriptors or memory: try again later
  };
  // One system call, and one more to learn the local address.
  [[nodiscard]] Accept accept(TcpListener& listener, TcpSocket& socket,
                              socklnd::StreamAddresses& addresses);

 private:
  [[nodiscard]] TcpListener* find(const socklnd::SocketAddress& local);

  const bool shared_;
  TcpCongestion& congestion_;
  TcpStats& stats_;
  std::array<TcpListener, kMax> listeners_;
};

// Whether listen() on this address would succeed now; errors as of TcpListeners::open(). The
// address is free again when this returns.
[[nodiscard]] Result<void> try_to_listen(const socklnd::SocketAddress& local);
// Why a listen() that returned this code failed, in words for people.
[[nodiscard]] std::string explain_listen_failure(Errc code, const socklnd::SocketAddress& local);

}  // namespace plnet::drivers
