// SPDX-License-Identifier: BSD-3-Clause
// The rows of `access`: what `lnetctl access add` takes, under the same names.
#pragma once

#include <array>

#include "lib/lnet/access/access_rule.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/lnet_schema_rows.hpp"
#include "lib/runtime/config/schema_binding.hpp"

namespace plnet::runtime {

namespace access_rows {

using namespace schema_rows;

inline Outcome<void> check_ranges(std::string_view text) {
  return only_success(lnet::NidRangeList::parse(text));
}
inline Outcome<void> check_net(std::string_view text) {
  return only_success(lnet::parse_net(text));
}
inline constexpr std::array<std::string_view, 2> kActions{"allow", "deny"};
inline constexpr std::array<std::string_view, 3> kUses{"all", "connect", "forward"};

}  // namespace access_rows

inline constexpr std::array kAccessKeys{
    [] {
      Key key =
          access_rows::live("action", KeyKind::kWord, "What the rule does; deny if left out.");
      key.words = access_rows::kActions;
      key.binding = PLNET_FIELD(AccessItem, action);
      return key;
    }(),
    [] {
      Key key = access_rows::live("for", KeyKind::kWord, "What it is about; all if left out.");
      key.words = access_rows::kUses;
      key.binding = PLNET_FIELD(AccessItem, use);
      return key;
    }(),
    access_rows::text("source", "Who connects, or whom the message is from; NID ranges.",
                      access_rows::check_ranges, "10.0.[0-3].*@tcp",
                      PLNET_FIELD(AccessItem, source)),
    access_rows::text("dest", "Our NI, or whom the message is for; NID ranges.",
                      access_rows::check_ranges, "10.1.0.1@o2ib",
                      PLNET_FIELD(AccessItem, destination)),
    access_rows::text("from", "The network that it comes in by.", access_rows::check_net, "tcp",
                      PLNET_FIELD(AccessItem, from)),
    access_rows::text("to", "The network of its destination.", access_rows::check_net, "o2ib",
                      PLNET_FIELD(AccessItem, to)),
};

}  // namespace plnet::runtime
