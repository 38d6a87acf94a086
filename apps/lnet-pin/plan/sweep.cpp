// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/sweep.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/runtime/config/mapping_keys.hpp"
#include "lib/runtime/config/yaml_document.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/topology.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::pin {
namespace {

using runtime::ConfigErrors;
using runtime::MappingKey;
using runtime::NodeKind;
using YamlNode = runtime::Node;

constexpr std::size_t kNameMax = 64;
constexpr std::size_t kValueMax = 256;
constexpr std::size_t kInterfacesMax = 16;

constexpr std::array<std::pair<std::string_view, Role>, 3> kRoleWords{
    {{"client", Role::kClient}, {"server", Role::kServer}, {"router", Role::kRouter}}};
constexpr std::array<std::pair<std::string_view, Design>, 3> kDesignWords{
    {{"full", Design::kFull}, {"fractional", Design::kFractional}, {"one", Design::kOneFactor}}};

template <class Words, class T>
std::string_view word_of(const Words& words, T value) {
  const auto found = std::ranges::find(words, value, &Words::value_type::second);
  return found == words.end() ? "unknown" : found->first;
}

template <class T, std::size_t kSize>
Outcome<T> read_word(const std::array<std::pair<std::string_view, T>, kSize>& words,
                     std::string_view text) {
  std::string expected;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(word);
  }
  return failure(Errc::kInvalid, fmt::format("'{:.60}': expected one of {}", text, expected));
}

Outcome<double> read_between(std::string_view text, double low, double high) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto value = whole_number<double>(text);
  if (value && *value >= low && *value <= high) return *value;
  return failure(Errc::kInvalid, fmt::format("'{:.60}': expected {} to {}", text, low, high));
}

// A name that is part of file names, namespaces and command lines.
bool is_plain(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= kNameMax && text.front() != '-' &&
         std::ranges::all_of(text, [more](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' ||
                  more.find(letter) != std::string_view::npos;
         });
}

Outcome<Duration> read_budget(std::string_view text) {
  auto budget = run::read_duration(text);
  if (budget && *budget <= Duration::zero())
    return failure(Errc::kOutOfRange, "expected a time above zero, such as 30m");
  return budget;
}

std::string network_types() {
  std::string types;
  for (const node::LabNic* nic : node::family_lab_nics())
    types += (types.empty() ? "" : ", ") + std::string(nic->network);
  return types;
}

class SweepReader {
 public:
  SweepReader(ConfigErrors& errors, Sweep& sweep) : errors_(errors), sweep_(sweep) {}

  void read_document(const YamlNode& document) {
    const std::vector<MappingKey> keys{
        plain("name", sweep_.name, "."),
        {"seed", [this](const YamlNode& node) { seed(node); }},
        value<Role>("measured", sweep_.measured,
                    [](std::string_view text) { return read_word(kRoleWords, text); }),
        {"workload", [this](const YamlNode& node) { workload(node); }},
        {"others", [this](const YamlNode& node) { cpus(node, sweep_.others); }},
        words("interfaces", sweep_.interfaces, kInterfacesMax, ".:@"),
        {"factors", [this](const YamlNode& node) { factors(node); }},
        value<Design>("design", sweep_.design,
                      [](std::string_view text) { return read_word(kDesignWords, text); }),
        {"hosts", [this](const YamlNode& node) { hosts(node); }},
        {"rounds", [this](const YamlNode& node) { rounds(node); }},
        number("confidence", sweep_.confidence, 0.5, 0.999),
        number("precision", sweep_.precision_percent, 0.1, 100),
        number("steal_max", sweep_.steal_max_percent, 0, 100),
        value<Duration>("budget", sweep_.budget, read_budget),
    };
    runtime::read_mapping(document, keys, errors_);
    check_roles(document);
  }

