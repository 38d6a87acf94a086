// SPDX-License-Identifier: BSD-3-Clause
// Sockets that connect out, from a privileged port if asked: LNet's acceptors trust those only
// (lustre-release lnet/lnet/acceptor.c: lnet_connect()).
//
// There are 512 such ports and may be more peers. Linux lets sockets share a port if all of them
// say SO_REUSEADDR and none listens on it; connect() then refuses a pair of addresses and ports
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
  // Looked at in one call: some 100 us when all of them are taken.
  static constexpr unsigned kTriesPerCall = 32;

  // A connect that is under way, or that has failed at once for a reason on the network.
  struct Started {
    TcpSocket socket;
    int error = 0;
  };

  TcpPorts(TcpCongestion& congestion, TcpStats& stats) : congestion_(congestion), stats_(stats) {}

  // Cold: three to fourteen system calls, and three more for each port that is taken; never more
  // than kTriesPerCall ports. kAgain when all of these were; kBusy when so many calls in turn for
  // one address have seen all ports; kNotPermitted without the right to use them, kNotFound if the
  // local address is not ours.
  [[nodiscard]] Result<Started> connect(const socklnd::ConnectRequest& request);

 private:
  enum class Try : std::uint8_t { kStarted, kPortTaken };

  [[nodiscard]] Result<Started> connect_privileged(const socklnd::ConnectRequest& request);
  [[nodiscard]] Result<Try> try_port(const socklnd::ConnectRequest& request, std::uint16_t port,
                                     Started& started);

  TcpCongestion& congestion_;
  TcpStats& stats_;
  // Goes round, so that a new connection does not meet what is left of the last one to that peer.
  std::uint16_t next_ = kHighest;
  // What the last calls have looked for in vain, and how often.
  socklnd::SocketAddress sought_;
  unsigned tried_ = 0;
};

// Why a connect() that returned this code did not even start, in words for people.
[[nodiscard]] std::string explain_connect_failure(Errc code,
                                                  const socklnd::ConnectRequest& request);

}  // namespace plnet::drivers
