// SPDX-License-Identifier: BSD-3-Clause
// Fault rules: a set of which no rule has a name, so the whole rule tells which one is meant.
#include <algorithm>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_items.hpp"
#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {
namespace {

std::uint32_t given(std::int64_t number) {
  return number < 0 ? 0 : static_cast<std::uint32_t>(number);
}

std::int64_t or_absent(std::uint32_t number) {
  return number == 0 ? kNotGiven : static_cast<std::int64_t>(number);
}

class FaultItems : private Items {
 public:
  using Items::Items;

  void add(const FaultItem& item, const std::string& path) {
    const auto fault = meant(item, path);
    if (!fault) return;
    if (std::ranges::find(fresh_, *fault) != fresh_.end()) {
      return complain(path, "duplicate rule: the same stands in the document already");
    }
    fresh_.push_back(*fault);
    if (std::ranges::find(config_.faults, *fault) != config_.faults.end()) return;
    if (config_.faults.size() == lnet::kFaultRulesMax) {
      return complain(
          path, fmt::format("too many fault rules, expected at most {}", lnet::kFaultRulesMax));
    }
    config_.faults.push_back(*fault);
  }

  void remove(const FaultItem& item, const std::string& path) {
    const auto fault = meant(item, path);
    if (fault && std::erase(config_.faults, *fault) == 0) complain(path, "no such rule");
  }

 private:
  std::optional<lnet::FaultSpec> meant(const FaultItem& item, const std::string& path) {
    auto fault = fault_of(item);
    if (fault) return *fault;
    complain(path, std::move(fault.error().what));
    return std::nullopt;
  }

  std::vector<lnet::FaultSpec> fresh_;
};

}  // namespace

FaultItem item_of(const lnet::FaultSpec& fault) {
  return {.rule_type = std::string(name_of(fault.kind)),
          .source = lnet::text_of_fault_nid(fault.source),
          .destination = lnet::text_of_fault_nid(fault.destination),
          .rate = or_absent(fault.rate),
          .interval = or_absent(fault.interval_s),
          .latency = or_absent(fault.latency_s),
          .portals = lnet::text_of_fault_portals(fault.portals),
          .types = lnet::text_of_fault_types(fault.types),
          .health_errors = lnet::text_of_fault_health(fault.health_errors),
          .local_nid = fault.local.is_any() ? std::string{} : lnet::text_of_fault_nid(fault.local),
          .random = fault.random,
          .all = fault.all};
}

Outcome<lnet::FaultSpec> fault_of(const FaultItem& item) {
  if (item.source.empty() || item.destination.empty()) {
    return failure(Errc::kMissing, "a rule needs both source and dest");
  }
  const auto source = lnet::parse_nid_or_any(item.source);
  const auto destination = lnet::parse_nid_or_any(item.destination);
  const auto local = lnet::parse_nid_or_any(item.local_nid.empty() ? "*" : item.local_nid);
  for (const auto* const nid : {&source, &destination, &local}) {
    if (!*nid) return std::unexpected(nid->error());
  }
  const auto portals = lnet::parse_fault_portals(item.portals);
  if (!portals) return std::unexpected(portals.error());
  const auto types = lnet::parse_fault_types(item.types);
  if (!types) return std::unexpected(types.error());
  const auto health_errors = lnet::parse_fault_health(item.health_errors);
  if (!health_errors) return std::unexpected(health_errors.error());
  return lnet::complete(
      {.kind = item.rule_type == "delay" ? lnet::FaultKind::kDelay : lnet::FaultKind::kDrop,
       .source = *source,
       .destination = *destination,
       .local = *local,
       .portals = *portals,
       .types = *types,
       .rate = given(item.rate),
       .interval_s = given(item.interval),
       .health_errors = *health_errors,
       .random = item.random,
       .all = item.all,
       .latency_s = given(item.latency)});
}

void add_faults(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  FaultItems items(config, issues);
  for (std::size_t i = 0; i < document.faults.size(); ++i)
    items.add(document.faults[i], fmt::format("fault[{}]", i));
}

void remove_faults(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  FaultItems items(config, issues);
  for (std::size_t i = 0; i < document.faults.size(); ++i)
    items.remove(document.faults[i], fmt::format("fault[{}]", i));
}

}  // namespace plnet::runtime
