// SPDX-License-Identifier: BSD-3-Clause
// What a configuration says of kfi networks: `options kkfilnd …` for all of them, `lnd tunables`
// for one NI.
#pragma once

#include <span>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/kfilnd/tunables.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::node {

struct KfiOptions {
  kfilnd::Tunables tunables;
  kfilnd::TrafficClass traffic_class = kfilnd::TrafficClass::kBestEffort;
};

// kInvalid: a value that the option cannot have.
[[nodiscard]] Outcome<KfiOptions> kfi_options_of(const lnet::NodeConfig& config);

// With what an NI has of its own; -1 is the default, as everywhere in LNet. What the kernel only
// shows (traffic_class_num, timeout) is taken and changes nothing: exports carry it.
[[nodiscard]] Outcome<KfiOptions> options_of_ni(const KfiOptions& of_all,
                                                std::span<const lnet::LndTunable> own);

// As `net show -v` has them.
[[nodiscard]] std::vector<lnet::LndTunable> lnd_tunables_of(const KfiOptions& options,
                                                            Duration lnet_timeout);
// All options of the module under the kernel's names, in its order.
[[nodiscard]] std::vector<lnet::LndTunable> parameters_of(const KfiOptions& options);

// What all receive buffers of one interface take together. kTooBig: more than is handed out.
[[nodiscard]] Outcome<std::uint32_t> receive_bytes(const KfiOptions& options);

}  // namespace plnet::node
