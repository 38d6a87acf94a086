// SPDX-License-Identifier: BSD-3-Clause
// Which of the system's congestion controls a stream has. One that paces what it sends (BBR) wants
// a timer for it, which interrupts the poller, and takes a third of the CPU time of bulk data on
// loopback (doc/performance.md). It is good for long paths. So a system that has it by default is
// overruled for peers near by, unless it is asked for by name.
//
// Pacing begins when a connection is made and does not end when its control is changed: a socket is
// given another one before, and gets the system's back if its peer turns out to be far away.
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
  static constexpr std::string_view kSystem = "system";  // whatever the system gives
  // A round trip up to here is near: a site's own network, not another site.
  static constexpr auto kNear = std::chrono::milliseconds(1);

  // `wanted`: one of the above, or a name as in net.ipv4.tcp_available_congestion_control.
  TcpCongestion(std::string wanted, TcpStats& stats) : wanted_(std::move(wanted)), stats_(stats) {}

  // Cold, before the socket connects or listens.
  void choose(int descriptor);
  // Cold: a connection from or to such a socket stands.
  void settle(int descriptor);

 private:
  const std::string wanted_;
  TcpStats& stats_;
  std::string overruled_;  // what the system gave instead, as of the last socket; "": nothing was
};

// kOutOfRange, and where to look, if the system has no control of this name, or keeps it to itself.
[[nodiscard]] Outcome<void> try_congestion_control(std::string_view wanted);
// Of a socket; "" if the system does not tell.
[[nodiscard]] std::string congestion_control_of(int descriptor);

}  // namespace plnet::drivers
