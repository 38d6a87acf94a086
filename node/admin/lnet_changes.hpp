// SPDX-License-Identifier: BSD-3-Clause
// A change of LNet's configuration as steps on shard 0, each of which can be undone. Either all
// steps are carried out, or all are undone.
#pragma once

#include <functional>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

class LnetHost;

struct LnetStep {
  using Act = std::function<Outcome<LnetDesk::Progress>(lnet::Node& node)>;
  Act act;
  Act undo;
  bool in_parts = false;  // it may wait (kAgain) when partly done; its undo covers that
};

// The steps from `now` to `wanted`. Fails if an NI of `wanted` cannot be resolved.
[[nodiscard]] Outcome<std::vector<LnetStep>> steps_between(const lnet::NodeConfig& now,
                                                           const lnet::NodeConfig& wanted,
                                                           LnetHost& host);

// Carries the steps out, a few at a time. When one fails, or waits for longer than `bound`, undoes
// the steps before it and then returns the error.
[[nodiscard]] LnetDesk::Attempt carry_out(std::vector<LnetStep> steps, const Clock& clock,
                                          Duration bound);

void set_parameters(lnet::Node& node, const lnet::ParameterValues& values);

}  // namespace plnet::node
