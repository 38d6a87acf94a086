// SPDX-License-Identifier: BSD-3-Clause
// What a configuration means on a machine with these addresses: rules (`ip2nets`) become networks,
// and NIs of which only the interface is known get NIDs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_text.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::lnet {

// Of an interface that is up and not the loopback; in the machine's order.
struct InterfaceAddress {
  std::string interface;
  IpAddress address;
};

// NIDs of this network are Internet addresses, so that its interfaces have them.
[[nodiscard]] bool is_internet(NetId net);

// There is something that cannot be told without addresses, and is not in `before` already.
[[nodiscard]] bool needs_addresses(const NodeConfig& config, const NodeConfig& before = {});

// Takes the rules out and puts the networks in that they give here.
// - Of the module option: those of every entry that matches an address. None at all: kNotFound, as
//   the kernel does not start LNet then. An interface that is not there: kNotFound.
//   lustre-release lnet/lnet/config.c: lnet_match_networks(), lnet_inet_select()
// - Of the YAML `ip2nets`, each by itself: an NI on each interface that fits. A rule that finds
//   none gives nothing: a site has one file for all its nodes.
//   lustre-release lnet/utils/lnetconfig/liblnetconfig.c: lustre_lnet_match_ip_to_intf()
// What is configured already stays as it is.
[[nodiscard]] Outcome<void> apply_ip2nets(NodeConfig& config,
                                          std::span<const InterfaceAddress> local);

// On networks whose NIDs are Internet addresses, an NI without one gets that of its first
// interface, or of the machine's first. It keeps what it has in `before`. One whose interface is
// not there stays without. Of one that names both, the NID counts if an interface of it has that
// address, so that what was exported comes back; else the interfaces do, as a kernel's lnetctl
// looks at nothing else. Returns which these are, for people.
std::vector<std::string> assign_nids(NodeConfig& config, const NodeConfig& before,
                                     std::span<const InterfaceAddress> local);

// Takes those routes of the whole site out that are for other nodes: to a network of this one, or
// by a gateway that is this node or on no network of it. Returns whether this node is a gateway in
// them. lustre-release lnet/lnet/config.c: lnet_parse_route()
bool settle_site_routes(NodeConfig& config);

}  // namespace plnet::lnet
