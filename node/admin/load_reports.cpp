// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/load_reports.hpp"

#include <utility>

#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {
void report_load(LnetDesk& desk, const LnetHost& host, lnet::Reply<lnet::LoadSnapshot> reply) {
  gather_from_shards(
      desk, lnet::LoadSnapshot{},
      [&clock = host.clock()](lnet::Node& node, unsigned shard, lnet::LoadSnapshot& snapshot) {
        node.shard(shard).core().load.copy_owner(snapshot, clock.now());
      },
      std::move(reply));
}

}  // namespace plnet::node
