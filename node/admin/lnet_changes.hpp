// SPDX-License-Identifier: BSD-3-Clause
// A change of LNet's configuration as steps on shard 0, each of which can be taken back: all of
// them are carried out or, in the end, none.
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
  bool in_parts = false;  // it may have to wait with some of it done, which its undo takes back
};

// From what there is to what is wanted. Fails if an NI of it cannot be had.
[[nodiscard]] Outcome<std::vector<LnetStep>> steps_between(const lnet::NodeConfig& now,
                                                           const lnet::NodeConfig& wanted,
                                                           LnetHost& host);

// Carries them out, a few at a time; when one fails, or has to wait for longer than `bound`, takes
// back those before it, then says why.
[[nodiscard]] LnetDesk::Attempt carry_out(std::vector<LnetStep> steps, const Clock& clock,
                                          Duration bound);

void set_parameters(lnet::Node& node, const lnet::ParameterValues& values);

}  // namespace plnet::node
