// SPDX-License-Identifier: BSD-3-Clause
// The options of the module lnet that say how gateways are looked after: given at the start, some
// of them changed while the node runs.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "node/admin/lnet_changes.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

// Puts what `config` says into `parameters`, which have their defaults. kInvalid: a value that the
// option cannot have; nothing is known of the others then.
[[nodiscard]] Outcome<void> take_router_options(const lnet::NodeConfig& config,
                                                lnet::Parameters& parameters);

[[nodiscard]] bool is_live_router_option(const lnet::ModuleOption& option);
// Whether these have the same options of modules, but for those that change live.
[[nodiscard]] bool differ_live_only(const lnet::NodeConfig& a, const lnet::NodeConfig& b,
                                    Families families);
// `name` is one of them, perhaps with the module before it ("lnet.router_ping_timeout"): sets it in
// `config`. kNotFound: it is none; kBusy: it is read only when the node starts; kInvalid: a value
// that it cannot have.
[[nodiscard]] Outcome<void> set_router_option(lnet::NodeConfig& config, std::string_view name,
                                              std::string_view value);
// From what there is to what is wanted, of those that change live.
[[nodiscard]] Outcome<void> add_router_option_steps(const lnet::NodeConfig& now,
                                                    const lnet::NodeConfig& wanted,
                                                    std::vector<LnetStep>& steps);

}  // namespace plnet::node
