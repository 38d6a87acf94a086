// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/nets_by_address.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/net_types.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

namespace {

using Local = std::span<const InterfaceAddress>;

AddressStyle style_of(NetId net) {
  const NetTypeInfo* const type = find_net_type(type_of_net(net));
  return type == nullptr ? AddressStyle::kNone : type->addresses;
}

bool has_interface(Local local, const std::string& name) {
  return std::ranges::find(local, name, &InterfaceAddress::interface) != local.end();
}

// IPv4 first, because every version of LNet understands it.
const IpAddress* address_of(Local local, const std::string& interface, AddressStyle style) {
  const auto find = [&](bool v6) -> const IpAddress* {
    const auto found = std::ranges::find_if(local, [&](const InterfaceAddress& each) {
      return each.interface == interface && each.address.is_v6() == v6;
    });
    return found == local.end() ? nullptr : &found->address;
  };
  const IpAddress* const v4 = find(false);
  return v4 != nullptr || style != AddressStyle::kIpv4Ipv6 ? v4 : find(true);
}

const std::string* first_interface(Local local, bool with_v4) {
  const auto found = std::ranges::find_if(
      local, [with_v4](const InterfaceAddress& each) { return !with_v4 || !each.address.is_v6(); });
  return found == local.end() ? nullptr : &found->interface;
}

void add_ni(NodeConfig& config, NetId net, NiConfig ni) {
  auto there = std::ranges::find(config.nets, net, &NetConfig::net);
  if (there == config.nets.end()) {
    config.nets.push_back({.net = net, .nis = {}});
    there = config.nets.end() - 1;
  }
  const bool known = std::ranges::any_of(there->nis, [&](const NiConfig& other) {
    return std::ranges::any_of(ni.interfaces, [&](const std::string& name) {
      return std::ranges::find(other.interfaces, name) != other.interfaces.end();
    });
  });
  if (!known) there->nis.push_back(std::move(ni));
}

Outcome<void> apply_text(NodeConfig& config, Local local) {
  if (config.ip2nets_text.empty()) return {};
  const auto rules = parse_ip2nets(config.ip2nets_text);
  if (!rules) return std::unexpected(rules.error());
  std::vector<IpAddress> addresses;
  for (const InterfaceAddress& each : local)
    addresses.push_back(each.address);
  const auto networks = match_ip2nets(*rules, addresses);
  if (!networks) return std::unexpected(networks.error());
  for (const NetworkSpec& network : *networks) {
    for (const InterfaceSpec& interface : network.interfaces) {
      if (!is_internet(network.net)) {
        NiConfig ni{.cpts = interface.cpts};
        if (!interface.name.empty()) ni.interfaces = {interface.name};
        add_ni(config, network.net, std::move(ni));
        continue;
      }
      // Without a name it is the machine's first interface, for any matching address.
      const std::string& name = interface.name.empty() ? local.front().interface : interface.name;
      if (!has_interface(local, name)) {
        return failure(Errc::kNotFound,
                       fmt::format("ip2nets: network {}: interface {} is not there or not up",
                                   text_of_net(network.net), name));
      }
      add_ni(config, network.net, {.interfaces = {name}, .cpts = interface.cpts});
    }
  }
  config.ip2nets_text.clear();
  return {};
}

bool fits(const Ip2NetsConfig& rule, const IpAddress& address) {
  return std::ranges::any_of(rule.ranges,
                             [&](const AddressPattern& range) { return range.matches(address); });
}

// The interfaces that the rule names, if all exist and match; else all that match.
std::vector<std::string> interfaces_of(const Ip2NetsConfig& rule, Local local) {
  if (rule.interfaces.empty() && rule.ranges.empty()) {
    const std::string* const first = first_interface(local, true);
    return first == nullptr ? std::vector<std::string>{} : std::vector{*first};
  }
  const auto interface_fits = [&](const std::string& name) {
    if (rule.ranges.empty() && !is_internet(rule.net)) return true;
    return std::ranges::any_of(local, [&](const InterfaceAddress& each) {
      return each.interface == name && (rule.ranges.empty() || fits(rule, each.address));
    });
  };
  if (!rule.interfaces.empty()) {
    const bool all = std::ranges::all_of(rule.interfaces, interface_fits);
    return all ? rule.interfaces : std::vector<std::string>{};
  }
  std::vector<std::string> fitting;
  for (const InterfaceAddress& each : local) {
    const bool known = std::ranges::find(fitting, each.interface) != fitting.end();
    if (!known && fits(rule, each.address)) fitting.push_back(each.interface);
  }
  return fitting;
}

// The configuration has both interface and NID, and they have not been compared yet.
bool is_to_be_seen(NetId net, const NiConfig& ni, const NodeConfig& before) {
  if (!ni.nid || ni.interfaces.empty() || !is_internet(net)) return false;
  const NetConfig* const earlier = before.net(net);
  return earlier == nullptr || std::ranges::none_of(earlier->nis, [&ni](const NiConfig& other) {
           return other.nid == ni.nid && other.interfaces == ni.interfaces;
         });
}

bool has_its_nid(NetId net, const NiConfig& ni, Local local) {
  return std::ranges::any_of(local, [&](const InterfaceAddress& each) {
    return nid_of(net, each.address) == ni.nid &&
           std::ranges::find(ni.interfaces, each.interface) != ni.interfaces.end();
  });
}

}  // namespace

