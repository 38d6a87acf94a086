// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/path_json.hpp"

#include <string>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
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
  if (step.loopback) return;
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

std::string words_of(const lnet::PathDenial& denial) {
  const std::string from = denial.from == lnet::kNetAny
                               ? std::string()
                               : " if it comes in by " + lnet::text_of_net(denial.from);
  return fmt::format("access rule {} forbids it{}: this node drops the message", denial.rule, from);
}

// Why messages do not pass; "" if they do. The first obstacle that a message meets.
std::string obstacle_of(const lnet::PathReport& report, const lnet::PathStep& way) {
  if (report.passes(way)) return {};
  if (report.is_rejected()) return words_of(report.rejected.front());
  if (report.forwarded && !report.routing)
    return "routing is off: this node drops messages for others";
  if (report.is_denied) return words_of(report.denied.front());
  if (way.hop_trouble) return "the next hop cannot be connected; " + way.hop_trouble_text;
  if (way.hop_down)
    return "the next hop is down: messages to be forwarded there are dropped (dropped_hop_down)";
  return "the next hop takes nothing: messages to be forwarded there are dropped "
         "(dropped_hop_stalled)";
}

std::string requests_text(std::uint64_t unanswered) {
  return counted(unanswered, "request") + " without an answer in the last minute";
}

// The silence of a peer beyond a gateway; "" if none is known.
std::string silence_of(const lnet::PathReport& report) {
  if (!report.is_routed() || report.unanswered == 0) return {};
  return fmt::format(
      "the gateway takes the messages, and the destination does not answer: {}; on "
      "{}: lnetctl route explain {} {}",
      requests_text(report.unanswered), text_of(report.step->route->gateway),
      text_of(report.step->ni), text_of(report.question.destination));
}

std::string obstacle_of(const lnet::PathReport& report) {
  if (report.step && report.passes(*report.step)) return silence_of(report);
  if (report.step) return obstacle_of(report, *report.step);
  if (report.is_rejected()) return words_of(report.rejected.front());
  return std::string(text_of(report.step.error()));
}

std::string way_text(const lnet::PathStep& way) {
  return fmt::format("go to {} by {}", text_of(way.next_hop), text_of(way.ni));
}

std::string fate_text(const lnet::PathReport& report, const lnet::PathStep& way) {
  const std::string obstacle = obstacle_of(report, way);
  return obstacle.empty() ? way_text(way) : "do not pass: " + obstacle;
}

// One sentence; requests and answers apart only where they fare differently.
std::string verdict_of(const lnet::PathReport& report) {
  if (!report.step) return "messages do not pass: " + obstacle_of(report);
  if (report.step->loopback && report.passes(*report.step))
    return "the destination is this node: nothing leaves it";
  const std::string fate = fate_text(report, *report.step);
  if (!report.forwarded && report.passes(*report.step)) {
    const std::string silence = silence_of(report);
    return "messages " + fate + (silence.empty() ? "" : "; " + silence);
  }
  if (!report.forwarded) return "messages " + fate;
  if (!report.of_answers) return "requests and answers " + fate;
  const std::string other = fate_text(report, *report.of_answers);
  if (other == fate) return "requests and answers " + fate;
  return fmt::format("requests {}; answers (ACK, REPLY) {}", fate, other);
}

// A gateway that takes messages says nothing about the destination.
void add_gateway(Json& item, const lnet::PathReport& report) {
  if (!report.is_routed()) return;
  item["gateway reachable"] = report.passes(*report.step);
  item["destination"] = requests_text(report.unanswered);
}

void add_answers(Json& item, const lnet::PathReport& report) {
  if (!report.forwarded) return;
  item["answers reachable"] =
      report.of_answers ? report.passes(*report.of_answers) : report.is_reachable();
  if (!report.of_answers) return;
  Json answers{{"ni", text_of(report.of_answers->ni)},
               {"next hop", text_of(report.of_answers->next_hop)}};
  if (const std::string why = obstacle_of(report, *report.of_answers); !why.empty())
    answers["why"] = why;
  item["answers"] = std::move(answers);
}

// Conditions, and hints that are not obstacles.
void add_notes(Json& item, const lnet::PathReport& report) {
  Json notes = Json::array();
  if (!report.is_rejected()) {
    for (const lnet::PathRejection& rejection : report.rejected)
      notes.push_back(words_of(rejection));
  }
  if (!report.is_denied) {
    for (const lnet::PathDenial& denial : report.denied)
      notes.push_back(words_of(denial));
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
            {"verdict", verdict_of(report)},
            {"reachable", report.is_reachable()}};
  if (const std::string why = obstacle_of(report); !why.empty()) item["why"] = why;
  add_gateway(item, report);
  add_answers(item, report);
  if (report.step && !report.is_rejected()) add_step(item, *report.step);
  for (const lnet::PathAlternative& other : report.alternatives) {
    Json line{{other.kind, other.name}, {"why not", other.why}};
    if (other.instead) line["instead"] = *other.instead;
    item["not taken"].push_back(std::move(line));
  }
  add_notes(item, report);
  return {{"path", std::move(item)}};
}

}  // namespace plnet::runtime
