// SPDX-License-Identifier: BSD-3-Clause
// Options of the module lnet about checks of gateways. All are read at the start; some can change
// while the node runs.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "node/admin/lnet_changes.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

// Copies the options of `config` into `parameters`, which have their defaults. kInvalid: a value is
// out of range; later options are not read then.
[[nodiscard]] Outcome<void> take_router_options(const lnet::NodeConfig& config,
                                                lnet::Parameters& parameters);

[[nodiscard]] bool is_live_router_option(const lnet::ModuleOption& option);
// Whether the module options are the same except for live ones.
[[nodiscard]] bool differ_live_only(const lnet::NodeConfig& a, const lnet::NodeConfig& b,
                                    Families families);
// Sets the option `name` of `config`, with or without its module ("lnet.router_ping_timeout").
// kNotFound: no such option; kBusy: it is read only at the start; kInvalid: the value is out of
// range.
[[nodiscard]] Outcome<void> set_router_option(lnet::NodeConfig& config, std::string_view name,
                                              std::string_view value);
// The steps from `now` to `wanted` for options that change live.
[[nodiscard]] Outcome<void> add_router_option_steps(const lnet::NodeConfig& now,
                                                    const lnet::NodeConfig& wanted,
                                                    std::vector<LnetStep>& steps);

}  // namespace plnet::node
