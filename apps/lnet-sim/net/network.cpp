// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/network.hpp"

#include "apps/lnet-sim/net/kfi/kfi_net.hpp"
#include "apps/lnet-sim/net/o2ib/o2ib_net.hpp"
#include "apps/lnet-sim/net/tcp/tcp_net.hpp"

namespace plnet::sim {

std::unique_ptr<Network> make_network(NetKind kind, const Wires& wires) {
  if (kind == NetKind::kKfi) return std::make_unique<KfiFabric>(wires.network);
  return std::make_unique<Network>();
}

std::uint64_t memory_bytes(const NetInterface& of, const NetLimits& limits) {
  switch (of.plan->kind) {
    case NetKind::kTcp: return 0;
    case NetKind::kO2ib: return O2ibNet::bytes_of_shard(of, limits) * limits.shards;
    case NetKind::kKfi: break;
  }
  return KfiNic::receive_bytes(of.plan->kfi);
}

std::unique_ptr<NodeNet> make_node_net(NetKind kind, const NodeNetSetup& setup) {
  switch (kind) {
    case NetKind::kTcp: return std::make_unique<TcpNet>(setup);
    case NetKind::kO2ib: return std::make_unique<O2ibNet>(setup);
    case NetKind::kKfi: break;
  }
  return std::make_unique<KfiNet>(setup);
}

std::string what_is_wrong(const NetCounts& counts) {
  if (counts.contains("lnd_kfi.unexpected_events"))
    return "an event of a kfi NIC that the state does not know";
  if (counts.contains("lnd_o2ib.unexpected_events"))
    return "an event of a queue pair that the state does not know";
  if (counts.contains("lnd_o2ib.idle_with_credit"))
    return "an o2ib message that waited although nothing was missing";
  return "";
}

}  // namespace plnet::sim
