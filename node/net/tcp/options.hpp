// SPDX-License-Identifier: BSD-3-Clause
// What a configuration says of TCP networks: `options lnet accept…` and `options ksocklnd …` for
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

// kInvalid: a value that the option cannot have.
[[nodiscard]] Outcome<TcpOptions> tcp_options_of(const lnet::NodeConfig& config);

[[nodiscard]] bool is_live_tcp_option(const lnet::ModuleOption& option);

// `name` is an option of ksocklnd, perhaps with the module before it ("ksocklnd.nagle"): sets it in
// `config`. kNotFound: it is none; kBusy: it is read only when the node starts; kInvalid: a value
// that it cannot have.
[[nodiscard]] Outcome<void> set_tcp_option(lnet::NodeConfig& config, std::string_view name,
                                           std::string_view value);

// All of them under the kernel's names, in its order.
[[nodiscard]] std::vector<lnet::LndTunable> parameters_of(const socklnd::Tunables& tunables);

// With what an NI has of its own. -1 is the default, as everywhere in LNet.
[[nodiscard]] socklnd::Tunables tunables_of_ni(const socklnd::Tunables& of_all,
                                               std::span<const lnet::LndTunable> own);

}  // namespace plnet::node