 private:
  void wrong(const YamlNode& node, std::string what) {
    errors_.add(node.at, node.key.empty() ? std::move(what) : node.key + ": " + what);
  }
  bool is_scalar(const YamlNode& node) {
    if (node.kind == NodeKind::kScalar && node.text.size() <= kValueMax) return true;
    wrong(node, "expected one value");
    return false;
  }
  template <class T>
  MappingKey value(std::string_view name, T& out,
                   std::function<Outcome<T>(std::string_view)> read) {
    return {name, [this, &out, read = std::move(read)](const YamlNode& node) {
              if (!is_scalar(node)) return;
              auto is = read(node.text);
              if (!is) return wrong(node, is.error().what);
              out = std::move(*is);
            }};
  }
  MappingKey number(std::string_view name, double& out, double low, double high) {
    return value<double>(
        name, out, [low, high](std::string_view text) { return read_between(text, low, high); });
  }
  MappingKey plain(std::string_view name, std::string& out, std::string_view more) {
    return {name, [this, &out, more](const YamlNode& node) {
              if (!is_scalar(node)) return;
              if (!is_plain(node.text, more))
                return wrong(node, fmt::format("'{:.60}': expected a plain name", node.text));
              out = node.text;
            }};
  }
  static std::span<const YamlNode> items_of(const YamlNode& node) {
    if (node.kind == NodeKind::kSequence) return node.items;
    if (node.kind == NodeKind::kScalar) return {&node, 1};
    return {};
  }
  // A single word, or a list.
  MappingKey words(std::string_view name, std::vector<std::string>& out, std::size_t most,
                   std::string_view more) {
    return {name, [this, &out, most, more](const YamlNode& node) {
              const auto items = items_of(node);
              if (items.empty() || items.size() > most)
                return wrong(node, fmt::format("expected a list of 1 to {} names", most));
              out.clear();
              for (const YamlNode& item : items) {
                if (!is_scalar(item)) continue;
                if (!is_plain(item.text, more))
                  wrong(item, fmt::format("'{:.60}': expected a plain name", item.text));
                out.push_back(item.text);
              }
            }};
  }

