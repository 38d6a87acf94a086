// SPDX-License-Identifier: BSD-3-Clause
// Sockets that connect, from a privileged port if asked: LNet's acceptors trust only those
// (lustre-release lnet/lnet/acceptor.c: lnet_connect()).
//
// There are 512 such ports, and perhaps more peers. Linux lets sockets share a port if all of them
// set SO_REUSEADDR and none listens on it; connect() then refuses a pair of addresses and ports
// that is in use, with EADDRNOTAVAIL. So each port serves each destination once.
#pragma once

#include <cstdint>
#include <string>

#include "drivers/net/tcp/congestion.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "drivers/net/tcp/stats.hpp"
#include "lib/base/result.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

class TcpPorts {
 public:
  static constexpr std::uint16_t kHighest = 1023;
  static constexpr std::uint16_t kLowest = 512;
  static constexpr unsigned kCount = kHighest - kLowest + 1;
  // Ports tried in one call: some 100 us when all of them are in use.
  static constexpr unsigned kTriesPerCall = 32;
  static_assert(kLowest < kHighest && kHighest < 1024 && kTriesPerCall <= kCount);

  // A connect that is under way, or that has failed at once for a reason on the network.
  struct Started {
    TcpSocket socket;
    int error = 0;
  };

  TcpPorts(TcpCongestion& congestion, TcpStats& stats) : congestion_(congestion), stats_(stats) {}

  // Cold: three to fourteen system calls, and three more for each port that is in use, at most
  // kTriesPerCall. kAgain: all of these were in use; kBusy: so many calls in a row for one address
  // have tried all ports; kNotPermitted: no right to use them; kNotFound: the local address is not
  // ours.
  [[nodiscard]] Result<Started> connect(const socklnd::ConnectRequest& request);

 private:
  enum class Try : std::uint8_t { kStarted, kPortTaken };

  [[nodiscard]] Result<Started> connect_privileged(const socklnd::ConnectRequest& request);
  [[nodiscard]] Result<Try> try_port(const socklnd::ConnectRequest& request, std::uint16_t port,
                                     Started& started);

  TcpCongestion& congestion_;
  TcpStats& stats_;
  // Goes round, so that a new connection does not meet the remains of the last one to that peer.
  std::uint16_t next_ = kHighest;
  // The address of the last unsuccessful calls, and their number.
  socklnd::SocketAddress sought_;
  unsigned tried_ = 0;
};

// The cause for which a connect() with this code did not start, for log lines and messages.
[[nodiscard]] std::string explain_connect_failure(Errc code,
                                                  const socklnd::ConnectRequest& request);

}  // namespace plnet::drivers
