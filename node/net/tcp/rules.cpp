// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/rules.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "drivers/net/tcp/listener.hpp"
#include "lib/runtime/host/link_speed.hpp"
#include "node/host/address_links.hpp"
#include "node/net/tcp/connections_by_link.hpp"
#include "node/net/tcp/host.hpp"

namespace plnet::node {

lnet::NiTunables TcpRules::defaults() const {
  const socklnd::Tunables& tunables = options_.tunables;
  // An export contains the default value, too, so an explicit default counts as unset.
  const bool nobody_chose = tunables.peer_credits == socklnd::Tunables{}.peer_credits;
  return {.peer_timeout_s = static_cast<std::int32_t>(tunables.peer_timeout),
          .peer_credits = static_cast<std::int32_t>(tunables.peer_credits),
          .peer_buffer_credits = static_cast<std::int32_t>(tunables.peer_buffer_credits),
          .credits = static_cast<std::int32_t>(tunables.credits),
          .lends_credits = nobody_chose};
}

// The tunables in force replace the configured ones afterwards, as in lustre-release
// lnet/klnds/socklnd/socklnd.c: ksocknal_startup().
Outcome<void> TcpRules::complete(const lnet::NiConfig& ni, Duration lnet_timeout,
                                 lnet::NiSetup& setup) const {
  const socklnd::Tunables tunables = tunables_of_ni(options_.tunables, ni.lnd_tunables);
  if (setup.interfaces.empty()) {
    if (std::string interface = interface_of(setup.nid); !interface.empty())
      setup.interfaces.push_back(std::move(interface));
  }
  const std::uint32_t mbps =
      setup.interfaces.empty() ? 0 : runtime::link_speed_mbps(setup.interfaces.front());
  const Duration timeout = lnd_timeout(tunables, lnet_timeout);
  setup.lnd_tunables = {
      {"conns_per_peer", std::int64_t{connections_per_peer(tunables, mbps)}},
      {"timeout", std::chrono::duration_cast<std::chrono::seconds>(timeout).count()},
      {"tos", tunables.tos}};
  if (tunables.sock_timeout != 0) setup.lnd_timeout = timeout;  // else it follows LNet's
  return {};
}

Outcome<void> TcpRules::check_free(const lnet::NiSetup& setup) const {
  for (const socklnd::SocketAddress& address : listen_addresses(options_, setup.nid)) {
    if (auto listens = drivers::try_to_listen(address); !listens)
      return failure(listens.error(), drivers::explain_listen_failure(listens.error(), address));
  }
  return {};
}

void TcpRules::keep_in_force(const lnet::NiConfig& ni, lnet::NiSetup& setup) const {
  if (by_link_ != nullptr) by_link_->keep(ni, options_.tunables, setup);
}

}  // namespace plnet::node
