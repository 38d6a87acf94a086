// SPDX-License-Identifier: BSD-3-Clause
// A plan for people and for tools: a document for lnetctl, a piece of configuration to paste, and a
// drawing of the machine.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lib/runtime/cpt/cpt_plan.hpp"

namespace plnet::runtime {

// The document of `lnetctl cpt plan` and `cpt show`:
//   by, reason, machine {name, cpus, cores, packages, numa nodes, distances: measured|assumed,
//   adapters [{name, kind: network|rdma, numa node, near cpt}]},
//   cpts [{cpt, memory node, shards [{shard, cpu, core, smt, package, l3, numa node, and what
//   applies of: shares cpu, shares core, remote memory, outside mask}], spare cpus, nic queues {IF:
//   "0-3"}, distance to cpts "0:10 1:21", distance to nodes}], reserved cpus, admin cpus, warnings
//   [{kind, text}]
[[nodiscard]] nlohmann::ordered_json plan_to_json(const CptPlan& plan, const Topology& topology);

// {"plnet": {"cpts": {...}}}, with the keys of the configuration file; for request_of(plan) this is
// what to paste.
[[nodiscard]] nlohmann::ordered_json request_to_json(const CptPlanRequest& request);

// The machine as lines of at most 100 columns, except where a single core is wider: packages,
// nodes, caches, cores in brackets, hardware threads in them with their shards; a legend at the
// end.
[[nodiscard]] std::string draw_plan(const CptPlan& plan, const Topology& topology);

// The drawing, the reason, the warnings: for a terminal.
[[nodiscard]] std::string plan_text(const CptPlan& plan, const Topology& topology);

}  // namespace plnet::runtime