  void seed(const YamlNode& node) {
    const auto is = whole_number<std::uint64_t>(node.text);
    if (!is) return wrong(node, "expected a whole number");
    sweep_.seed = *is;
  }
  void cpus(const YamlNode& node, std::vector<unsigned>& out) {
    if (!is_scalar(node)) return;
    auto list = runtime::parse_number_list(node.text, runtime::kMaxCpus - 1);
    if (!list || list->empty()) return wrong(node, "expected a list of CPUs such as \"0-3,8\"");
    out = std::move(*list);
  }
  void workload(const YamlNode& node) {
    Workload& load = sweep_.workload;
    const std::vector<MappingKey> keys{
        words("networks", load.networks, 2, ""),
        value<run::Operation>("test", load.test, run::read_operation),
        value<std::uint32_t>("size", load.size, run::read_size),
        value<std::uint32_t>("concurrency", load.concurrency, run::read_concurrency),
        value<Duration>("warmup", load.warm_up, run::read_duration),
        value<Duration>("duration", load.duration, run::read_duration),
    };
    runtime::read_mapping(node, keys, errors_);
    load.routed = load.networks.size() == 2;
    if (load.duration < run::kDurationMin) wrong(node, "the duration is at least 100ms");
    for (const std::string& network : load.networks) {
      if (lab_nic_of(network) == nullptr)
        wrong_key(&node, "networks",
                  fmt::format("'{}': expected one of {}", network, network_types()));
    }
    if (load.routed && load.networks[0] == load.networks[1])
      wrong_key(&node, "networks", "a router is between two different ones, such as [tcp, tcp1]");
  }
  void factors(const YamlNode& node) {
    if (node.kind != NodeKind::kMapping) return wrong(node, "expected `name: [levels]` lines");
    for (const YamlNode& each : node.items) {
      const auto kind = factor_named(each.key);
      if (!kind) {
        std::string known;
        for (const FactorRow& row : kFactors)
          known += (known.empty() ? "" : ", ") + std::string(row.name);
        errors_.add(each.key_at, fmt::format("unknown factor '{}', expected one of {}",
                                             runtime::shown(each.key), known));
        continue;
      }
      factor(each, *kind);
    }
  }
  void factor(const YamlNode& node, FactorKind kind) {
    const auto items = items_of(node);
    if (items.empty() || items.size() > kLevelsMax)
      return wrong(node, fmt::format("expected a list of 1 to {} levels", kLevelsMax));
    Factor factor{.kind = kind};
    for (const YamlNode& item : items) {
      if (!is_scalar(item)) continue;
      const auto known = check_level(kind, item.text);
      if (!known) {
        wrong(item, known.error().what);
      } else if (std::ranges::find(factor.levels, item.text) != factor.levels.end()) {
        wrong(item, fmt::format("level '{}' is listed twice", item.text));
      } else {
        factor.levels.push_back(item.text);
      }
    }
    sweep_.factors.push_back(std::move(factor));
  }
  void rounds(const YamlNode& node) {
    const auto read = [](std::string_view text) -> Outcome<unsigned> {
      const auto is = whole_number<unsigned>(text);
      if (is && *is >= 1 && *is <= kRoundsMax) return *is;
      return failure(Errc::kOutOfRange, fmt::format("expected 1 to {}", kRoundsMax));
    };
    const std::vector<MappingKey> keys{value<unsigned>("least", sweep_.rounds_min, read),
                                       value<unsigned>("most", sweep_.rounds_max, read)};
    runtime::read_mapping(node, keys, errors_);
    if (sweep_.rounds_min > sweep_.rounds_max) wrong(node, "least is above most");
  }
  void hosts(const YamlNode& node) {
    if (node.kind != NodeKind::kMapping) return wrong(node, "expected client, server, router");
    for (const YamlNode& each : node.items) {
      const auto role = read_word(kRoleWords, each.key);
      if (!role) {
        errors_.add(each.key_at, role.error().what);
        continue;
      }
      host(each, sweep_.hosts[*role]);
    }
  }
  void host(const YamlNode& node, RemoteHost& host) {
    std::vector<MappingKey> keys{plain("on", host.on, ".:"),
                                 words("addresses", host.addresses, 2, ".:")};
    for (const node::LabNic* nic : node::family_lab_nics()) {
      if (!nic->is_named()) continue;
      keys.push_back({nic->section, [this, &host, nic](const YamlNode& map) {
                        for (const YamlNode& each : map.items) {
                          if (is_scalar(each))
                            host.nics[std::string(nic->section)][each.key] = each.text;
                        }
                      }});
    }
    runtime::read_mapping(node, keys, errors_);
    const std::size_t last = host.on.rfind(':');
    const bool named = last != std::string::npos && last + 1 < host.on.size() &&
                       host.on[last + 1] != '-' && host.on.find(":-") == std::string::npos;
    const auto colons = std::ranges::count(host.on, ':');
    const bool known = (host.on.starts_with("ssh:") && colons == 1) ||
                       (host.on.starts_with("slurm:") && colons == 2);
    if (!host.on.empty() && !(known && named))
      wrong(node, "on: expected ssh:HOST or slurm:JOB:HOST");
  }
  // Adds an error at the place of a key, or of the mapping where the key is missing.
  void wrong_key(const YamlNode* map, std::string_view key, std::string what) {
    const YamlNode* const node = map != nullptr ? map->find(key) : nullptr;
    const runtime::Position nowhere{};
    errors_.add(node != nullptr ? node->key_at : (map != nullptr ? map->at : nowhere),
                fmt::format("{}: {}", key, what));
  }
  void check_roles(const YamlNode& document) {
    const bool routed = sweep_.workload.routed;
    if (sweep_.measured == Role::kRouter && !routed)
      wrong_key(&document, "measured", "a router needs a workload with two networks");
    if (sweep_.hosts.empty()) return check_namespaces(document);
    check_settings(document);
    for (const Role role : kRoles) {
      if (role == Role::kRouter && !routed) continue;
      const auto host = sweep_.hosts.find(role);
      const std::size_t sides = role == Role::kRouter ? 2 : 1;
      if (host == sweep_.hosts.end() || host->second.addresses.size() != sides) {
        wrong_key(&document, "hosts",
                  fmt::format("{}: expected its {}", text_of(role),
                              sides == 1 ? "address" : "two addresses, one for each side"));
      }
    }
  }

