// SPDX-License-Identifier: BSD-3-Clause
// A user-defined selection policy (UDSP): what the administrator prefers when there is a choice of
// networks, NIs, peer NIs or routers. Its place in the list is its index; the lower one wins.
// Checked against lustre-release lnet/lnet/udsp.c: lnet_udsp_apply_single_policy();
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

// What a policy is about follows from which of the ranges it has.
struct Udsp {
  std::optional<UdspRange> source;          // of ours
  std::optional<UdspRange> destination;     // of peers
  std::optional<UdspRange> router;          // gateways
  std::optional<std::uint32_t> priority{};  // 0 is the highest; absent where a list is preferred

  // Our networks or NIs, or those of peers, have this priority.
  [[nodiscard]] bool is_priority() const {
    return !router && source.has_value() != destination.has_value();
  }
  // Peer NIs prefer to be sent to from these NIs of ours, or through these routers.
  [[nodiscard]] bool is_pair() const { return source.has_value() && destination.has_value(); }
  [[nodiscard]] bool is_route() const { return router.has_value(); }

  // About the same; what it does with that may differ.
  [[nodiscard]] bool is_about_same(const Udsp& other) const {
    return source == other.source && destination == other.destination && router == other.router;
  }

  friend bool operator==(const Udsp&, const Udsp&) = default;
};

// A policy of these as it is kept: one about priority that names none has the highest. kMissing,
// kInvalid: nothing that a policy can be about.
[[nodiscard]] Outcome<Udsp> complete_udsp(Udsp udsp);

// Whether a NID is meant, be it by its network alone. The kernel lets a range without addresses
// mean no NID at all where NIDs are what a policy is about; whoever writes one means them all.
[[nodiscard]] inline bool covers(const UdspRange& range, const Nid& nid) {
  return range.is_net_only() ? range.matches_net(nid.net()) : range.matches(nid);
}

}  // namespace plnet::lnet
