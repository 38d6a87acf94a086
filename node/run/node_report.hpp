// SPDX-License-Identifier: BSD-3-Clause
// Reports of a running node as documents for lnetctl. They read counters only and stop no shard.
#pragma once

#include <vector>

#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/poll/exchange.hpp"
#include "node/run/node.hpp"
#include "node/watch/lnet_standing.hpp"

namespace plnet::node {

// `lnetctl status`: the verdict and its facts. `standing`: LNet's state.
[[nodiscard]] runtime::Json report_status(const Node& node, LnetStanding standing);

// `lnetctl cpt show`: the plan as it runs. Detail 0: an overview; 1: every counter.
[[nodiscard]] runtime::Json report_cpts(const Node& node, int detail);

// `lnetctl counters show`: every table of the register.
[[nodiscard]] runtime::Json report_counters(const Node& node);

// `lnetctl exchange show`; `rates` go with the rows of `hops`, or are empty.
[[nodiscard]] runtime::Json report_exchange(const Node& node,
                                            const std::vector<runtime::HopSummary>& hops,
                                            const std::vector<double>& rates);

}  // namespace plnet::node
