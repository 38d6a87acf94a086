// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/event_words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-sim/plan/layout.hpp"
#include "apps/lnet-sim/plan/node_names.hpp"
#include "apps/lnet-sim/plan/numbers.hpp"
#include "apps/lnet-sim/yaml/duration_text.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::sim {

namespace {

bool is_keyword(const std::string& word) {
  return word == "at" || word == "for";
}

Outcome<PlannedEvent> begin_event(const SiteConfig& site, PlannedKind kind,
                                  std::span<const std::string>& words) {
  PlannedEvent event{.kind = kind, .lasting = usual_length_of(kind)};
  const auto node = find_node(site, words.front());
  if (!node) return std::unexpected(node.error());
  event.node = *node;
  words = words.subspan(1);
  if (kind != PlannedKind::kCut) return event;
  if (words.empty() || is_keyword(words.front())) {
    return failure(Errc::kMissing, "expected NODE NETWORK: the link to that network is cut");
  }
  const auto net = find_net(site, words.front());
  if (!net) return std::unexpected(net.error());
  event.net = *net;
  words = words.subspan(1);
  return event;
}

Outcome<void> read_times(PlannedEvent& event, std::span<const std::string>& words) {
  while (!words.empty() && is_keyword(words.front())) {
    const std::string& keyword = words.front();
    const auto time = words.size() < 2 ? std::nullopt : parse_duration(words[1]);
    if (!time) {
      return failure(Errc::kInvalid,
                     fmt::format("'{}{}{}', expected a time like 10s or 500ms after '{}'", keyword,
                                 words.size() < 2 ? "" : " ",
                                 words.size() < 2 ? "" : runtime::shown(words[1]), keyword));
    }
    (keyword == "at" ? event.at : event.lasting) = *time;
    words = words.subspan(2);
  }
  return {};
}

}  // namespace

Outcome<std::vector<PlannedEvent>> parse_events(const SiteConfig& site, PlannedKind kind,
                                                std::span<const std::string> words) {
  const auto complain = [kind](const Error& error) {
    return failure(error.code, fmt::format("--{}: {}", name_of(kind), error.what));
  };
  std::vector<PlannedEvent> events;
  while (!words.empty()) {
    auto event = begin_event(site, kind, words);
    if (!event) return complain(event.error());
    if (const auto read = read_times(*event, words); !read) return complain(read.error());
    if (const auto fits = check_event(site, *event); !fits) return complain(fits.error());
    events.push_back(*event);
  }
  return events;
}

Outcome<void> check_event(const SiteConfig& site, const PlannedEvent& event) {
  const Layout layout(site);
  const GroupPlan& group = layout.group_of(event.node);
  const std::string name = node_name(site, event.node);
  if (event.at > kEventLongest || event.lasting > kEventLongest || event.lasting <= Duration{}) {
    return failure(Errc::kOutOfRange, "expected times of at most a day, and a length above 0");
  }
  if (event.kind == PlannedKind::kCut && !contains(group.nets, event.net)) {
    return failure(Errc::kInvalid,
                   fmt::format("{} is not on network {}", name, net_name(site, event.net)));
  }
  if (is_drain(event) && !group.router) {
    return failure(Errc::kInvalid, fmt::format("{} is no router, and only routers are drained; to "
                                               "restart another node, --lose it for a short time",
                                               name));
  }
  return {};
}

}  // namespace plnet::sim
