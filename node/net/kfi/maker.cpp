// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/maker.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/kfilnd/keys.hpp"
#include "node/net/kfi/host.hpp"

namespace plnet::node {
namespace {

class KfiMaker final : public NetworkMaker {
 public:
  KfiMaker(const LndSetup& setup, KfiHost& kfi) : setup_(setup), kfi_(kfi) {}

  Outcome<void> open(const lnet::NiSetup& ni) override {
    auto options = options_of_ni(kfi_.options(), ni.lnd_tunables);
    if (!options) return std::unexpected(options.error());
    options->tunables.credits = ni.tunables.credits;
    options->tunables.peer_credits = ni.tunables.peer_credits;
    const lnet::ShardSet shards = kfi_.shards_of(ni.cpts);
    const KfiLease::Start start{
        .seed = static_cast<std::uint64_t>(setup_.clock->now().time_since_epoch().count()),
        .lnd_timeout = kfilnd::lnd_timeout(options->tunables, setup_.lnet_lnd_timeout),
        .contexts = static_cast<unsigned>(shards.count())};
    const auto first = static_cast<unsigned>(std::countr_zero(shards.to_ullong()));
    return nic_of(ni.interfaces)
        .prepare(ni.nid, *options, *setup_.arenas, start, kfi_.place(first));
  }
  void not_added(const lnet::NiSetup& ni) override { nic_of(ni.interfaces).unprepare(ni.nid); }
  void close(const lnet::NiSetup& ni) override { nic_of(ni.interfaces).set_leaving(ni.nid); }

  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard) override {
    const lnet::Ni& ni = port.ni();
    KfiNic& nic = nic_of(ni.interfaces);
    KfiGround ground{nic.take(ni.nid, kfilnd::context_of(ni.shards, shard)), nullptr,
                     std::make_unique<kfilnd::NodeGate>(*setup_.node, shard, ni)};
    KfiContext& context = *ground.context;
    if (context.mail() != nullptr)
      ground.homes = std::make_unique<kfilnd::NodeHomes>(*setup_.node, shard, ni);
    const KfiOptions& options = context.options();
    kfilnd::KfiLndConfig config = kfi_limits_of(setup_);
    config.nid = ni.nid;
    config.arenas = setup_.arenas;
    config.tunables = options.tunables;
    config.traffic_class = options.traffic_class;
    config.lnet_lnd_timeout = setup_.lnet_lnd_timeout;
    config.receive_memory = context.receive_memory();
    // Each context begins with another key, since a peer's home may move between contexts.
    config.first_session_key = kfilnd::first_session_key_of(ni.incarnation + context.number());
    config.mail = context.mail();
    config.homes = ground.homes.get();
    config.gate = ground.gate.get();
    config.start = setup_.clock->now();
    return std::make_unique<KfiNi>(kfi_.place(shard), std::move(ground), config, port);
  }

 private:
  [[nodiscard]] KfiNic& nic_of(const std::vector<std::string>& interfaces) const {
    KfiNic* const nic = interfaces.empty() ? nullptr : kfi_.nic(interfaces.front());
    PLNET_CHECK(nic != nullptr, "interfaces are looked for when an NI is resolved");
    return *nic;
  }

  const LndSetup setup_;
  KfiHost& kfi_;
};

}  // namespace

// A parked message without room for a copy keeps its receive buffer of 2 MiB from the NIC. So there
// is room for as many copies as messages.
kfilnd::KfiLndConfig kfi_limits_of(const LndSetup& setup) {
  return {.peers_max = std::min(setup.peers, kfilnd::PeerCache::kPeersMax),
          .receives_max = setup.messages,
          .copies_max = setup.messages};
}

std::unique_ptr<NetworkMaker> make_kfi_maker(const LndSetup& setup, KfiHost& kfi) {
  return std::make_unique<KfiMaker>(setup, kfi);
}

}  // namespace plnet::node
