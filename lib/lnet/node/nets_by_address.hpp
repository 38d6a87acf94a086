// SPDX-License-Identifier: BSD-3-Clause
// Applies a configuration to a machine with these addresses: rules (`ip2nets`) become networks, and
// NIs with only an interface get NIDs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_text.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::lnet {

// An address of an interface that is up and not the loopback; in the machine's order.
struct InterfaceAddress {
  std::string interface;
  IpAddress address;
};

// NIDs of this network are Internet addresses, which its interfaces have.
[[nodiscard]] bool is_internet(NetId net);

// The configuration needs the machine's addresses for something that is not in `before` already.
[[nodiscard]] bool needs_addresses(const NodeConfig& config, const NodeConfig& before = {});

// Replaces the rules by the networks that they yield here.
// - The module option: the networks of every entry that matches an address. kNotFound: no entry
//   matches, in which case the kernel does not start LNet, or an interface does not exist.
//   lustre-release lnet/lnet/config.c: lnet_match_networks(), lnet_inet_select()
// - Each rule of the YAML `ip2nets`: an NI on each interface that matches. A rule without a match
//   yields nothing, since a site has one file for all its nodes. lustre-release
//   lnet/utils/lnetconfig/liblnetconfig.c: lustre_lnet_match_ip_to_intf()
//
// NIs that are configured already stay unchanged.
[[nodiscard]] Outcome<void> apply_ip2nets(NodeConfig& config,
                                          std::span<const InterfaceAddress> local);

// On networks whose NIDs are Internet addresses, an NI without a NID gets the address of its first
// interface, or of the machine's first. It keeps the NID that it has in `before`. An NI without an
// existing interface stays without NID. If an NI has both, its NID counts if one of its interfaces
// has that address, so that an import restores an export; else the interfaces count, as in the
// kernel's lnetctl. Returns those NIs, for messages to users.
std::vector<std::string> assign_nids(NodeConfig& config, const NodeConfig& before,
                                     std::span<const InterfaceAddress> local);

// Removes routes of the whole site that other nodes need: to a network of this node, or by a
// gateway that is this node or on none of its networks. True: this node is a gateway in them.
// lustre-release lnet/lnet/config.c: lnet_parse_route()
bool settle_site_routes(NodeConfig& config);

}  // namespace plnet::lnet
