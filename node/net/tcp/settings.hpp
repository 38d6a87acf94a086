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

  // On NICs whose interrupts are deferred: how the system polls their queues for our sockets.
  std::uint32_t busy_poll_usec = 0;    // 0: not at all
  std::uint32_t busy_poll_budget = 0;  // 0: the system's
  // A routed payload of so many bytes goes from socket to socket; 0: none does.
  std::uint32_t relay_bytes_min = 131072;
  // "auto": the system's unless it paces and the peer is near; "system", or the name of one.
  std::string congestion_control = "auto";

  bool operator==(const TcpSettings&) const = default;
};

extern const runtime::SettingsSection kTcpSection;

}  // namespace plnet::node
