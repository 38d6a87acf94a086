// SPDX-License-Identifier: BSD-3-Clause
// Access rules: the steps from one configuration to another, and the verbs of `lnetctl access`.
#include "node/admin/access_changes.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "node/admin/lnet_admin.hpp"
#include "node/host/shard_question.hpp"

namespace plnet::node {
namespace {

using lnet::AccessReport;
using lnet::AccessRule;
using lnet::NodeConfig;
using lnet::Reply;
using Progress = LnetDesk::Progress;

LnetStep::Act set_rules(std::vector<AccessRule> rules) {
  return [rules = std::move(rules)](lnet::Node& node) -> Outcome<Progress> {
    node.coordinator().set_access(rules);
    return Progress::kDone;
  };
}

Outcome<void> check_index(const NodeConfig& config, std::size_t at, std::size_t limit) {
  if (at < limit) return {};
  return failure(Errc::kOutOfRange, fmt::format("idx: there are {} access rules, counted from 0",
                                                config.access.size()));
}

}  // namespace

void plan_access(const NodeConfig& now, const NodeConfig& wanted, std::vector<LnetStep>& steps) {
  if (now.access == wanted.access) return;
  steps.push_back({.act = set_rules(wanted.access), .undo = set_rules(now.access)});
}

void LnetAdmin::add_access(AccessRule rule, std::optional<std::size_t> at, Reply<void> done) {
  enqueue(
      [this, rule = std::move(rule), at](Reply<void> ended) {
        NodeConfig wanted = config_;
        const std::size_t place = at.value_or(wanted.access.size());
        if (auto there = check_index(wanted, place, wanted.access.size() + 1); !there) {
          return ended(std::move(there));
        }
        wanted.access.insert(wanted.access.begin() + static_cast<std::ptrdiff_t>(place), rule);
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::del_access(std::optional<std::size_t> at, Reply<void> done) {
  enqueue(
      [this, at](Reply<void> ended) {
        NodeConfig wanted = config_;
        if (!at) {
          wanted.access.clear();
        } else if (auto there = check_index(wanted, *at, wanted.access.size()); !there) {
          return ended(std::move(there));
        } else {
          wanted.access.erase(wanted.access.begin() + static_cast<std::ptrdiff_t>(*at));
        }
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::access(Reply<std::vector<AccessReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_coordinator(
      *desk_, [](lnet::Coordinator& coordinator) { return coordinator.access(); },
      std::move(reply));
}

}  // namespace plnet::node
