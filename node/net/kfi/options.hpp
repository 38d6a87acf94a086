// SPDX-License-Identifier: BSD-3-Clause
// Options of kfi networks in a configuration: `options kkfilnd …` for all of them, `lnd tunables`
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

// kInvalid: the value of an option is out of range.
[[nodiscard]] Outcome<KfiOptions> kfi_options_of(const lnet::NodeConfig& config);

// The options of one NI: those of all, overridden by its own; -1 is the default, as everywhere in
// LNet. Values that the kernel only shows (traffic_class_num, timeout) are accepted and ignored,
// since exports carry them.
[[nodiscard]] Outcome<KfiOptions> options_of_ni(const KfiOptions& of_all,
                                                std::span<const lnet::LndTunable> own);

// As `net show -v` prints them.
[[nodiscard]] std::vector<lnet::LndTunable> lnd_tunables_of(const KfiOptions& options,
                                                            Duration lnet_timeout);
// All options of the module under the kernel's names, in its order.
[[nodiscard]] std::vector<lnet::LndTunable> parameters_of(const KfiOptions& options);

// The bytes of all receive buffers of one interface. kTooBig: more than an arena's limit.
[[nodiscard]] Outcome<std::uint32_t> receive_bytes(const KfiOptions& options);

}  // namespace plnet::node
