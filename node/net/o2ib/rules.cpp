// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/rules.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/host/address_links.hpp"
#include "node/net/o2ib/host.hpp"
#include "node/net/o2ib/verbs_ports.hpp"

namespace plnet::node {
namespace {

std::int32_t given(std::int64_t own, std::int32_t otherwise) {
  return own <= 0 ? otherwise : static_cast<std::int32_t>(own);
}

}  // namespace

lnet::NiTunables O2ibRules::defaults() const {
  const o2iblnd::Tunables& tunables = options_.tunables;
  const lnet::NiTunables of_lnet;
  return {.peer_timeout_s = static_cast<std::int32_t>(tunables.peer_timeout),
          .peer_credits = static_cast<std::int32_t>(tunables.peer_credits),
          .peer_buffer_credits = given(tunables.peer_buffer_credits, of_lnet.peer_buffer_credits),
          .credits = static_cast<std::int32_t>(tunables.credits)};
}

// The values in `setup` afterwards are in force. lustre-release
// lnet/klnds/o2iblnd/o2iblnd_modparams.c: kiblnd_tunables_setup()
Outcome<void> O2ibRules::complete(const lnet::NiConfig& ni, Duration lnet_timeout,
                                  lnet::NiSetup& setup) const {
  if (setup.nid.is_large()) {
    return failure(Errc::kInvalid, fmt::format("NI {}: the wire of o2ib has only IPv4 NIDs: give "
                                               "the interface an IPv4 address",
                                               lnet::text_of(setup.nid)));
  }
  if (setup.interfaces.size() > 1) {
    return failure(Errc::kInvalid, fmt::format("NI {}: {} interfaces, expected one such as ib0",
                                               lnet::text_of(setup.nid), setup.interfaces.size()));
  }
  if (setup.interfaces.empty()) {
    if (std::string interface = interface_of(setup.nid); !interface.empty())
      setup.interfaces.push_back(std::move(interface));
  }
  o2iblnd::Tunables tunables =
      o2ib_tunables_in_force(options_.tunables, ni.lnd_tunables, setup.tunables);
  setup.tunables.peer_credits = static_cast<std::int32_t>(o2iblnd::peer_credits(tunables));
  tunables.peer_credits = setup.tunables.peer_credits;
  setup.lnd_tunables = o2ib_lnd_tunables(tunables, lnet_timeout);
  if (tunables.timeout != 0) setup.lnd_timeout = o2iblnd::lnd_timeout(tunables, lnet_timeout);
  const auto ports = verbs_ports(host_ == nullptr ? kSysfs : host_->sysfs());
  const std::string interface = setup.interfaces.empty()
                                    ? std::string("of ") + lnet::text_of(setup.nid)
                                    : setup.interfaces.front();
  const VerbsPort* const port = port_behind(ports, interface);
  if (port == nullptr) {
    // An NI whose device was removed must be resolved to be deleted.
    if (host_ != nullptr && host_->adapter(setup.nid.address32()) != nullptr) return {};
    return failure(Errc::kNotFound,
                   fmt::format("network {}: {}", lnet::text_of_net(setup.nid.net()),
                               no_verbs_device(interface, ports)));
  }
  if (host_ == nullptr) return {};
  const bool had_one = host_->adapter(setup.nid.address32()) != nullptr;
  if (auto opened = host_->open_adapter(setup.nid.address32()); !opened) {
    if (had_one) return {};  // the same device
    return failure(opened.error().code, fmt::format("interface {} ({} port {}): {}", interface,
                                                    port->device, port->port, opened.error().what));
  }
  if (ni.cpts.empty()) setup.device_cpt = host_->cpt_near(port->numa_node);
  return {};
}

}  // namespace plnet::node