// The interfaces of the network have addresses; others (cxi0) are known to their driver only.
bool is_internet(NetId net) {
  const AddressStyle style = style_of(net);
  return style == AddressStyle::kIpv4 || style == AddressStyle::kIpv4Ipv6;
}

bool needs_addresses(const NodeConfig& config, const NodeConfig& before) {
  if (!config.ip2nets.empty() || !config.ip2nets_text.empty()) return true;
  return std::ranges::any_of(config.nets, [&before](const NetConfig& net) {
    return std::ranges::any_of(
        net.nis, [&](const NiConfig& ni) { return !ni.nid || is_to_be_seen(net.net, ni, before); });
  });
}

Outcome<void> apply_ip2nets(NodeConfig& config, Local local) {
  if (auto done = apply_text(config, local); !done) return done;
  for (const Ip2NetsConfig& rule : std::exchange(config.ip2nets, {})) {
    for (std::string& name : interfaces_of(rule, local)) {
      add_ni(config, rule.net,
             {.interfaces = {std::move(name)},
              .cpts = rule.cpts,
              .tunables = rule.tunables,
              .lnd_tunables = rule.lnd_tunables});
    }
  }
  return {};
}

std::vector<std::string> assign_nids(NodeConfig& config, const NodeConfig& before, Local local) {
  std::vector<std::string> notes;
  for (NetConfig& net : config.nets) {
    if (!is_internet(net.net)) continue;
    const AddressStyle style = style_of(net.net);
    const NetConfig* const earlier = before.net(net.net);
    for (NiConfig& ni : net.nis) {
      std::optional<Nid> named;
      if (is_to_be_seen(net.net, ni, before) && !has_its_nid(net.net, ni, local))
        named = std::exchange(ni.nid, std::nullopt);
      if (ni.nid) continue;
      const auto same = [&ni](const NiConfig& other) {
        return !ni.interfaces.empty() && other.interfaces == ni.interfaces;
      };
      if (earlier != nullptr) {
        const auto known = std::ranges::find_if(earlier->nis, same);
        if (known != earlier->nis.end()) ni.nid = known->nid;
      }
      const std::string* const name = ni.interfaces.empty()
                                          ? first_interface(local, style == AddressStyle::kIpv4)
                                          : &ni.interfaces.front();
      const IpAddress* const address =
          ni.nid || name == nullptr ? nullptr : address_of(local, *name, style);
      if (address != nullptr) ni.nid = nid_of(net.net, *address);
      if (named && ni.nid) {
        notes.push_back(
            fmt::format("interface {} does not have the address of NID {}: the NI is {}",
                        ni.interfaces.front(), text_of(*named), text_of(*ni.nid)));
      }
    }
  }
  return notes;
}

bool settle_site_routes(NodeConfig& config) {
  bool is_gateway = false;
  const auto is_ours = [&config](const Nid& nid) {
    const NetConfig* const net = config.net(nid.net());
    return net != nullptr && std::ranges::find(net->nis, nid, &NiConfig::nid) != net->nis.end();
  };
  std::erase_if(config.routes, [&](RouteConfig& route) {
    if (!std::exchange(route.of_site, false)) return false;
    if (is_ours(route.gateway)) return is_gateway = true;
    return config.net(route.net) != nullptr || config.net(route.gateway.net()) == nullptr;
  });
  return is_gateway;
}

}  // namespace plnet::lnet
