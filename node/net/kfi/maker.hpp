// SPDX-License-Identifier: BSD-3-Clause
// Makes the LNDs of kfi NIs: a lease of the NIC, and kfilnd on each shard that serves the NI.
#pragma once

#include <memory>

#include "lib/kfilnd/lnd.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class KfiHost;

// Limits of the LND on a shard; the NI determines the rest of its configuration.
[[nodiscard]] kfilnd::KfiLndConfig kfi_limits_of(const LndSetup& setup);

// `kfi` outlives the maker.
[[nodiscard]] std::unique_ptr<NetworkMaker> make_kfi_maker(const LndSetup& setup, KfiHost& kfi);

}  // namespace plnet::node
