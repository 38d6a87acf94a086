// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/site_reader.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-sim/net/plan_reader.hpp"
#include "apps/lnet-sim/plan/event_reader.hpp"
#include "apps/lnet-sim/plan/group_reader.hpp"
#include "apps/lnet-sim/plan/site_rules.hpp"
#include "apps/lnet-sim/yaml/key_reader.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::sim {

namespace {

void read_traffic(KeyReader& reader, const YamlNode& node, TrafficPlan& plan) {
  constexpr std::uint64_t kMany = 1'000'000;
  const std::array keys{
      reader.number("operations", plan.operations, 0, kMany),
      reader.number("window", plan.window, 1, 4096),
      reader.number("burst", plan.burst, 1, 4096),
      reader.number("size_min", plan.size_min, 0, lnet::kPayloadBytesMax),
      reader.number("size_max", plan.size_max, 0, lnet::kPayloadBytesMax),
      reader.duration("pause", plan.pause),
      reader.number("put_wildcard", plan.put_wildcard, 0, 100),
      reader.number("put_unique", plan.put_unique, 0, 100),
      reader.number("put_lazy", plan.put_lazy, 0, 100),
      reader.number("put_managed", plan.put_managed, 0, 100),
      reader.number("get", plan.get, 0, 100),
      reader.number("ack_percent", plan.ack_percent, 0, 100),
      reader.number("truncate_percent", plan.truncate_percent, 0, 100),
      reader.number("unlink_percent", plan.unlink_percent, 0, 100),
      reader.number("abandon_percent", plan.abandon_percent, 0, 100),
      reader.number("poison_percent", plan.poison_percent, 0, 100),
      reader.number("loopback_percent", plan.loopback_percent, 0, 100),
      reader.number("partners", plan.partners, 0, 64),
      reader.flag("scattered", plan.scattered),
  };
  reader.mapping(node, keys);
}

void read_episode(KeyReader& reader, const YamlNode& node, ConfigErrors& errors,
                  EpisodePlan& plan) {
  std::array<std::pair<std::string_view, Mishap>, kMishaps> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = {kMishapNames[i], static_cast<Mishap>(i)};
  const std::array keys{
      reader.list("of",
                  [&](const YamlNode& item) {
                    Mishap& mishap = plan.mishaps.emplace_back();
                    reader.word("of", mishap, names).read(item);
                    if (mishap == Mishap::kExhaustion) {
                      errors.add(item.at, "of: exhaustion is a matter of buffers and traffic");
                    }
                  }),
      reader.number("count", plan.count, 1, 1000),
  };
  reader.mapping(node, keys);
  if (plan.mishaps.empty()) errors.add(node.at, "an episode is `of` something");
}

void read_faults(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, EventReader& events,
                 FaultPlan& plan) {
  const std::array keys{
      reader.number("kills", plan.kills, 0, 1000),
      reader.number("partitions", plan.partitions, 0, 1000),
      reader.number("one_way", plan.one_way, 0, 1000),
      reader.number("slow", plan.slow, 0, 1000),
      reader.number("router_kills", plan.router_kills, 0, 1000),
      reader.number("flaps", plan.flaps, 0, 1000),
      reader.number("drains", plan.drains, 0, 1000),
      reader.number("drains_in_trouble", plan.drains_in_trouble, 0, 1000),
      reader.number("peer_deletes", plan.peer_deletes, 0, 100'000),
      reader.number("moves", plan.moves, 0, 1000),
      reader.number("nack_storms", plan.nack_storms, 0, 1000),
      reader.list("episodes",
                  [&](const YamlNode& item) {
                    read_episode(reader, item, errors, plan.episodes.emplace_back());
                  }),
      reader.list("events", [&](const YamlNode& item) { events.read(item); }),
      reader.duration("outage", plan.outage),
      reader.duration("outage_max", plan.outage_max),
  };
  reader.mapping(node, keys);
}

void read_health(KeyReader& reader, const YamlNode& node, HealthPlan& plan) {
  const std::array keys{
      reader.number("retry_count", plan.retry_count, 0, 100),
      reader.number("health_sensitivity", plan.health_sensitivity, 0, 1000),
      reader.number("router_sensitivity", plan.router_sensitivity, 0, 100),
      reader.number("recovery_interval_s", plan.recovery_interval_s, 1, 3600),
  };
  reader.mapping(node, keys);
}

void read_lustre(KeyReader& reader, const YamlNode& node, RpcTimeouts& plan) {
  const std::array keys{
      reader.number("obd_timeout_s", plan.obd_timeout_s, 1, 3600),
      reader.number("at_min_s", plan.at_min_s, 0, 3600),
  };
  reader.mapping(node, keys);
}

void read_gateways(KeyReader& reader, const YamlNode& node, GatewayPlan& plan) {
  const std::array keys{
      reader.number("check_interval_s", plan.check_interval_s, 1, 3600),
      reader.number("ping_timeout_s", plan.ping_timeout_s, 1, 3600),
      reader.flag("check_before_use", plan.check_before_use),
  };
  reader.mapping(node, keys);
}

}  // namespace

std::expected<SiteConfig, ConfigErrors> read_site(std::string_view text,
                                                  std::string_view file_name) {
  ConfigErrors errors(text, file_name);
  const auto document = runtime::parse_yaml(text, errors);
  if (!document) return std::unexpected(errors);
  SiteConfig site;
  KeyReader reader(errors);
  GroupReader groups(reader, errors);
  EventReader events(reader, errors);
  bool nets_named = false;
  bool shards_named = false;
  const std::array keys{
      Key{"name", [&](const YamlNode& node) { site.name = node.text; }},
      reader.number("seed", site.seed, 0, UINT64_MAX),
      reader.number("nodes", site.nodes, 1, 65'000),
      reader.list("shards",
                  [&](const YamlNode& node) {
                    if (!std::exchange(shards_named, true)) site.shards.clear();
                    if (const auto count = reader.whole(node, "shards", 1, 16)) {
                      site.shards.push_back(static_cast<unsigned>(*count));
                    }
                  }),
      reader.list("nets",
                  [&](const YamlNode& node) {
                    if (!std::exchange(nets_named, true)) site.nets.clear();
                    read_net(reader, node, errors, site.nets.emplace_back());
                  }),
      reader.list("groups", [&](const YamlNode& node) { groups.read(node); }),
      Key{"gateways", [&](const YamlNode& node) { read_gateways(reader, node, site.gateways); }},
      Key{"health", [&](const YamlNode& node) { read_health(reader, node, site.health); }},
      Key{"lustre", [&](const YamlNode& node) { read_lustre(reader, node, site.lustre); }},
      reader.word("weather", site.weather,
                  std::array{std::pair{std::string_view("calm"), Weather::kCalm},
                             std::pair{std::string_view("rough"), Weather::kRough},
                             std::pair{std::string_view("hostile"), Weather::kHostile}}),
      reader.duration("time", site.time),
      reader.flag("discovery", site.discovery),
      reader.number("transaction_timeout_s", site.transaction_timeout_s, 1, 1000),
      reader.number("lnd_timeout_s", site.lnd_timeout_s, 1, 1000),
      reader.flag("lazy_memory", site.lazy_memory),
      Key{"traffic", [&](const YamlNode& node) { read_traffic(reader, node, site.traffic); }},
      Key{"faults",
          [&](const YamlNode& node) { read_faults(reader, node, errors, events, site.faults); }},
  };
  reader.mapping(*document, keys);
  if (site.nets.size() > 16) errors.add(document->at, "nets: more than 16");
  if (errors.empty()) groups.finish(site);
  if (errors.empty()) events.finish(site);
  if (errors.empty()) check_site(site, *document, errors);
  if (!errors.empty()) return std::unexpected(errors);
  return site;
}

}  // namespace plnet::sim
