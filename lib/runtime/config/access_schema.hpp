// SPDX-License-Identifier: BSD-3-Clause
// The rows of `access`, with the names of `lnetctl access add`. For lnet_schema.cpp only, as
// fault_schema.hpp says.
#pragma once

#include <array>

#include "lib/lnet/access/access_rule.hpp"
#include "lib/runtime/config/lnet_schema_rows.hpp"

namespace plnet::runtime {

namespace access_rows {

using namespace schema_rows;

inline constexpr std::array<std::string_view, 2> kActions{"allow", "deny"};
inline constexpr std::array<std::string_view, 3> kUses{"all", "connect", "forward"};

}  // namespace access_rows

inline constexpr std::array kAccessKeys{
    access_rows::word("action", "The action of the rule; deny if left out.", access_rows::kActions,
                      PLNET_FIELD(lnet::AccessRule, action)),
    access_rows::word("for", "The use that it covers; all if left out.", access_rows::kUses,
                      PLNET_FIELD(lnet::AccessRule, use)),
    access_rows::text("source", "The peer that connects, or the sender of the message; NID ranges.",
                      "10.0.[0-3].*@tcp", PLNET_TEXT(lnet::AccessRule, source)),
    access_rows::text("dest", "The local NI, or the destination of the message; NID ranges.",
                      "10.1.0.1@o2ib", PLNET_TEXT(lnet::AccessRule, destination)),
    access_rows::text("from", "The network that it arrives on.", "tcp",
                      PLNET_TEXT_AS(NetText, lnet::AccessRule, from)),
    access_rows::text("to", "The network of its destination.", "o2ib",
                      PLNET_TEXT_AS(NetText, lnet::AccessRule, to)),
};

}  // namespace plnet::runtime
