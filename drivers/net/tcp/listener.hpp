// SPDX-License-Identifier: BSD-3-Clause
// The listening sockets of a shard, and the connections that arrive there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "drivers/net/tcp/congestion.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "drivers/net/tcp/stats.hpp"
#include "lib/base/check.hpp"
#include "lib/base/result.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

struct TcpListener {
  TcpSocket socket;
  socklnd::SocketAddress local;
  std::uint32_t generation = 0;  // tells an event for the previous listener of this slot
};

class TcpListeners {
 public:
  // A listener for each interface, address family and port: a site has a handful.
  static constexpr std::size_t kMax = 64;

  TcpListeners(bool shared, TcpCongestion& congestion, TcpStats& stats)
      : shared_(shared), congestion_(congestion), stats_(stats) {}

  // Returns the index, which close() needs. kBusy: another socket listens there; kNotPermitted: no
  // right to a port below 1024; kNotFound: no interface has the address, even if its link is down;
  // kNoSpace: there are kMax.
  [[nodiscard]] Result<std::size_t> open(const socklnd::SocketAddress& local, unsigned backlog,
                                         const socklnd::StreamOptions& accepted);
  // kNotFound: no socket listens there.
  [[nodiscard]] Result<std::size_t> close(const socklnd::SocketAddress& local);
  [[nodiscard]] TcpListener& at(std::size_t index) {
    PLNET_CHECK(index < kMax, "a token names a listener");
    return listeners_[index];
  }

  enum class Accept : std::uint8_t {
    kAccepted,
    kGone,        // the connection has ended already; there may be others
    kNobody,      // no more connections now
    kNoResource,  // out of descriptors or memory: try again later
  };
  // One system call, and one more for the local address.
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
// address is free again afterwards.
[[nodiscard]] Result<void> try_to_listen(const socklnd::SocketAddress& local);
// The cause of a failed listen(), from its code, for log lines and messages.
[[nodiscard]] std::string explain_listen_failure(Errc code, const socklnd::SocketAddress& local);

}  // namespace plnet::drivers
