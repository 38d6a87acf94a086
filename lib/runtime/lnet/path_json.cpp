// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/path_json.hpp"

#include <string>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::runtime {
namespace {

Json route_to_json(const lnet::RouteSetup& route) {
  return {{"net", lnet::text_of_net(route.net)},
          {"gateway", text_of(route.gateway)},
          {"hop", route.hops == lnet::kRouteHopsUndefined ? lnet::kHopsUndefined
                                                          : static_cast<std::int64_t>(route.hops)},
          {"priority", route.priority}};
}

void add_step(Json& item, const lnet::PathStep& step) {
  item["ni"] = text_of(step.ni);
  if (step.loopback) {
    item["why"] = "the destination is this node: nothing leaves it";
    return;
  }
  item["next hop"] = text_of(step.next_hop);
  if (step.destination != step.next_hop) item["for"] = text_of(step.destination);
  if (step.route) item["route"] = route_to_json(*step.route);
  item["ni tx credits"] = step.ni_tx_credits;
  if (!step.place) return;
  item["cpt"] = step.place->cpt;
  item["shard"] = step.place->shard;
  item["lane shard"] = step.place->lane_shard;
  item["peer tx credits"] = step.place->tx_credits;
  item["peer tx credits max"] = step.place->tx_credits_max;
  item["peer queued bytes"] = step.place->queued_bytes;
}

std::string words_of(const lnet::PathRejection& rejection) {
  const bool other_nid = rejection.cause == lnet::Cause::kRejectedOtherNid;
  const auto row = static_cast<std::size_t>(rejection.cause);
  return fmt::format(
      "{}{}: this node rejects the message ({}) and closes the connection",
      other_nid ? "the destination is a NID of this node on another network than the message comes "
                  "in by"
                : "the destination is on the network that the message comes in by, and has to be "
                  "sent to directly",
      rejection.from == lnet::kNetAny ? "" : " if that is " + lnet::text_of_net(rejection.from),
      lnet::LnetCauses::kInfo[row].name);
}

void add_notes(Json& item, const lnet::PathReport& report) {
  Json notes = Json::array();
  if (report.forwarded && !report.routing) {
    notes.push_back("routing is off: this node drops messages for others");
  }
  if (!report.is_rejected()) {
    for (const lnet::PathRejection& rejection : report.rejected)
      notes.push_back(words_of(rejection));
  }
  for (const lnet::PathDenial& denial : report.denied) {
    const bool whichever = denial.from == lnet::kNetAny;
    notes.push_back(fmt::format(
        "access rule {} forbids it{}: this node drops the message", denial.rule,
        whichever ? std::string() : " if it comes in by " + lnet::text_of_net(denial.from)));
  }
  if (report.step && report.step->hop_trouble)
    notes.push_back("the next hop cannot be connected; " + report.step->hop_trouble_text);
  if (report.forwarded && report.step && report.step->hop_down) {
    notes.push_back("the next hop is down: messages to be forwarded there are dropped");
  }
  if (report.forwarded && report.step && report.step->hop_stalled) {
    notes.push_back(
        "the next hop takes nothing: messages to be forwarded there are dropped "
        "(dropped_hop_stalled)");
  }
  if (report.of_answers) {
    notes.push_back(fmt::format(
        "ACKs and REPLYs go to {}, which was asked by{}", text_of(report.of_answers->next_hop),
        report.of_answers->hop_down ? ", and is down: they are dropped (dropped_hop_down)" : ""));
  }
  if (!report.known && !report.is_rejected() && !(report.step && report.step->loopback)) {
    notes.push_back(
        "the destination is no peer yet; the first message makes it one, and discovery may change "
        "this report");
  }
  if (report.is_reachable() && !report.step->loopback && !report.step->place) {
    notes.push_back("the next hop has no CPT and no shard yet");
  }
  if (!notes.empty()) item["notes"] = std::move(notes);
}

}  // namespace

Json path_to_json(const lnet::PathReport& report) {
  const lnet::Nid& source = report.question.source;
  Json item{{"src", source.is_any() ? "*" : text_of(source)},
            {"dst", text_of(report.question.destination)},
            {"forwarded", report.forwarded},
            {"reachable", report.is_reachable()}};
  if (report.is_rejected()) {
    item["why"] = words_of(report.rejected.front());
  } else if (report.step) {
    add_step(item, *report.step);
  } else {
    item["why"] = std::string(text_of(report.step.error()));
  }
  for (const lnet::PathAlternative& other : report.alternatives) {
    Json line{{other.kind, other.name}, {"why not", other.why}};
    if (other.instead) line["instead"] = *other.instead;
    item["not taken"].push_back(std::move(line));
  }
  add_notes(item, report);
  return {{"path", std::move(item)}};
}

}  // namespace plnet::runtime
