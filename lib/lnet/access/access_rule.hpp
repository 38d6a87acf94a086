// SPDX-License-Identifier: BSD-3-Clause
// A rule that allows or forbids connections to this node, or forwarding by it. The first rule that
// matches decides; without one it is allowed, as in the kernel, which has no such rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/nid_range.hpp"

namespace plnet::lnet {

// Each rule may be compared with every forwarded message.
inline constexpr std::size_t kAccessRulesMax = 256;

enum class AccessAction : std::uint8_t { kAllow, kDeny };
enum class AccessUse : std::uint8_t { kAll, kConnect, kForward };
// The words of documents and lnetctl; "" for an invalid value.
[[nodiscard]] std::string_view name_of(AccessAction action);
[[nodiscard]] std::string_view name_of(AccessUse use);

// An absent field matches everything.
struct AccessRule {
  AccessAction action = AccessAction::kDeny;
  AccessUse use = AccessUse::kAll;
  // Those of the header of a message; for a connection, the peer that makes it and our NI.
  std::optional<NidRangeList> source;
  std::optional<NidRangeList> destination;
  NetId from = kNetAny;  // the network of the NI that received the message
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
  std::uint64_t matched = 0;      // times that it has decided
  std::uint64_t connections = 0;  // of these, about connections; the rest about messages
};

}  // namespace plnet::lnet
