// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/whatif/answer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "apps/lnet-sim/plan/layout.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::sim {

namespace {

Duration middle_of(std::vector<Duration>& sorted) {
  return sorted[(sorted.size() - 1) / 2];
}

SightFigures figures_of(std::vector<Duration>& times, std::size_t users) {
  SightFigures figures{.users = users, .count = times.size()};
  if (times.empty()) return figures;
  std::ranges::sort(times);
  figures.first = times.front();
  figures.median = middle_of(times);
  figures.last = times.back();
  return figures;
}

// `which` is a time of the view; it is compared with `since`.
SightFigures sight_of(const Trial& trial, std::uint32_t router, Instant since,
                      std::optional<Instant> RouteSight::Seen::* which) {
  const auto found = trial.sights.find(router);
  std::vector<Duration> times;
  if (found == trial.sights.end()) return {};
  for (const RouteSight::Seen& each : found->second) {
    if (const auto& when = each.*which; when) times.push_back(std::max(*when - since, Duration{}));
  }
  return figures_of(times, found->second.size());
}

}  // namespace

OutageFigures figures_of(const std::vector<Outage>& outages) {
  std::map<std::uint32_t, Duration> longest;
  OutageFigures figures{.waits = outages.size()};
  for (const Outage& outage : outages) {
    Duration& own = longest[outage.client];
    own = std::max(own, outage.length());
    if (!outage.over) ++figures.lasting;
  }
  std::vector<Duration> lengths;
  lengths.reserve(longest.size());
  for (const auto& [client, length] : longest)
    lengths.push_back(length);
  figures.clients = lengths.size();
  if (lengths.empty()) return figures;
  std::ranges::sort(lengths);
  figures.median = middle_of(lengths);
  figures.longest = lengths.back();
  return figures;
}

std::size_t Answer::clients() const {
  const Layout layout(site);
  std::size_t count = 0;
  for (std::uint32_t node = 0; node < site.nodes; ++node)
    count += layout.begins_anything(node) ? 1 : 0;
  return count;
}

SightFigures Answer::seen_down(const PlannedEvent& event) const {
  return sight_of(with, event.node, Instant{} + event.at, &RouteSight::Seen::down);
}

SightFigures Answer::seen_up(const PlannedEvent& event) const {
  return sight_of(with, event.node, Instant{} + event.at + event.lasting, &RouteSight::Seen::up);
}

std::vector<std::pair<std::string_view, std::uint64_t>> Answer::losses() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> more;
  for (const auto& [name, count] : with.causes) {
    const auto usual = without.causes.find(name);
    const std::uint64_t before = usual == without.causes.end() ? 0 : usual->second;
    if (count > before) more.emplace_back(name, count - before);
  }
  std::ranges::sort(more, [](const auto& a, const auto& b) {
    return std::pair(b.second, a.first) < std::pair(a.second, b.first);
  });
  return more;
}

Duration Answer::length_of(Phase phase) const {
  const TrialTimes& times = with.times;
  switch (phase) {
    case Phase::kBefore: return times.begin - times.from;
    case Phase::kDuring: return times.end - times.during;
    case Phase::kAfter: return times.over_at() - times.restored_at();
  }
  return {};
}

Outcome<Answer> answer_to(const SiteConfig& site) {
  Trial with = run_trial(site, times_of(site));
  if (!with.violation.empty()) return failure(Errc::kProtocol, with.violation);
  SiteConfig quiet = site;
  quiet.faults.events.clear();
  Trial without = run_trial(quiet, with.times);
  if (!without.violation.empty()) return failure(Errc::kProtocol, without.violation);
  return Answer{.site = site, .with = std::move(with), .without = std::move(without)};
}

std::string_view words_of(Errc why) {
  switch (why) {
    case Errc::kTimedOut: return "no answer in time";
    case Errc::kNoRoute: return "no route to the server";
    case Errc::kReset:
    case Errc::kClosed: return "the connection was lost";
    case Errc::kRefused: return "the connection was refused";
    default: return plnet::text_of(why);
  }
}

std::string_view words_of_cause(std::string_view cause) {
  for (const auto& info : lnet::LnetCauses::kInfo) {
    if (info.name == cause) return info.help;
  }
  return {};
}

}  // namespace plnet::sim
