// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/site_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/wire/header.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::sim {

using runtime::ConfigErrors;
using runtime::Node;
using runtime::NodeKind;
using runtime::shown;

namespace {

struct Key {
  std::string_view name;
  std::function<void(const Node&)> read;
};

class Reader {
 public:
  explicit Reader(ConfigErrors& errors) : errors_(errors) {}

  void mapping(const Node& node, std::span<const Key> keys) {
    if (node.kind == NodeKind::kNull) return;
    if (node.kind != NodeKind::kMapping) {
      return errors_.add(node.at, "expected a mapping (`key: value` lines)");
    }
    for (const Node& item : node.items) {
      const auto key = std::ranges::find(keys, item.key, &Key::name);
      if (key != keys.end()) {
        key->read(item);
        continue;
      }
      std::string known;
      for (const Key& each : keys)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
      errors_.add(item.key_at,
                  fmt::format("unknown key '{}', expected one of {}", shown(item.key), known));
    }
  }

  template <class Number>
  Key number(std::string_view name, Number& out, std::uint64_t least, std::uint64_t most) {
    return {name, [this, name, &out, least, most](const Node& node) {
              if (const auto value = whole(node, name, least, most)) {
                out = static_cast<Number>(*value);
              }
            }};
  }
  // "10s", "20ms", "5us".
  Key duration(std::string_view name, Duration& out) {
    return {
        name, [this, name, &out](const Node& node) {
          std::uint64_t value = 0;
          const std::string& text = node.text;
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
          const std::string_view unit(end, text.data() + text.size());
          const std::array<std::pair<std::string_view, Duration>, 3> units{
              {{"s", std::chrono::seconds(1)},
               {"ms", std::chrono::milliseconds(1)},
               {"us", std::chrono::microseconds(1)}}};
          const auto found = std::ranges::find(units, unit, &decltype(units)::value_type::first);
          if (error != std::errc{} || found == units.end() || value > 1'000'000'000) {
            return errors_.add(node.at, fmt::format("{}: '{}', expected a time like 10s, 20ms "
                                                    "or 5us",
                                                    name, shown(text)));
          }
          out = found->second * static_cast<std::int64_t>(value);
        }};
  }
  Key flag(std::string_view name, bool& out) {
    return {name, [this, name, &out](const Node& node) {
              if (node.text != "true" && node.text != "false") {
                return errors_.add(node.at, fmt::format("{}: '{}', expected true or false", name,
                                                        shown(node.text)));
              }
              out = node.text == "true";
            }};
  }
  template <class Word, std::size_t kCount>
  Key word(std::string_view name, Word& out,
           const std::array<std::pair<std::string_view, Word>, kCount>& words) {
    return {name, [this, name, &out, words](const Node& node) {
              for (const auto& [text, value] : words) {
                if (node.text == text) {
                  out = value;
                  return;
                }
              }
              std::string known;
              for (const auto& each : words)
                known += fmt::format("{}{}", known.empty() ? "" : ", ", each.first);
              errors_.add(node.at, fmt::format("{}: '{}', expected one of {}", name,
                                               shown(node.text), known));
            }};
  }
  Key list(std::string_view name, std::function<void(const Node&)> clear_and_item) {
    return {name, [this, name, read = std::move(clear_and_item)](const Node& node) {
              if (node.kind != NodeKind::kSequence || node.items.empty()) {
                return errors_.add(node.at, fmt::format("{}: expected a list", name));
              }
              for (const Node& item : node.items)
                read(item);
            }};
  }
  std::optional<std::uint64_t> whole(const Node& node, std::string_view name, std::uint64_t least,
                                     std::uint64_t most) {
    std::uint64_t value = 0;
    const std::string& text = node.text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= least &&
        value <= most) {
      return value;
    }
    errors_.add(node.at, fmt::format("{}: '{}', expected a number from {} to {}", name, shown(text),
                                     least, most));
    return std::nullopt;
  }

 private:
  ConfigErrors& errors_;
};

void read_traffic(Reader& reader, const Node& node, TrafficPlan& plan) {
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

void read_faults(Reader& reader, const Node& node, FaultPlan& plan) {
  const std::array keys{
      reader.number("kills", plan.kills, 0, 1000),
      reader.number("partitions", plan.partitions, 0, 1000),
      reader.number("peer_deletes", plan.peer_deletes, 0, 100'000),
      reader.duration("outage", plan.outage),
  };
  reader.mapping(node, keys);
}

void read_fault_rule(Reader& reader, const Node& node, ConfigErrors& errors, NetPlan& net) {
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
  rule.probability = percent / 100.0;
  if (every > 0) rule.trigger = Trigger::kEveryNth;
  if (at > 0) rule.trigger = Trigger::kAtNth;
  rule.nth = std::max({every, at, std::uint64_t{1}});
  if (!net.faults.add(rule)) {
    errors.add(node.at, fmt::format("faults: more than {} rules", drivers::kRulesMax));
  }
}

void read_net(Reader& reader, const Node& node, ConfigErrors& errors, NetPlan& plan) {
  const Node* faults = nullptr;
  const std::array keys{
      reader.word("kind", plan.kind,
                  std::array{std::pair{std::string_view("stream"), NetKind::kStream},
                             std::pair{std::string_view("rdma"), NetKind::kRdma},
                             std::pair{std::string_view("tcp"), NetKind::kTcp}}),
      reader.number("interfaces", plan.interfaces, 1, 8),
      reader.list("faults",
                  [&](const Node& rule) {
                    faults = &rule;
                    read_fault_rule(reader, rule, errors, plan);
                  }),
  };
  reader.mapping(node, keys);
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
  Reader reader(errors);
  bool nets_named = false;
  bool shards_named = false;
  const std::array keys{
      Key{"name", [&](const Node& node) { site.name = node.text; }},
      reader.number("seed", site.seed, 0, UINT64_MAX),
      reader.number("nodes", site.nodes, 1, 65'000),
      reader.list("shards",
                  [&](const Node& node) {
                    if (!std::exchange(shards_named, true)) site.shards.clear();
                    if (const auto count = reader.whole(node, "shards", 1, 16)) {
                      site.shards.push_back(static_cast<unsigned>(*count));
                    }
                  }),
      reader.list("nets",
                  [&](const Node& node) {
                    if (!std::exchange(nets_named, true)) site.nets.clear();
                    read_net(reader, node, errors, site.nets.emplace_back());
                  }),
      reader.word("weather", site.weather,
                  std::array{std::pair{std::string_view("calm"), Weather::kCalm},
                             std::pair{std::string_view("rough"), Weather::kRough},
                             std::pair{std::string_view("hostile"), Weather::kHostile}}),
      reader.duration("time", site.time),
      reader.flag("discovery", site.discovery),
      reader.number("transaction_timeout_s", site.transaction_timeout_s, 1, 1000),
      reader.number("lnd_timeout_s", site.lnd_timeout_s, 1, 1000),
      reader.flag("lazy_memory", site.lazy_memory),
      Key{"traffic", [&](const Node& node) { read_traffic(reader, node, site.traffic); }},
      Key{"faults", [&](const Node& node) { read_faults(reader, node, site.faults); }},
  };
  reader.mapping(*document, keys);
  if (errors.empty() && site.traffic.size_min > site.traffic.size_max) {
    errors.add(document->at, "traffic: size_min is greater than size_max");
  }
  if (site.nets.size() > 16) errors.add(document->at, "nets: more than 16");
  if (!errors.empty()) return std::unexpected(errors);
  return site;
}

}  // namespace plnet::sim
