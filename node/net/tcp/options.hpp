// SPDX-License-Identifier: BSD-3-Clause
// Options of TCP networks in a configuration: `options lnet accept…` and `options ksocklnd …` for
// all of them, `lnd tunables` for one NI.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::node {

struct TcpOptions {
  socklnd::AcceptPolicy accept = socklnd::AcceptPolicy::kSecure;
  socklnd::Tunables tunables;

  friend bool operator==(const TcpOptions& a, const TcpOptions& b);
};

// kInvalid: the value of an option is out of range.
[[nodiscard]] Outcome<TcpOptions> tcp_options_of(const lnet::NodeConfig& config);

[[nodiscard]] bool is_live_tcp_option(const lnet::ModuleOption& option);

// Sets the option `name` of ksocklnd, with or without its module ("ksocklnd.nagle"), in `config`.
// kNotFound: no such option; kBusy: it is read only at the start; kInvalid: the value is out of
// range.
[[nodiscard]] Outcome<void> set_tcp_option(lnet::NodeConfig& config, std::string_view name,
                                           std::string_view value);

// All options under the kernel's names, in its order.
[[nodiscard]] std::vector<lnet::LndTunable> parameters_of(const socklnd::Tunables& tunables);

// The tunables of one NI: those of all, overridden by its own. -1 is the default, as everywhere in
// LNet.
[[nodiscard]] socklnd::Tunables tunables_of_ni(const socklnd::Tunables& of_all,
                                               std::span<const lnet::LndTunable> own);

}  // namespace plnet::node
