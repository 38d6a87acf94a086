// SPDX-License-Identifier: BSD-3-Clause
// `plnet: tcp` of a configuration document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plnet::runtime {
struct SettingsSection;
}

namespace plnet::node {

struct TcpSettings {
  static constexpr std::string_view kSection = "tcp";

  // Busy polling of NIC queues by the system for our sockets; for NICs with deferred interrupts.
  std::uint32_t busy_poll_usec = 0;    // 0: not at all
  std::uint32_t busy_poll_budget = 0;  // 0: the system's
  // The minimum size of routed payloads that pass from socket to socket; 0: none.
  std::uint32_t relay_bytes_min = 131072;
  // Time from an NI's loss until its connections are closed; 0: they stay.
  std::uint32_t down_grace_msec = 1000;
  // Longest time that a peer's TCP may leave data unacknowledged; 0: the LND's timeout.
  std::uint32_t silence_sec = 5;
  // Minimum rate of an incoming payload; below it the connection is closed; 0: no minimum.
  std::uint32_t payload_rate_min = 16384;
  // "auto": the system's default, or cubic if the default paces and the peer is near; "system"; or
  // a name.
  std::string congestion_control = "auto";

  // A peer behind NAT has another address than that of its NID.
  bool any_address = false;

  bool operator==(const TcpSettings&) const = default;
};

extern const runtime::SettingsSection kTcpSection;

}  // namespace plnet::node
