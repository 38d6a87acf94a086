// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/maker.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/net/o2ib/host.hpp"

namespace plnet::node {
namespace {

// Fewer are unusable.
constexpr std::size_t kConnectionsMin = 16;
// Minimum of a shard's messages, whatever its part of those of the NI. o2iblnd.h: IBLND_TX_POOL.
constexpr std::int64_t kTxMin = 256;

// Microseconds since 1970, as in the kernel.
std::uint64_t incarnation_of(std::uint64_t nanoseconds) {
  return std::max<std::uint64_t>(nanoseconds / 1000, 1);
}

class O2ibMaker final : public NetworkMaker {
 public:
  O2ibMaker(const LndSetup& setup, O2ibHost& host) : setup_(setup), host_(host) {}

  Outcome<void> open(const lnet::NiSetup& ni) override {
    O2ibAdapter* const adapter = host_.adapter(ni.nid.address32());
    if (adapter == nullptr) {
      return failure(Errc::kNotFound,
                     fmt::format("NI {}: its RDMA device is not open", lnet::text_of(ni.nid)));
    }
    const o2iblnd::Tunables tunables =
        o2ib_tunables_in_force(host_.options().tunables, ni.lnd_tunables, ni.tunables);
    const auto config = o2ib_limits(setup_, tunables, host_.settings().connections, host_.shards());
    const std::size_t connections = o2ib_connections_in(host_.seats().room().bytes_each, config);
    if (connections < kConnectionsMin) {
      return failure(Errc::kNoSpace,
                     fmt::format("NI {}: peer_credits {} and ntx {} leave room for {} connections, "
                                 "expected {} or more: increase `plnet: o2ib: connections`",
                                 lnet::text_of(ni.nid), ni.tunables.peer_credits, tunables.ntx,
                                 connections, kConnectionsMin));
    }
    const lnet::ShardSet shards = host_.shards_of(ni.cpts);
    if (auto made = host_.seats().prepare(ni.nid, shards, *adapter, connections); !made)
      return made;
    const O2ibDoorNi door{
        .nid = ni.nid, .incarnation = incarnation_of(ni.incarnation), .tunables = tunables};
    auto opened = host_.doors().open(*adapter, door);
    if (!opened) host_.seats().unprepare(ni.nid);
    return opened;
  }
  void not_added(const lnet::NiSetup& ni) override {
    host_.doors().close_newest(ni.nid);
    host_.seats().unprepare(ni.nid);
  }
  void close(const lnet::NiSetup& ni) override {
    host_.doors().close(ni.nid);
    host_.seats().set_leaving(ni.nid);
  }

  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard) override {
    const lnet::Ni& ni = port.ni();
    O2ibGround ground{host_.seats().take(ni.nid, shard),
                      std::make_unique<O2ibGate>(setup_.node->shared(), shard, ni)};
    const o2iblnd::Tunables tunables =
        o2ib_tunables_in_force(host_.options().tunables, ni.lnd_tunables, ni.tunables);
    o2iblnd::O2ibLndConfig config =
        o2ib_limits(setup_, tunables, ground.share.connections_max, host_.shards());
    config.nid = ni.nid;
    config.incarnation = incarnation_of(ni.incarnation);
    config.message_memory = ground.share.memory;
    config.lanes = host_.place(shard).lanes();
    config.gate = ground.gate.get();
    config.complaints = &host_.place(shard).complaints();
    config.start = setup_.clock->now();
    return std::make_unique<O2ibNi>(host_.place(shard), std::move(ground), config, port);
  }

 private:
  const LndSetup setup_;
  O2ibHost& host_;
};

}  // namespace

o2iblnd::O2ibLndConfig o2ib_limits(const LndSetup& setup, const o2iblnd::Tunables& tunables,
                                   std::size_t connections_max, unsigned shards) {
  o2iblnd::O2ibLndConfig config;
  config.arenas = setup.arenas;
  config.tunables = tunables;
  config.tunables.ntx = std::max(tunables.ntx / std::max(shards, 1U), kTxMin);
  config.lnet_lnd_timeout = setup.lnet_lnd_timeout;
  config.peers_max = setup.peers;
  config.connections_max = connections_max;
  config.receives_max = setup.messages;
  config.listens = false;
  return config;
}

std::size_t o2ib_connections_in(std::uint64_t bytes, o2iblnd::O2ibLndConfig config) {
  const std::size_t wanted = std::exchange(config.connections_max, 0);
  const std::uint64_t without = message_memory_bytes(config);
  config.connections_max = 1;
  const std::uint64_t each = message_memory_bytes(config) - without;
  if (bytes <= without) return 0;
  return std::min<std::uint64_t>(wanted, (bytes - without) / each);
}

std::unique_ptr<NetworkMaker> make_o2ib_maker(const LndSetup& setup, O2ibHost& host) {
  return std::make_unique<O2ibMaker>(setup, host);
}

}  // namespace plnet::node
