// SPDX-License-Identifier: BSD-3-Clause
// Makes the LNDs of o2ib NIs: a seat, a listener, and o2iblnd on each shard that serves them.
#pragma once

#include <memory>

#include "lib/o2iblnd/environment.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class O2ibHost;

// The limits and tunables of one NI on one shard, without its identity.
[[nodiscard]] o2iblnd::O2ibLndConfig o2ib_limits(const LndSetup& setup,
                                                 const o2iblnd::Tunables& tunables,
                                                 std::size_t connections_max, unsigned shards);
// The number of connections whose buffers fit into these bytes.
[[nodiscard]] std::size_t o2ib_connections_in(std::uint64_t bytes, o2iblnd::O2ibLndConfig config);

// The host outlives the maker.
[[nodiscard]] std::unique_ptr<NetworkMaker> make_o2ib_maker(const LndSetup& setup, O2ibHost& host);

}  // namespace plnet::node
