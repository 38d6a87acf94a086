// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/lnet_networks.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "apps/assembly/kfi_driver.hpp"
#include "apps/assembly/tcp_driver.hpp"
#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

using lnet::NetType;

// A network on which every NID is a perfect peer: PUTs are acknowledged, GETs and pings answered,
// nothing leaves the node.
class NullMaker final : public NetworkMaker {
 public:
  NullMaker(NetType type, const DriverSetup& setup) : setup_(setup) {
    config_.mode = drivers::NullMode::kEcho;
    config_.net_type = type;
    config_.in_flight_max = setup.messages;
    config_.peers_max = setup.peers;
    config_.arenas = setup.arenas;
  }
  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId /*shard*/) override {
    return std::make_unique<drivers::NullLnd>(config_, port, random_);
  }

 private:
  const DriverSetup setup_;
  drivers::NullConfig config_;
  Random random_{1};  // nothing is drawn from it: only sources are random
};

class NullDriver final : public NetworkDriver {
 public:
  [[nodiscard]] std::string_view name() const override { return "null"; }
  [[nodiscard]] std::unique_ptr<NetworkMaker> maker(NetType type,
                                                    const DriverSetup& setup) const override {
    return std::make_unique<NullMaker>(type, setup);
  }
};

const NullDriver kNullDriver{};
const TcpDriver kTcpDriver{};
const KfiDriver kKfiDriver{};

// By its name an NI may ask for any of these.
constexpr std::array<const NetworkDriver*, 3> kDrivers{&kNullDriver, &kTcpDriver, &kKfiDriver};

struct NetworkRow {
  NetType type;
  const NetworkDriver* driver;  // of an NI that names none; null: there is none yet
  std::string_view needs;       // the protocol that would serve it
};
// `lo` is part of every node and stands in no configuration.
constexpr std::array kNetworks{
    NetworkRow{NetType::kTcp, &kTcpDriver, "socklnd over TCP"},
    NetworkRow{NetType::kO2ib, nullptr, "o2iblnd over verbs"},
    NetworkRow{NetType::kKfi, &kKfiDriver, "kfilnd on Cassini"},
};

Outcome<const NetworkDriver*> driver_named(const std::string& name) {
  std::string known;
  for (const NetworkDriver* driver : kDrivers) {
    if (driver->name() == name) return driver;
    known += (known.empty() ? "" : ", ") + std::string(driver->name());
  }
  return failure(Errc::kNotSupported,
                 fmt::format("driver '{}' does not exist, expected {}", name, known));
}

Outcome<const NetworkDriver*> driver_of(lnet::NetId net, const lnet::NiConfig& ni) {
  for (const auto& tunable : ni.lnd_tunables) {
    if (tunable.name != lnet::kDriverTunable) continue;
    const auto named = driver_named(std::get<std::string>(tunable.value));
    const auto type = static_cast<NetType>(lnet::type_of_net(net));
    if (!named || (*named)->serves(type)) return named;
    return failure(Errc::kInvalid, fmt::format("driver '{}' does not serve network {}",
                                               (*named)->name(), lnet::text_of_net(net)));
  }
  const auto* const row = std::ranges::find_if(kNetworks, [net](const NetworkRow& candidate) {
    return static_cast<unsigned>(candidate.type) == lnet::type_of_net(net);
  });
  if (row != kNetworks.end() && row->driver != nullptr) return row->driver;
  return failure(
      Errc::kNotSupported,
      fmt::format("network {}: {} is not there yet; there are tcp, kfi and lo, and for experiments "
                  "the driver "
                  "null (lnd tunables: driver: 'null'), a network on which a perfect peer answers",
                  lnet::text_of_net(net),
                  row == kNetworks.end() ? std::string_view("a driver for it") : row->needs));
}

std::int32_t given(std::int32_t asked, std::int32_t otherwise) {
  return asked == lnet::kDriverDefault ? otherwise : asked;
}

// lustre-release lnet/klnds/socklnd/socklnd.c: ksocknal_startup(): a peer's share is never more
// than there is.
lnet::NiTunables tunables_of(const lnet::RequestedTunables& asked,
                             const lnet::NiTunables& defaults) {
  lnet::NiTunables tunables{
      .peer_timeout_s = given(asked.peer_timeout_s, defaults.peer_timeout_s),
      .peer_credits = given(asked.peer_credits, defaults.peer_credits),
      .peer_buffer_credits = given(asked.peer_buffer_credits, defaults.peer_buffer_credits),
      .credits = given(asked.credits, defaults.credits)};
  if (tunables.credits <= 0) tunables.credits = defaults.credits;
  if (tunables.peer_credits <= 0) tunables.peer_credits = defaults.peer_credits;
  tunables.peer_credits = std::min(tunables.peer_credits, tunables.credits);
  tunables.lends_credits = defaults.lends_credits && tunables.peer_credits == defaults.peer_credits;
  return tunables;
}

}  // namespace

Outcome<ResolvedNi> resolve_ni(lnet::NetId net, const lnet::NiConfig& ni, std::size_t cpts,
                               const NetworkOptions& options, Duration lnet_timeout) {
  const auto driver = driver_of(net, ni);
  if (!driver) return std::unexpected(driver.error());
  if (!ni.nid) {
    return failure(Errc::kInvalid,
                   fmt::format("network {}: expected a NID{}", lnet::text_of_net(net),
                               ni.interfaces.empty()
                                   ? std::string()
                                   : fmt::format("; interface {} is not there, not up, or has no "
                                                 "address for it",
                                                 ni.interfaces.front())));
  }
  for (const std::uint16_t cpt : ni.cpts) {
    if (cpt < cpts) continue;
    return failure(Errc::kInvalid, fmt::format("NI {}: CPT {}, expected less than {}",
                                               text_of(*ni.nid), cpt, cpts));
  }
  ResolvedNi resolved;
  resolved.driver = *driver;
  resolved.setup.nid = *ni.nid;
  resolved.setup.cpts = ni.cpts;
  resolved.setup.device_cpt = ni.cpts.empty() ? std::uint16_t{0} : ni.cpts.front();
  resolved.setup.tunables = tunables_of(ni.tunables, (*driver)->defaults(options));
  resolved.setup.interfaces = ni.interfaces;
  if (auto known = (*driver)->complete(ni, options, lnet_timeout, resolved.setup); !known) {
    return std::unexpected(known.error());
  }
  return resolved;
}

}  // namespace plnet::apps
