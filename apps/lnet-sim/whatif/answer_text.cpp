// SPDX-License-Identifier: BSD-3-Clause
// The answer in sentences.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "apps/lnet-sim/plan/layout.hpp"
#include "apps/lnet-sim/plan/node_names.hpp"
#include "apps/lnet-sim/whatif/answer.hpp"
#include "lib/base/counted.hpp"

namespace plnet::sim {

namespace {

double seconds_in(Duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string tenths(Duration time) {
  return fmt::format("{:.1f} s", seconds_in(time));
}

std::string short_form(Duration time) {
  return fmt::format("{:g} s", seconds_in(time));
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 1U << 20U && bytes % (1U << 20U) == 0) return fmt::format("{} MiB", bytes >> 20U);
  if (bytes >= 1U << 10U && bytes % (1U << 10U) == 0) return fmt::format("{} KiB", bytes >> 10U);
  return counted(bytes, "byte");
}

std::string size_text(const TrafficPlan& traffic) {
  if (traffic.size_min == traffic.size_max) return bytes_text(traffic.size_max);
  return fmt::format("{} to {}", bytes_text(traffic.size_min), bytes_text(traffic.size_max));
}

bool only_reads(const TrafficPlan& traffic) {
  return traffic.put_wildcard + traffic.put_unique + traffic.put_lazy + traffic.put_managed == 0;
}

std::string_view operation_word(const Answer& answer, std::uint64_t count) {
  if (only_reads(answer.site.traffic)) return agreeing(count, "read", "reads");
  return agreeing(count, "operation", "operations");
}

std::string workload(const Answer& answer) {
  const TrafficPlan& traffic = answer.site.traffic;
  const double rate =
      static_cast<double>(answer.without.rpcs.answers()) /
      std::max(seconds_in(answer.without.times.over_at() - answer.without.times.from), 1.0);
  return fmt::format(
      "Workload: each of {} begins up to {} at a time on each of its shards, {} each, with pauses "
      "of up to {}; {:.0f} are answered a second.\n",
      counted(answer.clients(), "client"),
      fmt::format("{} {}", traffic.window, operation_word(answer, traffic.window)),
      size_text(traffic), short_form(traffic.pause), rate);
}

std::string event_text(const Answer& answer, const PlannedEvent& event) {
  const SiteConfig& site = answer.site;
  const std::string begin = short_form(event.at);
  const std::string end = short_form(event.at + event.lasting);
  const std::string node = node_title(site, event.node);
  const bool routes = Layout(site).group_of(event.node).router;
  const std::string subject = fmt::format("{} {}", routes ? "Router" : "Node", node);
  switch (event.kind) {
    case PlannedKind::kLose:
      return fmt::format("{} is lost at {}, and is back at {}.", subject, begin, end);
    case PlannedKind::kRestart:
      return fmt::format("{} is drained at {}, restarted when it is drained, and off for {}.",
                         subject, begin, short_form(event.lasting));
    case PlannedKind::kDrain:
      return fmt::format("{} is drained at {}; {} after it is drained, it is undrained.", subject,
                         begin, short_form(event.lasting));
    case PlannedKind::kCut:
      return fmt::format("The link of {} to {} is down from {} to {}.", node,
                         net_name(site, event.net), begin, end);
  }
  return {};
}

std::string outage_text(const Answer& answer) {
  const std::size_t clients = answer.clients();
  const auto sentence = [clients](const OutageFigures& figures) {
    if (figures.clients == 0) return "none of " + counted(clients, "client");
    return fmt::format("{}, {} in all: median {}, longest {}",
                       counted(figures.clients, clients, "client"), figures.waits,
                       tenths(figures.median), tenths(figures.longest));
  };
  const OutageFigures with = figures_of(answer.with.rpcs.outages());
  std::string text = fmt::format("Outage: waits of more than {} for an answer were seen by {}.",
                                 short_form(RpcBook::kSlow), sentence(with));
  if (with.lasting > 0) {
    text += fmt::format(" {} still had no answer at the end.", counted(with.lasting, "client"));
  }
  const OutageFigures without = figures_of(answer.without.rpcs.outages());
  if (without.clients > 0) text += fmt::format(" Without the event: {}.", sentence(without));
  return text + "\n";
}

std::string causes_text(const std::map<Errc, std::uint64_t>& causes) {
  std::string text;
  for (const auto& [why, count] : causes)
    text += fmt::format("{}{} '{}'", text.empty() ? "" : ", ", count, words_of(why));
  return text;
}

std::string failure_text(const Answer& answer) {
  const RpcBook& rpcs = answer.with.rpcs;
  std::string text;
  if (rpcs.failures() == 0) {
    text = fmt::format("Lustre: no {} was sent again", operation_word(answer, 1));
  } else {
    text = fmt::format("Lustre: {} {} had no answer and {} sent again ({})", rpcs.failures(),
                       operation_word(answer, rpcs.failures()),
                       agreeing(rpcs.failures(), "was", "were"), causes_text(rpcs.causes()));
  }
  if (rpcs.slow() > 0) {
    text += fmt::format("; {} took longer than {} (the slowest {})", counted(rpcs.slow(), "answer"),
                        short_form(RpcBook::kSlow), tenths(rpcs.slowest()));
  }
  text += ".";
  if (!rpcs.refusals().empty()) {
    std::uint64_t clients = 0;
    for (const auto& [why, count] : rpcs.refusals())
      clients += count;
    text += fmt::format(" LNet refused to begin one to {} ({}).", counted(clients, "client"),
                        causes_text(rpcs.refusals()));
  }
  text += "\n";
  const RpcTimeouts& lustre = answer.site.lustre;
  return text + fmt::format(
                    "  A client gives an RPC {} (at_min {}), then connects again: at once for "
                    "{}, and every {} (obd_timeout {}).\n",
                    short_form(lustre.of_request()), lustre.at_min_s,
                    short_form(lustre.of_connect(1)), short_form(lustre.between_connects()),
                    lustre.obd_timeout_s);
}

std::string resend_text(const Answer& answer) {
  const Trial& with = answer.with;
  const Trial& without = answer.without;
  const std::uint64_t resent = with.resent - std::min(with.resent, without.resent);
  const std::uint64_t vain =
      with.resent_in_vain - std::min(with.resent_in_vain, without.resent_in_vain);
  if (resent + vain == 0) return {};
  return fmt::format("LNet: {} {} sent again, of which {} arrived.\n",
                     counted(resent + vain, "message"), agreeing(resent + vain, "was", "were"),
                     resent);
}

std::string seen_text(std::string_view what, const SightFigures& figures) {
  if (figures.count == 0) return fmt::format("none saw it {}", what);
  return fmt::format("{} saw it {} (median {}, first {}, last {})", figures.count, what,
                     tenths(figures.median), tenths(figures.first), tenths(figures.last));
}

std::string route_text(const Answer& answer, const PlannedEvent& event) {
  const SightFigures down = answer.seen_down(event);
  if (down.users == 0) return {};
  const SightFigures up = answer.seen_up(event);
  std::string text =
      fmt::format("Routes: {} {} a route through {}; {}", counted(down.users, "node"),
                  agreeing(down.users, "has", "have"), node_name(answer.site, event.node),
                  seen_text("down after the event's begin", down));
  if (down.count > 0) text += fmt::format(", and {}", seen_text("up again after its end", up));
  return text + ".\n";
}

std::string check_text(const SiteConfig& site) {
  return fmt::format(
      "  Nodes check a router every {} s (alive_router_check_interval), and wait {} "
      "s for its answer (router_ping_timeout).\n",
      site.gateways.check_interval_s, site.gateways.ping_timeout_s);
}

struct Rate {
  double messages = 0;
  double mbytes = 0;
  double share = 0;
};

Rate rate_of(const Answer& answer, const Trial& trial, std::size_t router, Phase phase) {
  const auto at = static_cast<std::size_t>(phase);
  const double length = std::max(seconds_in(answer.length_of(phase)), 0.001);
  std::uint64_t all = 0;
  for (const RouterLoad& each : trial.loads)
    all += each.phases[at].messages;
  const Host::Relayed& own = trial.loads[router].phases[at];
  return {
      .messages = static_cast<double>(own.messages) / length,
      .mbytes = static_cast<double>(own.bytes) / length / 1e6,
      .share = all == 0 ? 0 : 100.0 * static_cast<double>(own.messages) / static_cast<double>(all)};
}

std::string load_table(const Answer& answer) {
  const TrialTimes& measured = answer.with.times;
  std::string text =
      fmt::format("Load of routers, messages a second (share; payload); during: from {} to {}:\n",
                  short_form(measured.during), short_form(measured.end));
  text += fmt::format("  {:<16}", "");
  for (const std::string_view phase : kPhaseNames)
    text += fmt::format("{:>30}", phase);
  text += "\n";
  for (std::size_t i = 0; i < answer.with.loads.size(); ++i) {
    text += fmt::format("  {:<16}", node_name(answer.site, answer.with.loads[i].router));
    for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
      const Rate rate = rate_of(answer, answer.with, i, static_cast<Phase>(phase));
      text += fmt::format("{:>30}", fmt::format("{:.0f} ({:.0f} %; {:.1f} MB/s)", rate.messages,
                                                rate.share, rate.mbytes));
    }
    text += "\n";
  }
  return text;
}

// The router that carried most during the event.
std::string load_sentence(const Answer& answer) {
  if (answer.with.loads.empty()) return {};
  std::size_t most = 0;
  for (std::size_t i = 0; i < answer.with.loads.size(); ++i) {
    if (rate_of(answer, answer.with, i, Phase::kDuring).messages >
        rate_of(answer, answer.with, most, Phase::kDuring).messages)
      most = i;
  }
  const Rate during = rate_of(answer, answer.with, most, Phase::kDuring);
  if (during.messages <= 0)
    return "Load: no router forwarded a message in the measured part of the event.\n";
  const Rate before = rate_of(answer, answer.with, most, Phase::kBefore);
  const std::string times = before.messages > 0 ? fmt::format(", {:.1f} times its load before",
                                                              during.messages / before.messages)
                                                : std::string(", and nothing before");
  return fmt::format("Load: {} carried most during the event, {:.0f} % of the messages{}.\n",
                     node_name(answer.site, answer.with.loads[most].router), during.share, times);
}

std::string loss_text(const Answer& answer) {
  const auto losses = answer.losses();
  // A node without power counts nothing.
  const bool loses = std::ranges::any_of(answer.site.faults.events, [](const PlannedEvent& event) {
    return event.kind == PlannedKind::kLose;
  });
  const std::string_view uncounted =
      loses ? " Messages in a node that lost its power, and on the way to it, are counted by no "
              "node."
            : "";
  if (losses.empty()) return fmt::format("Losses: no node counted a lost message.{}\n", uncounted);
  std::string text =
      fmt::format("Losses, in messages, beyond those of a run without the event:{}\n", uncounted);
  for (const auto& [name, count] : losses)
    text += fmt::format("  {:>8}  {} ({})\n", count, words_of_cause(name), name);
  return text;
}

}  // namespace

std::string text_of(const Answer& answer) {
  const TrialTimes& times = answer.with.times;
  std::string text;
  for (const PlannedEvent& event : answer.site.faults.events)
    text += event_text(answer, event) + "\n";
  text += workload(answer) + outage_text(answer) + failure_text(answer) + resend_text(answer);
  bool routes = false;
  for (const PlannedEvent& event : answer.site.faults.events) {
    const std::string seen = route_text(answer, event);
    routes = routes || !seen.empty();
    text += seen;
  }
  if (routes) text += check_text(answer.site);
  const auto drains =
      static_cast<std::uint64_t>(std::ranges::count_if(answer.site.faults.events, is_drain));
  if (answer.with.drains_begun < drains)
    text += "  A router was not drained: some node knows no other router that forwards.\n";
  if (!times.is_restored)
    text += fmt::format("  Some route was still down {} after the event.\n",
                        tenths(times.restored_at() - times.end));
  text += load_sentence(answer);
  if (!answer.with.loads.empty()) text += load_table(answer);
  text += loss_text(answer);
  text += fmt::format("Seed {}, {} simulated; the same seed gives the same answer.\n",
                      answer.site.seed, short_form(times.over_at()));
  return text;
}

}  // namespace plnet::sim
