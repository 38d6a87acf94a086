// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/event_reader.hpp"

#include <fmt/format.h>

#include "apps/lnet-sim/plan/event_words.hpp"
#include "apps/lnet-sim/plan/node_names.hpp"
#include "lib/base/joined.hpp"

namespace plnet::sim {

void EventReader::read(const YamlNode& node) {
  if (events_.size() == kEventsMax) {
    return errors_.add(node.at, fmt::format("events: more than {}", kEventsMax));
  }
  NamedEvent& event = events_.emplace_back();
  event.at = &node;
  unsigned kinds = 0;
  Duration lasting{};
  std::vector<Key> keys;
  keys.reserve(kEventNames.size() + 3);
  for (std::size_t i = 0; i < kEventNames.size(); ++i) {
    keys.push_back({kEventNames[i], [&, i](const YamlNode& value) {
                      event.plan.kind = static_cast<PlannedKind>(i);
                      event.node = &value;
                      ++kinds;
                    }});
  }
  keys.push_back({"net", [&](const YamlNode& value) { event.net = &value; }});
  keys.push_back(keys_.duration("at", event.plan.at));
  keys.push_back(keys_.duration("for", lasting));
  keys_.mapping(node, keys);
  event.plan.lasting = lasting > Duration{} ? lasting : usual_length_of(event.plan.kind);
  if (kinds != 1) {
    return errors_.add(node.at, fmt::format("events: expected one of {}, and the name of a node",
                                            joined(kEventNames, ", ")));
  }
  const bool cuts = event.plan.kind == PlannedKind::kCut;
  if (cuts != (event.net != nullptr)) {
    errors_.add(node.at, "events: expected `net` with `cut`, and only there");
  }
}

void EventReader::finish(SiteConfig& site) {
  for (NamedEvent& event : events_) {
    const auto node = find_node(site, event.node->text);
    if (!node) {
      errors_.add(event.node->at, fmt::format("events: {}", node.error().what));
      continue;
    }
    event.plan.node = *node;
    if (event.net != nullptr) {
      const auto net = find_net(site, event.net->text);
      if (!net) {
        errors_.add(event.net->at, fmt::format("events: {}", net.error().what));
        continue;
      }
      event.plan.net = *net;
    }
    if (const auto fits = check_event(site, event.plan); !fits) {
      errors_.add(event.at->at, fmt::format("events: {}", fits.error().what));
      continue;
    }
    site.faults.events.push_back(event.plan);
  }
}

}  // namespace plnet::sim
