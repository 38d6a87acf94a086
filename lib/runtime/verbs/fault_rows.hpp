// SPDX-License-Identifier: BSD-3-Clause
// The verbs of rules that drop and delay messages, as lnetctl 2.17 has them.
// Checked against lustre-release lnet/utils/lnetctl.c: jt_fault_add(), jt_fault_del_common().
#pragma once

#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::runtime::verb_rows {

using namespace row_makers;

inline constexpr OptionRow kSource = text("source", 's', "NID", "the sender: a NID, * or *@NET");
inline constexpr OptionRow kDest = text("dest", 'd', "NID", "the destination");
inline constexpr OptionRow kRate = number("rate", 'r', "N", "one message in N that match; or");
inline constexpr OptionRow kInterval =
    number("interval", 'i', "SECONDS", "one message in this time");
inline constexpr OptionRow kPortal =
    texts("portal", 'p', "N", "only PUTs and GETs for these portals");
inline constexpr OptionRow kMessage = texts("message", 'm', "TYPE", "only PUT, ACK, GET or REPLY");
inline constexpr OptionRow kLocalNid =
    text("local_nid", 'o', "NID", "only messages to this local NI; for silent drops");
inline constexpr OptionRow kRuleType =
    text("rule_type", 't', "TYPE", "for the kernel's tool; the command implies it");

inline constexpr OptionList kDropOptions{
    kSource,
    kDest,
    kRate,
    kInterval,
    kPortal,
    kMessage,
    texts("health_error", 'e', "ERROR",
          "fail the send with this error, not silently: local_timeout, …, or random"),
    kLocalNid,
    flag("random", 'n', "about one in two; needs --interval"),
    flag("drop_all", 'x', "all messages that match"),
    kRuleType};
inline constexpr OptionList kDelayOptions{
    kSource,
    kDest,
    kRate,
    kInterval,
    number("latency", 'l', "SECONDS", "time that a message waits"),
    kPortal,
    kMessage,
    kLocalNid,
    kRuleType};
inline constexpr OptionList kFaultDelOptions{kSource, kDest,
                                             flag("all", 'a', "all rules of this kind")};

// The answer is the number of deleted rules.
constexpr VerbRow fault_del(std::string_view words, std::string_view help) {
  VerbRow row = change(words, "del", "fault", help, kFaultDelOptions);
  row.answer = VerbAnswer::kYaml;
  return row;
}

inline constexpr std::array kFaultRows{
    change("fault drop add", "add", "fault", "drop messages on purpose", kDropOptions),
    fault_del("fault drop del", "delete drop rules"),
    change("fault drop reset", "set", "fault", "reset the counts of drop rules"),
    show("fault drop show", "fault", "drop rules and their counts"),
    change("fault delay add", "add", "fault", "delay messages on purpose", kDelayOptions),
    fault_del("fault delay del", "delete delay rules"),
    change("fault delay reset", "set", "fault", "reset the counts of delay rules"),
    show("fault delay show", "fault", "delay rules and their counts"),
};

}  // namespace plnet::runtime::verb_rows

namespace plnet::runtime {

inline constexpr VerbRows kFaultVerbs{verb_rows::kFaultRows};

}  // namespace plnet::runtime
