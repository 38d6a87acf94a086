// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/site_reader.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-sim/group_reader.hpp"
#include "apps/lnet-sim/site_keys.hpp"
#include "apps/lnet-sim/site_rules.hpp"
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

void read_faults(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, FaultPlan& plan) {
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
      reader.duration("outage", plan.outage),
      reader.duration("outage_max", plan.outage_max),
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

void read_fault_rule(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, NetPlan& net) {
  using drivers::Fault;
  using drivers::Trigger;
  std::array<std::pair<std::string_view, Fault>, drivers::kFaultCount> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = {drivers::name_of(static_cast<Fault>(i)), static_cast<Fault>(i)};
  drivers::FaultRule rule;
  unsigned percent = 100;
  std::uint64_t every = 0;
  std::uint64_t at = 0;
  const std::array keys{
      reader.word("fault", rule.fault, names),
      reader.word("direction", rule.direction,
                  std::array{std::pair{std::string_view("tx"), drivers::Direction::kTx},
                             std::pair{std::string_view("rx"), drivers::Direction::kRx}}),
      reader.number("percent", percent, 0, 100),
      reader.number("every", every, 1, UINT64_MAX),
      reader.number("at", at, 1, UINT64_MAX),
      reader.duration("delay", rule.delay),
  };
  reader.mapping(node, keys);
  const auto is_named = [&](std::string_view key) { return node.find(key) != nullptr ? 1 : 0; };
  if (is_named("percent") + is_named("every") + is_named("at") > 1) {
    errors.add(node.at,
               "faults: expected one of percent, every and at: each says which it strikes");
  }
  rule.probability = percent / 100.0;
  if (every > 0) rule.trigger = Trigger::kEveryNth;
  if (at > 0) rule.trigger = Trigger::kAtNth;
  rule.nth = std::max({every, at, std::uint64_t{1}});
  if (!net.faults.add(rule)) {
    errors.add(node.at, fmt::format("faults: more than {} rules", drivers::kRulesMax));
  }
}

void read_kfi(KeyReader& reader, const YamlNode& node, KfiPlan& plan) {
  constexpr std::uint64_t kMany = 8192;
  const std::array keys{
      reader.number("receive_buffers", plan.receive_buffers, 2, 64),
      reader.number("receive_buffer_bytes", plan.receive_buffer_bytes, 4096, 2U << 20U),
      reader.number("copies", plan.copies, 0, kMany),
      reader.number("source_connections", plan.source_connections, 1, kMany),
      reader.number("target_connections", plan.target_connections, 1, kMany),
      reader.number("message_states", plan.message_states, 1, kMany),
      reader.number("answers", plan.answers, 1, kMany),
  };
  reader.mapping(node, keys);
}

void read_net(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, NetPlan& plan) {
  const YamlNode* faults = nullptr;
  const YamlNode* kfi = nullptr;
  const std::array keys{
      Key{"name", [&](const YamlNode& value) { plan.name = value.text; }},
      reader.word("kind", plan.kind,
                  std::array{std::pair{std::string_view("stream"), NetKind::kStream},
                             std::pair{std::string_view("rdma"), NetKind::kRdma},
                             std::pair{std::string_view("tcp"), NetKind::kTcp},
                             std::pair{std::string_view("kfi"), NetKind::kKfi}}),
      reader.number("interfaces", plan.interfaces, 1, 8),
      reader.list("faults",
                  [&](const YamlNode& rule) {
                    faults = &rule;
                    read_fault_rule(reader, rule, errors, plan);
                  }),
      Key{"kfi",
          [&](const YamlNode& value) {
            kfi = &value;
            read_kfi(reader, value, plan.kfi);
          }},
  };
  reader.mapping(node, keys);
  if (kfi != nullptr && plan.kind != NetKind::kKfi) {
    errors.add(kfi->at, "kfi: only of a net of `kind: kfi`");
  }
  if (faults == nullptr) return;
  if (const auto sound = check_faults(plan); !sound) errors.add(faults->at, sound.error().what);
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
      Key{"faults", [&](const YamlNode& node) { read_faults(reader, node, errors, site.faults); }},
  };
  reader.mapping(*document, keys);
  if (site.nets.size() > 16) errors.add(document->at, "nets: more than 16");
  if (errors.empty()) groups.finish(site);
  if (errors.empty()) check_site(site, *document, errors);
  if (!errors.empty()) return std::unexpected(errors);
  return site;
}

}  // namespace plnet::sim
