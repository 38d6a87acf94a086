// SPDX-License-Identifier: BSD-3-Clause
// A network of a site: its kind, its interfaces on each node, and what goes wrong below its LNDs.
// Plain values, and what the kinds differ in for those that do not deal with their devices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/net/fault/plan.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::sim {

// TCP under socklnd; queue pairs under o2iblnd; NICs of Slingshot in software under kfilnd.
enum class NetKind : std::uint8_t { kTcp, kO2ib, kKfi };
inline constexpr std::array kNetKinds{NetKind::kTcp, NetKind::kO2ib, NetKind::kKfi};

// Sizes of a kfi interface and its NIC. Small ones are hardly faults: peers are told to wait.
struct KfiPlan {
  unsigned receive_buffers = 4;
  std::uint32_t receive_buffer_bytes = 16384;
  unsigned copies = 64;             // messages that wait outside of them
  unsigned source_connections = 0;  // 0: enough
  unsigned target_connections = 0;  // 0: enough
  unsigned message_states = 64;     // messages of several packets that are coming
  unsigned answers = 256;           // requests that are not known to be answered
};

// Sizes of the LND of an o2ib interface on a shard. Small ones are hardly faults: messages wait.
struct O2ibPlan {
  unsigned answers = 64;  // to messages of peers, and NOOPs
  unsigned receives = 0;  // messages of peers at a time; 0: enough
};

struct NetPlan {
  std::string name{};  // empty: its number
  NetKind kind = NetKind::kTcp;
  unsigned interfaces = 1;      // of each node
  drivers::FaultPlan faults{};  // of the device of each shard, until the site is healed
  KfiPlan kfi{};
  O2ibPlan o2ib{};
};

struct NetTraits {
  std::string_view name;  // in site files
  drivers::Seam seam = drivers::Seam::kStream;
  lnet::NetType type = lnet::NetType::kTcp;
  bool is_lazy = true;          // payload need not exist: only drivers read it
  bool lends_credits = false;   // as lib/lnet does on such a network
  bool holds_links = false;     // a link that bounces counts as down for a while
  bool one_connection = false;  // to a peer, for checks and for other small messages
  bool loses_silently = false;  // what is lost or late breaks no connection
  bool has_cables = false;      // which may be moved, between NICs that may turn requests away
};
[[nodiscard]] const NetTraits& traits_of(NetKind kind);

// 10.NET.HIGH.LOW; NET says which of the network's interfaces. With cables: INTERFACE.HIGH.LOW.
[[nodiscard]] lnet::Nid nid_of(const NetPlan& net, unsigned number, unsigned interface,
                               std::uint32_t node);
// Errors of check_plan(), and faults that a device of that kind cannot have.
[[nodiscard]] Outcome<void> check_faults(const NetPlan& net);
// Some of what a device of that kind may do to an LND.
[[nodiscard]] drivers::FaultPlan drawn_faults(NetKind kind, Random& random);

}  // namespace plnet::sim
