// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/plan_reader.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/runtime/config/mapping_keys.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::run {
namespace {

using runtime::ConfigErrors;
using runtime::NodeKind;
using YamlNode = runtime::Node;
using Words = std::vector<std::string>;

class PlanReader {
 public:
  PlanReader(ConfigErrors& errors, Plan& plan) : errors_(errors), plan_(plan) {}

  void read_document(const YamlNode& document) {
    const std::vector<Key> keys{
        {"name", [this](const YamlNode& node) { text(node, plan_.name); }},
        {"groups", [this](const YamlNode& node) { groups(node); }},
        // Processed after the groups, which they may name, wherever these are in the file.
        {"from", [this](const YamlNode& node) { from_ = &node; }},
        {"to", [this](const YamlNode& node) { to_ = &node; }},
        list("tests", plan_.tests, read_operation),
        list("sizes", plan_.sizes, read_size),
        list("concurrency", plan_.concurrencies, read_concurrency),
        list("rates", plan_.rates, read_rate),
        one("arrivals", plan_.arrivals, read_arrivals),
        {"highest_rate", [this](const YamlNode& node) { highest_rate(node); }},
        {"routers", [this](const YamlNode& node) { plan_.routers = sockets_of(node); }},
        {"control", [this](const YamlNode& node) { control(node); }},
        one("check", plan_.check, read_check),
        {"allow_discard", [this](const YamlNode& node) { truth(node, plan_.allow_discard); }},
        one("distribute", plan_.distribution, lst::read_distribution),
        one("warmup", plan_.warm_up, read_duration),
        one("duration", plan_.duration, read_duration),
        one("repeats", plan_.repeats, read_repeats),
        {"baseline", [this](const YamlNode& node) { truth(node, plan_.baseline); }},
        {"thresholds", [this](const YamlNode& node) { limits(node); }},
    };
    runtime::read_mapping(document, keys, errors_);
    if (from_ != nullptr) plan_.from_words = nodes_of(*from_);
    if (to_ != nullptr) plan_.to_words = nodes_of(*to_);
  }

 private:
  using Key = runtime::MappingKey;

  void text(const YamlNode& node, std::string& out) {
    if (node.kind != NodeKind::kScalar)
      return errors_.add(node.at, fmt::format("{}: expected a text", node.key));
    out = node.text;
  }
  void truth(const YamlNode& node, bool& out) {
    if (node.text != "true" && node.text != "false")
      return errors_.add(node.at, fmt::format("{}: expected true or false", node.key));
    out = node.text == "true";
  }

  template <class T>
  Key one(std::string_view name, T& out, Outcome<T> (*read)(std::string_view)) {
    return {name, [this, name, &out, read](const YamlNode& node) { value(node, name, out, read); }};
  }
  template <class T>
  Key limit(std::string_view name, std::optional<T>& out, Outcome<T> (*read)(std::string_view)) {
    return {name, [this, name, &out, read](const YamlNode& node) {
              T amount{};
              if (value(node, name, amount, read)) out = amount;
            }};
  }
  template <class T>
  bool value(const YamlNode& node, std::string_view name, T& out,
             Outcome<T> (*read)(std::string_view)) {
    if (node.kind != NodeKind::kScalar) {
      errors_.add(node.at, fmt::format("{}: expected one value", name));
      return false;
    }
    auto is = read(node.text);
    if (!is) {
      errors_.add(node.at, fmt::format("{}: {}", name, is.error().what));
      return false;
    }
    out = std::move(*is);
    return true;
  }
  // A single value, or a list.
  template <class T>
  Key list(std::string_view name, std::vector<T>& out, Outcome<T> (*read)(std::string_view)) {
    return {name, [this, name, &out, read](const YamlNode& node) {
              const std::span<const YamlNode> items = items_of(node);
              if (items.empty() || items.size() > kListMax) {
                return errors_.add(
                    node.at, fmt::format("{}: expected a list of 1 to {} values", name, kListMax));
              }
              out.clear();
              for (const YamlNode& item : items) {
                T is{};
                if (value(item, name, is, read)) out.push_back(is);
              }
            }};
  }
  static std::span<const YamlNode> items_of(const YamlNode& node) {
    if (node.kind == NodeKind::kSequence) return node.items;
    if (node.kind == NodeKind::kScalar) return {&node, 1};
    return {};
  }

  void groups(const YamlNode& node) {
    if (node.kind != NodeKind::kMapping)
      return errors_.add(node.at, "groups: expected `name: [NIDS, ...]` lines");
    for (const YamlNode& group : node.items)
      groups_[group.key] = words_of(group);
  }
  Words words_of(const YamlNode& node) {
    Words words;
    const auto items = items_of(node);
    if (items.empty())
      errors_.add(node.at, fmt::format("{}: expected NIDs or ranges of them", node.key));
    for (const YamlNode& item : items) {
      if (item.kind != NodeKind::kScalar) {
        errors_.add(item.at, fmt::format("{}: expected a NID or a range of them", node.key));
        continue;
      }
      words.push_back(item.text);
    }
    return words;
  }
  // Names of groups are replaced by their contents.
  Words nodes_of(const YamlNode& node) {
    Words nodes;
    for (const std::string& word : words_of(node)) {
      const auto group = groups_.find(word);
      if (group == groups_.end()) {
        // hostfile:FILE, slurm:JOB
        if (word.find_first_of("@:") == std::string::npos)
          errors_.add(node.at, fmt::format("{}: '{}' is neither a NID nor one of `groups`",
                                           node.key, runtime::shown(word)));
        nodes.push_back(word);
        continue;
      }
      nodes.insert(nodes.end(), group->second.begin(), group->second.end());
    }
    return nodes;
  }
  void limits(const YamlNode& node) {
    const std::vector<Key> keys{
        limit("throughput_min_mibps", plan_.limits.throughput_min_mibps, read_amount),
        limit("rate_min_rps", plan_.limits.rate_min_rps, read_amount),
        limit("p99_max_us", plan_.limits.p99_max_us, read_amount),
        limit("errors_max", plan_.limits.errors_max, read_count),
    };
    runtime::read_mapping(node, keys, errors_);
  }

  void highest_rate(const YamlNode& node) {
    RateGoal goal;
    const std::vector<Key> keys{one("latency", goal.percentile, read_percentile),
                                one("limit_us", goal.limit_us, read_amount)};
    runtime::read_mapping(node, keys, errors_);
    if (goal.limit_us <= 0) errors_.add(node.at, "highest_rate: expected a limit_us above 0");
    plan_.highest_rate = goal;
  }
  Words sockets_of(const YamlNode& node) {
    Words sockets;
    for (const YamlNode& item : items_of(node)) {
      std::string socket;
      text(item, socket);
      sockets.push_back(std::move(socket));
    }
    return sockets;
  }
  void control(const YamlNode& node) {
    if (node.kind != NodeKind::kMapping)
      return errors_.add(node.at, "control: expected `NID: SOCKET` lines");
    for (const YamlNode& socket : node.items)
      text(socket, plan_.control[socket.key]);
  }

  ConfigErrors& errors_;
  Plan& plan_;
  std::map<std::string, Words, std::less<>> groups_;
  const YamlNode* from_ = nullptr;
  const YamlNode* to_ = nullptr;
};

}  // namespace

std::expected<void, ConfigErrors> read_plan(std::string_view text, std::string_view file_name,
                                            Plan& plan) {
  ConfigErrors errors(text, file_name);
  const auto document = runtime::parse_yaml(text, errors);
  if (document) PlanReader(errors, plan).read_document(*document);
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return {};
}

}  // namespace plnet::run
