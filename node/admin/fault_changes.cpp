// SPDX-License-Identifier: BSD-3-Clause
// Fault rules: the steps from one configuration to another, and the verbs of `lnetctl fault`.
#include "node/admin/fault_changes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "node/admin/lnet_admin.hpp"
#include "node/host/shard_question.hpp"

namespace plnet::node {
namespace {

using lnet::FaultKind;
using lnet::FaultSpec;
using lnet::Nid;
using lnet::NodeConfig;
using lnet::Reply;
using Progress = LnetDesk::Progress;

LnetStep add_fault_step(const FaultSpec& fault) {
  return {.act = [fault](lnet::Node& node) -> Outcome<Progress> {
            if (auto added = node.coordinator().add_fault(fault); !added) {
              return std::unexpected(added.error());
            }
            return Progress::kDone;
          },
          .undo = [fault](lnet::Node& node) -> Outcome<Progress> {
            (void)node.coordinator().remove_fault(fault);
            return Progress::kDone;
          }};
}

LnetStep remove_fault_step(const FaultSpec& fault) {
  LnetStep step = add_fault_step(fault);
  std::swap(step.act, step.undo);
  return step;
}

bool has_fault(const NodeConfig& config, const FaultSpec& fault) {
  return std::ranges::find(config.faults, fault) != config.faults.end();
}

}  // namespace

void plan_faults(const NodeConfig& now, const NodeConfig& wanted, std::vector<LnetStep>& steps) {
  for (const FaultSpec& fault : now.faults) {
    if (!has_fault(wanted, fault)) steps.push_back(remove_fault_step(fault));
  }
  for (const FaultSpec& fault : wanted.faults) {
    if (!has_fault(now, fault)) steps.push_back(add_fault_step(fault));
  }
}

void LnetAdmin::add_fault(FaultSpec fault, Reply<void> done) {
  enqueue(
      [this, fault](Reply<void> ended) {
        NodeConfig wanted = config_;
        wanted.faults.push_back(fault);
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::del_faults(FaultKind kind, Nid source, Nid destination, Reply<std::size_t> done) {
  const auto removed = std::make_shared<std::size_t>(0);
  enqueue(
      [this, kind, source, destination, removed](Reply<void> ended) {
        if (auto up = check_up(); !up) return ended(std::move(up));
        NodeConfig wanted = config_;
        *removed = std::erase_if(wanted.faults, [&](const FaultSpec& fault) {
          return is_named(fault, kind, source, destination);
        });
        change_to(std::move(wanted), std::move(ended));
      },
      [removed, done = std::move(done)](Outcome<void>&& out) mutable {
        if (!out) return done(std::unexpected(out.error()));
        done(std::size_t{*removed});
      });
}

void LnetAdmin::reset_faults(FaultKind kind, Reply<void> done) {
  if (auto up = check_up(); !up) return done(std::move(up));
  desk_->attempt(
      0,
      [kind](lnet::Node& node) -> Outcome<Progress> {
        node.coordinator().reset_faults(kind);
        return Progress::kDone;
      },
      kChangeMax, std::move(done));
}

void LnetAdmin::faults(FaultKind kind, Reply<std::vector<lnet::FaultReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_coordinator(
      *desk_, [kind](lnet::Coordinator& coordinator) { return coordinator.faults(kind); },
      std::move(reply));
}

}  // namespace plnet::node
