// SPDX-License-Identifier: BSD-3-Clause
// Items of a document joined to, or taken from, what a node has already: one kind at a time, each
// in its file. What is wrong with them goes to `issues`.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/settings_check.hpp"

namespace plnet::runtime {

using SettingsIssues = std::vector<SettingsIssue>;

// `net` and `ip2nets`.
void add_nets(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
void remove_nets(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);

void add_routes(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
void remove_routes(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);

void add_peers(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
void remove_peers(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);

void add_udsps(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
void remove_udsps(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);

void add_faults(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
void remove_faults(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
void set_access(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues);
// At this index of the node's policies.
[[nodiscard]] UdspItem item_of(const lnet::Udsp& udsp, std::size_t index);
// Errors are those of the ranges and of lnet::complete_udsp().
[[nodiscard]] Outcome<lnet::Udsp> udsp_of(const UdspItem& item);
[[nodiscard]] AccessItem item_of(const lnet::AccessRule& rule);
[[nodiscard]] Outcome<lnet::AccessRule> access_rule_of(const AccessItem& item);

// As a document has it.
[[nodiscard]] FaultItem item_of(const lnet::FaultSpec& fault);
// kMissing: source or destination; else as lnet::complete().
[[nodiscard]] Outcome<lnet::FaultSpec> fault_of(const FaultItem& item);

// What the items of every kind are made of.

// What a field says that was checked when it was read; issues found there are reported already.
template <class Parsed>
std::optional<Parsed> sound(Outcome<Parsed> parsed) {
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

struct NidOrder {
  bool operator()(const lnet::Nid& a, const lnet::Nid& b) const {
    return std::memcmp(&a, &b, sizeof a) < 0;
  }
};

class Items {
 public:
  Items(lnet::NodeConfig& config, SettingsIssues& issues) : config_(config), issues_(issues) {}

 protected:
  void complain(const std::string& path, std::string what) {
    issues_.push_back({path, path, std::move(what)});
  }

  lnet::NodeConfig& config_;

 private:
  SettingsIssues& issues_;
};

}  // namespace plnet::runtime
