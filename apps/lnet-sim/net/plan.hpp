// SPDX-License-Identifier: BSD-3-Clause
// A network of a site: its kind, its interfaces on each node, and the faults below its LNDs. Plain
// values, and the properties of the kinds for code that does not deal with their devices.
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

// Sizes of a kfi interface and its NIC. Small ones are hardly faults: peers have to wait.
struct KfiPlan {
  unsigned receive_buffers = 4;
  std::uint32_t receive_buffer_bytes = 16384;
  unsigned copies = 64;             // messages that wait outside the buffers
  unsigned source_connections = 0;  // 0: enough
  unsigned target_connections = 0;  // 0: enough
  unsigned message_states = 64;     // incoming messages of several packets
  unsigned answers = 256;           // requests not known to be answered
};

// Sizes of the LND of an o2ib interface on a shard. Small ones are hardly faults: messages wait.
struct O2ibPlan {
  unsigned answers = 64;  // to messages of peers, and NOOPs
  unsigned receives = 0;  // messages of peers at the same time; 0: enough
};

struct NetPlan {
  std::string name{};  // empty: its number
  NetKind kind = NetKind::kTcp;
  unsigned interfaces = 1;    // of each node
  unsigned peer_credits = 8;  // of an NI, as `credits`; the devices of o2ib and kfi fix both
  unsigned credits = 64;
  drivers::FaultPlan faults{};  // of each shard's device, until the site is healed
  KfiPlan kfi{};
  O2ibPlan o2ib{};
};

struct NetTraits {
  std::string_view name;  // in site files
  drivers::Seam seam = drivers::Seam::kStream;
  lnet::NetType type = lnet::NetType::kTcp;
  bool is_lazy = true;          // payload need not exist, since only drivers read it
  bool lends_credits = false;   // as lib/lnet does on such a network
  bool holds_links = false;     // a flapping link counts as down for a while
  bool one_connection = false;  // a single connection to a peer carries checks and other small
                                // messages
  bool loses_silently = false;  // lost or late packets break no connection
  bool has_cables = false;      // cables can be moved, and NICs may reject requests
};
[[nodiscard]] const NetTraits& traits_of(NetKind kind);

// 10.NET.HIGH.LOW; NET counts the interfaces of all networks. With cables: INTERFACE.HIGH.LOW.
[[nodiscard]] lnet::Nid nid_of(const NetPlan& net, unsigned number, unsigned interface,
                               std::uint32_t node);
// Errors of check_plan(), and faults that a device of this kind cannot have.
[[nodiscard]] Outcome<void> check_faults(const NetPlan& net);
// A random subset of the faults of this kind of device.
[[nodiscard]] drivers::FaultPlan drawn_faults(NetKind kind, Random& random);

}  // namespace plnet::sim
