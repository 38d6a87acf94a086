// SPDX-License-Identifier: BSD-3-Clause
// Answers of LNet's verbs: conversion of the core's replies to answers for lnetctl.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "lib/runtime/lnet/report_json.hpp"
#include "lib/runtime/lnet/report_rows.hpp"
#include "lib/runtime/lnet/verb_args.hpp"

namespace plnet::runtime {

inline void fail(VerbToken& token, Error error) {
  token.finish(std::unexpected(VerbError(std::move(error))));
}

// The entry of a fault in an answer that also has results.
inline Json fault_item(const VerbFault& fault) {
  return {{fault.entity, {{"errno", wire_errno(fault.code)}, {"descr", fault.what}}}};
}

// For a verb whose success has an empty answer.
inline lnet::Reply<void> silent(VerbToken token) {
  return [token = std::move(token)](Outcome<void>&& done) mutable {
    if (!done) return fail(token, std::move(done.error()));
    token.finish(Json::object());
  };
}

// For a verb that answers with a report: `print` makes the document.
template <class Report, class Print>
lnet::Reply<Report> printed(VerbToken token, const Print& print) {
  return [token = std::move(token), print](Outcome<Report>&& report) mutable {
    if (!report) return fail(token, std::move(report.error()));
    Json document = print(*report);
    token.finish(document.is_null() ? Json::object() : std::move(document));
  };
}

// A verb with one function as its handler.
inline AsyncVerbHandler bound(lnet::LnetControl& control,
                              void (*answer)(lnet::LnetControl& control, const VerbArgs& args,
                                             VerbToken token)) {
  return [&control, answer](const VerbArgs& args, const Caller&, VerbToken token) {
    answer(control, args, std::move(token));
  };
}
inline AsyncVerbHandler bound(lnet::LnetControl& control,
                              void (*answer)(lnet::LnetControl& control, VerbToken token)) {
  return [&control, answer](const VerbArgs&, const Caller&, VerbToken token) {
    answer(control, std::move(token));
  };
}

// A verb whose arguments `parse` checks and converts for `run`.
template <class Parse, class Run>
AsyncVerbHandler judged(Parse parse, Run run) {
  return [parse, run](const VerbArgs& args, const Caller&, VerbToken token) {
    auto meant = parse(args);
    if (!meant) return fail(token, std::move(meant.error()));
    run(std::move(*meant), std::move(token));
  };
}

}  // namespace plnet::runtime
