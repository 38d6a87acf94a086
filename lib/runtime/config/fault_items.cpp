// SPDX-License-Identifier: BSD-3-Clause
// Fault rules: a set of rules without names, so a rule is identified by all its values.
#include <algorithm>

#include <fmt/format.h>

#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

class FaultItems : private Items {
 public:
  using Items::Items;

  void add(const lnet::FaultSpec& spec, const std::string& path) {
    const auto fault = lnet::complete(spec);
    if (!fault) return complain(path, fault.error().what);
    if (std::ranges::find(fresh_, *fault) != fresh_.end()) {
      return complain(path, "duplicate rule: the document already has the same");
    }
    fresh_.push_back(*fault);
    if (std::ranges::find(config_.faults, *fault) != config_.faults.end()) return;
    if (config_.faults.size() == lnet::kFaultRulesMax) {
      return complain(
          path, fmt::format("too many fault rules, expected at most {}", lnet::kFaultRulesMax));
    }
    config_.faults.push_back(*fault);
  }

  void remove(const lnet::FaultSpec& spec, const std::string& path) {
    const auto fault = lnet::complete(spec);
    if (!fault) return complain(path, fault.error().what);
    if (std::erase(config_.faults, *fault) == 0) complain(path, "no such rule");
  }

 private:
  std::vector<lnet::FaultSpec> fresh_;
};

}  // namespace

void add_faults(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  FaultItems join(config, issues);
  for (std::size_t i = 0; i < items.faults.size(); ++i)
    join.add(items.faults[i], fmt::format("fault[{}]", i));
}

void remove_faults(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  FaultItems join(config, issues);
  for (std::size_t i = 0; i < items.faults.size(); ++i)
    join.remove(items.faults[i], fmt::format("fault[{}]", i));
}

}  // namespace plnet::runtime
