// SPDX-License-Identifier: BSD-3-Clause
// What changes on TCP networks while they run: tunables.
#pragma once

#include <string>
#include <vector>

#include "apps/assembly/lnet_desk.hpp"
#include "apps/assembly/lnet_host.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::apps {

// NIs of a configuration that socklnd serves.
[[nodiscard]] std::vector<lnet::Nid> tcp_nis(const lnet::NodeConfig& config);

// What of `change` concerns tunables, in `config`. kNotFound: it names no NI; kNotSupported: one
// that socklnd does not serve.
[[nodiscard]] Outcome<void> tune(lnet::NodeConfig& config, const lnet::NiChange& change);

// Has all shards go by what `config` and the host's options say, as far as it changes live.
// `after` when they do; it cannot fail but for want of room for orders.
void retune(LnetDesk& desk, LnetHost& host, const lnet::NodeConfig& config,
            lnet::Reply<void> after);

}  // namespace plnet::apps
