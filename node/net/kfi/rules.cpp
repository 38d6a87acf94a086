// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/rules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/net/kfi/host.hpp"
#include "node/net/kfi/room.hpp"

namespace plnet::node {

lnet::NiTunables KfiRules::defaults() const {
  const kfilnd::Tunables& tunables = host_.options().tunables;
  const auto given = [](std::int64_t own, std::int32_t otherwise) {
    return own == -1 ? otherwise : static_cast<std::int32_t>(own);
  };
  const lnet::NiTunables of_lnet;
  return {.peer_timeout_s = given(tunables.peer_timeout, of_lnet.peer_timeout_s),
          .peer_credits = static_cast<std::int32_t>(tunables.peer_credits),
          .peer_buffer_credits = given(tunables.peer_buffer_credits, of_lnet.peer_buffer_credits),
          .credits = static_cast<std::int32_t>(tunables.credits)};
}

Outcome<void> KfiRules::complete(const lnet::NiConfig& ni, Duration lnet_timeout,
                                 lnet::NiSetup& setup) const {
  if (ni.interfaces.size() != 1 || host_.nic(ni.interfaces.front()) == nullptr) {
    return failure(Errc::kNotFound,
                   "a kfi network needs one interface of `plnet: kfi: "
                   "interfaces`, such as cxi0");
  }
  constexpr std::int32_t kCreditsMax = 65535;  // the kernel's
  if (setup.tunables.credits > kCreditsMax) {
    return failure(Errc::kInvalid, fmt::format("credits: {}, expected at most {}",
                                               setup.tunables.credits, kCreditsMax));
  }
  if (auto enough = host_.check_cpts(ni); !enough) return enough;
  const auto own = options_of_ni(host_.options(), ni.lnd_tunables);
  if (!own) return std::unexpected(own.error());
  setup.lnd_tunables = lnd_tunables_of(*own, lnet_timeout);
  if (own->tunables.kfi_timeout != 0)
    setup.lnd_timeout = std::chrono::seconds(own->tunables.kfi_timeout);
  return {};
}

Outcome<void> UnopenedKfiRules::check_unopened(const lnet::NodeConfig& config, lnet::NetId net,
                                               const lnet::NiConfig& ni, std::size_t cpts) const {
  const std::string name = lnet::text_of_net(net);
  if (ni.interfaces.size() != 1) {
    return failure(Errc::kInvalid,
                   fmt::format("network {}: expected one interface, such as cxi0", name));
  }
  const auto there = std::ranges::find(interfaces_, ni.interfaces[0], &KfiInterface::name);
  if (there == interfaces_.end()) {
    return failure(Errc::kNotFound,
                   fmt::format("network {}: interface {} is not among those of `plnet: kfi: "
                               "interfaces`",
                               name, ni.interfaces[0]));
  }
  const auto wrong =
      std::ranges::find_if(ni.cpts, [cpts](std::uint16_t cpt) { return cpt >= cpts; });
  if (wrong != ni.cpts.end()) {
    return failure(Errc::kInvalid,
                   fmt::format("network {}: CPT {}, expected less than {}", name, *wrong, cpts));
  }
  if (auto own = options_of_ni(options_, ni.lnd_tunables); !own)
    return std::unexpected(own.error());
  return check_kfi_sharing(config, [&](const std::string& interface) {
    const auto of_name = std::ranges::find(interfaces_, interface, &KfiInterface::name);
    return of_name == interfaces_.end() ? 0U : kfi_nis_of(*of_name, config);
  });
}

}  // namespace plnet::node
