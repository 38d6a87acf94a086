// SPDX-License-Identifier: BSD-3-Clause
// The congestion control of a stream. One that paces its packets (BBR) needs a timer, which
// interrupts the poller and takes a third of the CPU time of bulk data on loopback
// (doc/performance.md). It is useful on long paths. So if it is the system's default, peers near by
// get another one, unless it is configured by name.
//
// Pacing begins when a connection is made and does not end when its congestion control changes. So
// a socket gets another one before it connects, and the system's again if its peer turns out to be
// far away.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "drivers/net/tcp/stats.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::drivers {

class TcpCongestion {
 public:
  static constexpr std::string_view kAuto = "auto";      // as above
  static constexpr std::string_view kSystem = "system";  // the system's default
  // Peers with a round trip up to this one are near: in the site's own network.
  static constexpr auto kNear = std::chrono::milliseconds(1);

  // `wanted`: one of the two above, or a name as in net.ipv4.tcp_available_congestion_control.
  TcpCongestion(std::string wanted, TcpStats& stats) : wanted_(std::move(wanted)), stats_(stats) {}

  // Cold; called before the socket connects or listens.
  void choose(int descriptor);
  // Cold; a connection of such a socket is established.
  void settle(int descriptor);

 private:
  const std::string wanted_;
  TcpStats& stats_;
  std::string
      overruled_;  // the system's default that was replaced, as of the last socket; "": none
};

// kOutOfRange, with a hint, if the system has no control of this name or does not permit it.
[[nodiscard]] Outcome<void> try_congestion_control(std::string_view wanted);
// The congestion control of a socket; "" if the system does not tell it.
[[nodiscard]] std::string congestion_control_of(int descriptor);

}  // namespace plnet::drivers
