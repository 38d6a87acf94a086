// SPDX-License-Identifier: BSD-3-Clause
// What a configuration says of TCP networks: `options lnet accept…` and `options ksocklnd …` for
// all of them, `lnd tunables` for one NI.
#pragma once

#include <span>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::apps {

struct TcpOptions {
  socklnd::AcceptPolicy accept = socklnd::AcceptPolicy::kSecure;
  socklnd::Tunables tunables;

  friend bool operator==(const TcpOptions& a, const TcpOptions& b);
};

// kInvalid: a value that the option cannot have.
[[nodiscard]] Outcome<TcpOptions> tcp_options_of(const lnet::NodeConfig& config);

// With what an NI has of its own. -1 is the default, as everywhere in LNet.
[[nodiscard]] socklnd::Tunables tunables_of_ni(const socklnd::Tunables& of_all,
                                               std::span<const lnet::LndTunable> own);

}  // namespace plnet::apps
