// SPDX-License-Identifier: BSD-3-Clause
// The rows of `fault`, with the names of `lnetctl fault drop add` and `fault delay add`. For
// lnet_schema.cpp only: clang gives lambdas of a header another name in each source.
#pragma once

#include <array>

#include "lib/lnet/faults/fault_spec.hpp"
#include "lib/runtime/config/lnet_schema_rows.hpp"

namespace plnet::runtime {

namespace fault_rows {

using namespace schema_rows;

using Types = TextBy<lnet::text_of_fault_types, lnet::parse_fault_types>;
using HealthErrors = TextBy<lnet::text_of_fault_health, lnet::parse_fault_health>;
using Portals = TextBy<lnet::text_of_fault_portals, lnet::parse_fault_portals>;
using AnyNid = TextBy<lnet::text_of_fault_nid, lnet::parse_nid_or_any>;
// Any local NI: the key is left out.
struct LocalNid : AnyNid {
  static std::string text(const lnet::Nid& nid) { return nid.is_any() ? "" : AnyNid::text(nid); }
};

inline constexpr std::array<std::string_view, 2> kRuleTypes{"drop", "delay"};

}  // namespace fault_rows

inline constexpr std::array kFaultKeys{
    fault_rows::word("rule_type", "The fault: drop or delay; drop if left out.",
                     fault_rows::kRuleTypes, PLNET_FIELD(lnet::FaultSpec, kind)),
    fault_rows::text("source", "The sender: a NID, * or *@NET.", "'*@tcp'",
                     PLNET_TEXT_AS(fault_rows::AnyNid, lnet::FaultSpec, source)),
    fault_rows::text("dest", "The destination.", "10.0.0.7@tcp",
                     PLNET_TEXT_AS(fault_rows::AnyNid, lnet::FaultSpec, destination)),
    [] {
      Key key = fault_rows::number("rate", "One message in this number that match; or", 1,
                                   fault_rows::kNumberMax, PLNET_NONZERO(lnet::FaultSpec, rate));
      key.example = "2";
      key.optional = true;
      return key;
    }(),
    fault_rows::optional(fault_rows::number("interval", "one message in this number of seconds.", 1,
                                            fault_rows::kNumberMax,
                                            PLNET_NONZERO(lnet::FaultSpec, interval_s))),
    fault_rows::optional(fault_rows::number("latency", "Seconds that a delay holds a message.", 1,
                                            fault_rows::kNumberMax,
                                            PLNET_NONZERO(lnet::FaultSpec, latency_s))),
    fault_rows::text("portal", "Only PUTs and GETs for these portals.", "26,28",
                     PLNET_TEXT_AS(fault_rows::Portals, lnet::FaultSpec, portals)),
    fault_rows::text("message", "Only these types of PUT, ACK, GET and REPLY.", "PUT,GET",
                     PLNET_TEXT_AS(fault_rows::Types, lnet::FaultSpec, types)),
    fault_rows::text("health_error", "Sending fails with one of these, instead of a silent drop.",
                     "local_timeout,network_timeout",
                     PLNET_TEXT_AS(fault_rows::HealthErrors, lnet::FaultSpec, health_errors)),
    fault_rows::text("local_nid", "Only messages to this local NI; for silent drops.", "",
                     PLNET_TEXT_AS(fault_rows::LocalNid, lnet::FaultSpec, local)),
    fault_rows::optional(fault_rows::truth("random", "About one in two; needs an interval.",
                                           PLNET_TRUTH(lnet::FaultSpec, random))),
    fault_rows::optional(fault_rows::truth("drop_all", "All messages that match.",
                                           PLNET_TRUTH(lnet::FaultSpec, all))),
};

}  // namespace plnet::runtime