  // lnet-pin writes to /proc and /sys of its own host and restores only these.
  void check_settings(const YamlNode& document) {
    const auto host = sweep_.hosts.find(sweep_.measured);
    if (host == sweep_.hosts.end() || host->second.on.empty()) return;
    for (const Factor& factor : sweep_.factors) {
      const FactorRow& row = row_of(factor.kind);
      const bool is_setting = factor.kind == FactorKind::kInterrupts ||
                              factor.kind == FactorKind::kHugepages ||
                              factor.kind == FactorKind::kGovernor;
      if (!is_setting || std::ranges::all_of(factor.levels, [&row](const std::string& level) {
            return level == row.standard;
          }))
        continue;
      wrong_key(document.find("factors"), row.name,
                fmt::format("lnet-pin changes this setting on its own host only, but the {} is on "
                            "{}; run lnet-pin on that host, or change the setting there by hand "
                            "and make one sweep for each level",
                            text_of(sweep_.measured), host->second.on));
    }
  }

  void check_namespaces(const YamlNode& document) {
    if (!sweep_.interfaces.empty()) {
      wrong_key(&document, "interfaces",
                "without the key hosts all traffic passes between namespaces of this host and "
                "uses none of these cards; name the hosts and their addresses, or remove this key");
    }
    for (const std::string& network : sweep_.workload.networks) {
      const node::LabNic* nic = lab_nic_of(network);
      if (nic != nullptr && nic->needs_hardware)
        wrong_key(document.find("workload"), "networks",
                  fmt::format("{} needs hosts with devices for it; name them by the key hosts",
                              nic->network));
    }
  }

  ConfigErrors& errors_;
  Sweep& sweep_;
};

}  // namespace

const node::LabNic* lab_nic_of(std::string_view network) {
  const auto type = network.substr(0, network.find_last_not_of("0123456789") + 1);
  const auto nics = node::family_lab_nics();
  const auto found = std::ranges::find(nics, type, &node::LabNic::network);
  return found == nics.end() ? nullptr : *found;
}

std::string_view text_of(Role role) {
  return word_of(kRoleWords, role);
}
std::string_view text_of(Design design) {
  return word_of(kDesignWords, design);
}

Outcome<Sweep> read_sweep(std::string_view text, std::string_view file_name) {
  if (text.size() > kSweepBytesMax)
    return failure(Errc::kTooBig, fmt::format("'{}' is too big for a sweep", file_name));
  ConfigErrors errors(text, file_name);
  Sweep sweep;
  const auto document = runtime::parse_yaml(text, errors);
  if (document) SweepReader(errors, sweep).read_document(*document);
  if (!errors.empty()) return std::unexpected(errors.to_error());
  return sweep;
}

std::string default_sweep(std::size_t cpus) {
  std::string text =
      "name: first-look\n"
      "measured: server\n"
      "workload: {networks: tcp, test: write, size: 1M, concurrency: 8, warmup: 300ms, duration: "
      "1s}\n"
      "rounds: {least: 8, most: 10}\n"
      "budget: 10m\n"
      "factors:\n"
      "    idle: [yield, sleep]\n";
  text += cpus > 1 ? "    shards: [1, 2]\n" : "    neighbour: [none, busy]\n";
  return text;
}

}  // namespace plnet::pin
