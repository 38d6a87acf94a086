// SPDX-License-Identifier: BSD-3-Clause
// A user-defined selection policy (UDSP): a preference of the administrator among networks, NIs,
// peer NIs or routers. Its place in the list is its index; the lower one wins. Checked against
// lustre-release lnet/lnet/udsp.c: lnet_udsp_apply_single_policy();
// lnet/utils/lnetconfig/liblnetconfig_udsp.c: lustre_lnet_add_udsp().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/udsp_range.hpp"

namespace plnet::lnet {

inline constexpr std::size_t kUdspsMax = 1024;

// The ranges that a policy has determine its kind.
struct Udsp {
  std::optional<UdspRange> source;          // of this node
  std::optional<UdspRange> destination;     // of peers
  std::optional<UdspRange> router;          // gateways
  std::optional<std::uint32_t> priority{};  // 0 is the highest; absent for a preference

  // Gives our networks or NIs, or those of peers, this priority.
  [[nodiscard]] bool is_priority() const {
    return !router && source.has_value() != destination.has_value();
  }
  // For these peer NIs: prefer these NIs of ours, or these routers.
  [[nodiscard]] bool is_pair() const { return source.has_value() && destination.has_value(); }
  [[nodiscard]] bool is_route() const { return router.has_value(); }

  // Has the same ranges; the action may differ.
  [[nodiscard]] bool is_about_same(const Udsp& other) const {
    return source == other.source && destination == other.destination && router == other.router;
  }

  friend bool operator==(const Udsp&, const Udsp&) = default;
};

// The policy as it is stored: a priority policy without a number has the highest. kMissing,
// kInvalid: no kind of policy has these ranges.
[[nodiscard]] Outcome<Udsp> complete_udsp(Udsp udsp);

// The range includes the NID, maybe by its network alone. Where a policy is about NIDs, the kernel
// lets a range without addresses include none; here it includes all of the network.
[[nodiscard]] inline bool covers(const UdspRange& range, const Nid& nid) {
  return range.is_net_only() ? range.matches_net(nid.net()) : range.matches(nid);
}

}  // namespace plnet::lnet
