// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/routing_outlook.hpp"

#include <utility>

#include <fmt/format.h>

#include "lib/runtime/lnet/verb_answers.hpp"

namespace plnet::runtime {
namespace {

std::string outlook_of_stop(const lnet::RoutingChangeReport& change) {
  return fmt::format(
      "routing stops: peers are told now; this node forwards for {} s more, for {} s at most while "
      "it holds messages; `lnetctl set routing 1` cancels this",
      change.seconds_least, change.seconds_left);
}

std::string outlook_of_drain(const lnet::RoutingChangeReport& change) {
  return fmt::format(
      "routing drains: peers are told now; forwarding ends when they have acknowledged that and no "
      "message is held, in {} s at most; `lnetctl routing show` shows the progress, `lnetctl "
      "routing undrain` cancels this",
      change.seconds_left);
}

}  // namespace

std::string routing_outlook(const lnet::RoutingReport& report) {
  switch (report.state) {
    case lnet::RoutingState::kEnabled: return "routing is enabled: this node forwards";
    case lnet::RoutingState::kStarting:
      return "routing starts: this node forwards, peers are told within a second";
    case lnet::RoutingState::kStopping:
      if (!report.change) return "routing stops";
      return report.change->is_drain ? outlook_of_drain(*report.change)
                                     : outlook_of_stop(*report.change);
    case lnet::RoutingState::kDisabled: break;
  }
  return "routing is disabled: this node does not forward; `lnetctl set routing 1` starts it";
}

lnet::Reply<void> with_outlook(lnet::LnetControl& control, VerbToken token) {
  return [&control, token = std::move(token)](Outcome<void>&& done) mutable {
    if (!done) return fail(token, std::move(done.error()));
    control.routing([token = std::move(token)](Outcome<lnet::RoutingReport>&& report) mutable {
      // LNet may be down: then the change is one of the configuration only.
      token.finish(report ? Json{{"notes", {routing_outlook(*report)}}} : Json::object());
    });
  };
}

}  // namespace plnet::runtime
