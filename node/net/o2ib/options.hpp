// SPDX-License-Identifier: BSD-3-Clause
// The kernel's options of o2ib networks in a configuration: `options ko2iblnd …` for all of them,
// `lnd tunables` for one NI.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/control/local_networks.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/o2iblnd/tunables.hpp"

namespace plnet::node {

struct O2ibOptions {
  o2iblnd::Tunables tunables;
  std::string interface{o2iblnd::kDefaultInterface};  // ipif_name: of an NI without one

  friend bool operator==(const O2ibOptions& a, const O2ibOptions& b);
};

// kInvalid: the value of an option is out of range.
[[nodiscard]] Outcome<O2ibOptions> o2ib_options_of(const lnet::NodeConfig& config);

[[nodiscard]] bool is_live_o2ib_option(const lnet::ModuleOption& option);

// Sets the option `name` of ko2iblnd, with or without its module ("ko2iblnd.cksum"), in `config`.
// kNotFound: no such option; kBusy: it is read only at the start; kInvalid: the value is out of
// range.
[[nodiscard]] Outcome<void> set_o2ib_option(lnet::NodeConfig& config, std::string_view name,
                                            std::string_view value);

// The tunables of one NI: those of all, overridden by its own. -1 is the default, as everywhere in
// LNet.
[[nodiscard]] o2iblnd::Tunables o2ib_tunables_of_ni(const o2iblnd::Tunables& of_all,
                                                    std::span<const lnet::LndTunable> own);
// The same with the credits of the NI.
[[nodiscard]] o2iblnd::Tunables o2ib_tunables_in_force(const o2iblnd::Tunables& of_all,
                                                       std::span<const lnet::LndTunable> own,
                                                       const lnet::NiTunables& of_ni);

// As `net show -v` prints them, in the kernel's order.
[[nodiscard]] std::vector<lnet::LndTunable> o2ib_lnd_tunables(const o2iblnd::Tunables& tunables,
                                                              Duration lnet_timeout);
// All options of the module under the kernel's names, in its order.
[[nodiscard]] std::vector<lnet::LndTunable> o2ib_parameters(const O2ibOptions& options);

}  // namespace plnet::node
