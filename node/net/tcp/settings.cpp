// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/settings.hpp"

#include <array>

#include <fmt/format.h>

#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/schema_binding.hpp"
#include "lib/runtime/config/settings_section.hpp"

namespace plnet::node {
namespace {

using runtime::Key;
using runtime::KeyKind;

// Only the form is checked: opening a socket shows whether the system has the name.
Outcome<void> check_congestion_control(std::string_view text) {
  constexpr std::size_t kBytesMax = 15;  // linux net/tcp.h: TCP_CA_NAME_MAX, less the end
  constexpr std::string_view kBytes = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!text.empty() && text.size() <= kBytesMax &&
      text.find_first_not_of(kBytes) == std::string_view::npos)
    return {};
  return failure(Errc::kInvalid,
                 fmt::format("'{}' is no congestion control, expected auto, system or a name that "
                             "`sysctl net.ipv4.tcp_available_congestion_control` lists",
                             runtime::shown(text)));
}

constexpr std::array kTcpKeys{
    Key{.name = "busy_poll_usec",
        .kind = KeyKind::kInteger,
        .help = "How long the system may poll a NIC's queue when a socket is read (SO_BUSY_POLL, "
                "SO_PREFER_BUSY_POLL), for NICs whose interrupts are deferred; 0 = not at all.",
        .low = 0,
        .high = 10'000,  // a longer poll would keep the shard from its other work
        .unit = "microseconds",
        .binding = PLNET_SECTION_FIELD(TcpSettings, busy_poll_usec)},
    Key{.name = "busy_poll_budget",
        .kind = KeyKind::kInteger,
        .help = "Packets taken in one go then (SO_BUSY_POLL_BUDGET); 0 = the system's number.",
        .low = 0,
        .high = 65535,  // the system's 16 bits
        .unit = "packets",
        .binding = PLNET_SECTION_FIELD(TcpSettings, busy_poll_budget)},
    Key{.name = "relay_bytes_min",
        .kind = KeyKind::kInteger,
        .help = "Routed payloads of this size or more go from socket to socket by splice where "
                "both ends are on one shard, past the router's memory; 0 = all are copied.",
        .low = 0,
        .high = 1'048'576,  // LNet's largest payload
        .unit = "bytes",
        .binding = PLNET_SECTION_FIELD(TcpSettings, relay_bytes_min)},
    Key{.name = "down_grace_msec",
        .kind = KeyKind::kInteger,
        .help =
            "How long an NI is down (its link or its address, or by its own word a peer that does "
            "not answer) until its connections are closed and messages take others; 0 = they stay.",
        .low = 0,
        .high = 600'000,  // longer than any timeout of the LND
        .unit = "milliseconds",
        .binding = PLNET_SECTION_FIELD(TcpSettings, down_grace_msec)},
    Key{.name = "silence_sec",
        .kind = KeyKind::kInteger,
        .help = "How long a peer's TCP may leave unanswered what we send until the connection is "
                "closed; one that reads slowly answers. 0 = as long as sock_timeout.",
        .low = 0,
        .high = 3600,
        .unit = "seconds",
        .binding = PLNET_SECTION_FIELD(TcpSettings, silence_sec)},
    Key{.name = "payload_rate_min",
        .kind = KeyKind::kInteger,
        .help =
            "A payload that comes in more slowly for 10 s loses its connection, and with it the "
            "router buffer that it occupies; 0 = any progress within sock_timeout will do.",
        .low = 0,
        .high = 1'048'576,  // a busy network gives one of many payloads no more
        .unit = "bytes per second",
        .binding = PLNET_SECTION_FIELD(TcpSettings, payload_rate_min)},
    Key{.name = "congestion_control",
        .kind = KeyKind::kText,
        .help = "Of connections: a name of the system's; system = the one it has by default; auto "
                "= that, but cubic where it paces (bbr) and the peer is within a millisecond.",
        .check = check_congestion_control,
        .binding = PLNET_SECTION_FIELD(TcpSettings, congestion_control)},
    Key{.name = "any_address",
        .kind = KeyKind::kBoolean,
        .help = "0 = a peer has to connect from the address of its NID, or from one that it has "
                "listed from there (kernels up to 2.14 with several interfaces under one NID); "
                "1 = from any, for peers behind NAT or with several addresses in the subnet of an "
                "interface. Whoever reaches the port can then speak for every NID.",
        .binding = PLNET_SECTION_FIELD(TcpSettings, any_address)},
};

}  // namespace

constinit const runtime::SettingsSection kTcpSection{
    .name = TcpSettings::kSection, .help = "Sockets of TCP networks.", .keys = kTcpKeys};

}  // namespace plnet::node
