// SPDX-License-Identifier: BSD-3-Clause
// Makes the LNDs of kfi NIs: a lease of their NIC, and kfilnd on each shard that serves them.
#pragma once

#include <memory>

#include "lib/kfilnd/lnd.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class KfiHost;

// Limits of the LND on a shard; the rest of its configuration is the NI's.
[[nodiscard]] kfilnd::KfiLndConfig kfi_limits_of(const LndSetup& setup);

// The host outlives it.
[[nodiscard]] std::unique_ptr<NetworkMaker> make_kfi_maker(const LndSetup& setup, KfiHost& kfi);

}  // namespace plnet::node
