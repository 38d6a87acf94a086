// SPDX-License-Identifier: BSD-3-Clause
// A rule about who may connect to this node, and for whom it forwards. The first that matches
// decides; what no rule matches is allowed, as in the kernel, which has no such rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/nid_range.hpp"

namespace plnet::lnet {

// Each may be looked at for every message that is forwarded.
inline constexpr std::size_t kAccessRulesMax = 256;

enum class AccessAction : std::uint8_t { kAllow, kDeny };
enum class AccessUse : std::uint8_t { kAll, kConnect, kForward };
// As documents and lnetctl say them; "" for what is none.
[[nodiscard]] std::string_view name_of(AccessAction action);
[[nodiscard]] std::string_view name_of(AccessUse use);

// What is absent matches everything.
struct AccessRule {
  AccessAction action = AccessAction::kDeny;
  AccessUse use = AccessUse::kAll;
  // Of the header of a message; of a connection, who makes it and our NI.
  std::optional<NidRangeList> source;
  std::optional<NidRangeList> destination;
  NetId from = kNetAny;  // the network that it comes in by
  NetId to = kNetAny;    // the network of its destination

  friend bool operator==(const AccessRule&, const AccessRule&) = default;
};

struct AccessQuestion {
  AccessUse use = AccessUse::kConnect;  // not kAll
  const Nid& source;
  const Nid& destination;
  NetId from = kNetAny;
};

[[nodiscard]] bool matches(const AccessRule& rule, const AccessQuestion& question);

struct AccessReport {
  AccessRule rule;
  std::uint64_t matched = 0;  // so often it has decided
};

}  // namespace plnet::lnet
