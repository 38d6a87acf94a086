// SPDX-License-Identifier: BSD-3-Clause
// The rows of `fault`: what `lnetctl fault drop add` and `fault delay add` take, under the same
// names.
#pragma once

#include <array>

#include "lib/lnet/faults/fault_spec.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/lnet_schema_rows.hpp"
#include "lib/runtime/config/schema_binding.hpp"

namespace plnet::runtime {

namespace fault_rows {

using namespace schema_rows;

inline Outcome<void> check_nid(std::string_view text) {
  return only_success(lnet::parse_nid_or_any(text));
}
inline Outcome<void> check_types(std::string_view text) {
  return only_success(lnet::parse_fault_types(text));
}
inline Outcome<void> check_health(std::string_view text) {
  return only_success(lnet::parse_fault_health(text));
}
inline Outcome<void> check_portals(std::string_view text) {
  return only_success(lnet::parse_fault_portals(text));
}
inline constexpr std::array<std::string_view, 2> kRuleTypes{"drop", "delay"};

}  // namespace fault_rows

inline constexpr std::array kFaultKeys{
    [] {
      Key key = fault_rows::live("rule_type", KeyKind::kWord,
                                 "What happens to a message; drop if left out.");
      key.words = fault_rows::kRuleTypes;
      key.binding = PLNET_FIELD(FaultItem, rule_type);
      return key;
    }(),
    fault_rows::text("source", "Where it comes from: a NID, * or *@NET.", fault_rows::check_nid,
                     "'*@tcp'", PLNET_FIELD(FaultItem, source)),
    fault_rows::text("dest", "Where it goes to.", fault_rows::check_nid, "10.0.0.7@tcp",
                     PLNET_FIELD(FaultItem, destination)),
    [] {
      Key key = fault_rows::number("rate", "One in so many that match; or", 1,
                                   fault_rows::kNumberMax, PLNET_FIELD(FaultItem, rate));
      key.example = "2";
      key.optional = true;
      return key;
    }(),
    fault_rows::optional(fault_rows::number("interval", "one in so many seconds.", 1,
                                            fault_rows::kNumberMax,
                                            PLNET_FIELD(FaultItem, interval))),
    fault_rows::optional(fault_rows::number("latency", "Seconds that a delay holds a message.", 1,
                                            fault_rows::kNumberMax,
                                            PLNET_FIELD(FaultItem, latency))),
    fault_rows::text("portal", "Only PUTs and GETs for these portals.", fault_rows::check_portals,
                     "26,28", PLNET_FIELD(FaultItem, portals)),
    fault_rows::text("message", "Only these types of PUT, ACK, GET and REPLY.",
                     fault_rows::check_types, "PUT,GET", PLNET_FIELD(FaultItem, types)),
    fault_rows::text("health_error", "Sending fails with one of these, instead of a silent drop.",
                     fault_rows::check_health, "local_timeout,network_timeout",
                     PLNET_FIELD(FaultItem, health_errors)),
    fault_rows::text("local_nid", "Only what this NI of ours receives; of silent drops.",
                     fault_rows::check_nid, "", PLNET_FIELD(FaultItem, local_nid)),
    fault_rows::optional(fault_rows::truth("random", "About every other one; needs an interval.",
                                           PLNET_TRUTH(FaultItem, random))),
    fault_rows::optional(
        fault_rows::truth("drop_all", "Every one that matches.", PLNET_TRUTH(FaultItem, all))),
};

}  // namespace plnet::runtime
