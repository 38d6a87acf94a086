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
  // The least size of a routed payload that goes from socket to socket; 0: none does.
  std::uint32_t relay_bytes_min = 131072;
  // How long an NI is down until its connections are closed; 0: they stay.
  std::uint32_t down_grace_msec = 1000;
  // How long a peer's TCP may leave what we send unanswered; 0: the LND's timeout.
  std::uint32_t silence_sec = 5;
  // The least pace of a payload that comes in, else its connection is closed; 0: any.
  std::uint32_t payload_rate_min = 16384;
  // "auto": the system's default, or cubic if that one paces and the peer is near; "system"; or a
  // name.
  std::string congestion_control = "auto";

  // A peer behind NAT has another address than its NID says.
  bool any_address = false;

  bool operator==(const TcpSettings&) const = default;
};

extern const runtime::SettingsSection kTcpSection;

}  // namespace plnet::node
