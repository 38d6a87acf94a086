// SPDX-License-Identifier: BSD-3-Clause
// Adding the items of a document to a configuration, and removing them; a file for each kind.
// Errors go to `issues`.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/settings_check.hpp"

namespace plnet::runtime {

using SettingsIssues = std::vector<SettingsIssue>;

// `net` and `ip2nets`.
void add_nets(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);
void remove_nets(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);

void add_routes(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);
void remove_routes(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);

void add_peers(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);
void remove_peers(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);

void add_udsps(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);
void remove_udsps(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);

void add_faults(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);
void remove_faults(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues);

// The parts that all kinds share.

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
