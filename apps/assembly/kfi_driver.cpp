// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/kfi_driver.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "apps/assembly/kfi_host.hpp"
#include "lib/base/check.hpp"
#include "lib/kfilnd/keys.hpp"

namespace plnet::apps {
namespace {

class KfiMaker final : public NetworkMaker {
 public:
  explicit KfiMaker(const DriverSetup& setup) : setup_(setup), kfi_(*setup.kfi) {}

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
    // Another one of each context, for a peer whose home moves from one to another.
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

  const DriverSetup setup_;
  KfiHost& kfi_;
};

}  // namespace

// A message that is parked without a place to be copied to keeps its receive buffer, 2 MiB, from
// the NIC: there are as many places as messages.
kfilnd::KfiLndConfig kfi_limits_of(const DriverSetup& setup) {
  return {.peers_max = std::min(setup.peers, kfilnd::PeerCache::kPeersMax),
          .receives_max = setup.messages,
          .copies_max = setup.messages};
}

lnet::NiTunables KfiDriver::defaults(const NetworkOptions& options) const {
  if (options.kfi == nullptr) return {};
  const kfilnd::Tunables& tunables = options.kfi->options().tunables;
  const auto given = [](std::int64_t own, std::int32_t otherwise) {
    return own == -1 ? otherwise : static_cast<std::int32_t>(own);
  };
  const lnet::NiTunables of_lnet;
  return {.peer_timeout_s = given(tunables.peer_timeout, of_lnet.peer_timeout_s),
          .peer_credits = static_cast<std::int32_t>(tunables.peer_credits),
          .peer_buffer_credits = given(tunables.peer_buffer_credits, of_lnet.peer_buffer_credits),
          .credits = static_cast<std::int32_t>(tunables.credits)};
}

Outcome<void> KfiDriver::complete(const lnet::NiConfig& ni, const NetworkOptions& options,
                                  Duration lnet_timeout, lnet::NiSetup& setup) const {
  if (options.kfi == nullptr || ni.interfaces.size() != 1 ||
      options.kfi->nic(ni.interfaces.front()) == nullptr) {
    return failure(Errc::kNotFound,
                   "a kfi network needs one interface of `plnet: kfi: "
                   "interfaces`, such as cxi0");
  }
  constexpr std::int32_t kCreditsMax = 65535;  // the kernel's
  if (setup.tunables.credits > kCreditsMax) {
    return failure(Errc::kInvalid, fmt::format("credits: {}, expected at most {}",
                                               setup.tunables.credits, kCreditsMax));
  }
  if (auto enough = options.kfi->check_cpts(ni); !enough) return enough;
  const auto own = options_of_ni(options.kfi->options(), ni.lnd_tunables);
  if (!own) return std::unexpected(own.error());
  setup.lnd_tunables = lnd_tunables_of(*own, lnet_timeout);
  if (own->tunables.kfi_timeout != 0)
    setup.lnd_timeout = std::chrono::seconds(own->tunables.kfi_timeout);
  return {};
}

std::unique_ptr<NetworkMaker> KfiDriver::maker(lnet::NetType /*type*/,
                                               const DriverSetup& setup) const {
  return std::make_unique<KfiMaker>(setup);
}

}  // namespace plnet::apps
