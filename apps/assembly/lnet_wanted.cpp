// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/lnet_wanted.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "apps/assembly/kfi_host.hpp"
#include "apps/assembly/router_options.hpp"
#include "apps/assembly/tcp_changes.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/nets_by_address.hpp"
#include "lib/runtime/host/local_addresses.hpp"

namespace plnet::apps {
namespace {

using lnet::NetConfig;
using lnet::NetId;
using lnet::NiConfig;
using lnet::Nid;
using lnet::NodeConfig;

Outcome<void> check_router_options(const NodeConfig& config) {
  lnet::Parameters checked;
  return take_router_options(config, checked);
}

// The one whose value is wrong by itself, "" if none is.
template <class Check>
std::string culprit(const NodeConfig& config, const Check& check, const Error& error) {
  for (const lnet::ModuleOption& option : config.module_options) {
    const auto alone = check(NodeConfig{.module_options = {option}});
    if (!alone && alone.error().what == error.what)
      return fmt::format("{}.{}", option.module, option.name);
  }
  return {};
}

template <class Check>
std::optional<Misfit> misfit_of_options(const NodeConfig& config, const Check& check) {
  const auto checked = check(config);
  if (checked) return std::nullopt;
  return Misfit{.error = checked.error(), .option = culprit(config, check, checked.error())};
}

// What can be told of kfi networks before their NICs are open, which is all but the NIDs.
Outcome<void> check_unopened(const NodeConfig& config, const Ground& ground,
                             const KfiOptions& options, const NetConfig& net, const NiConfig& ni) {
  const std::string name = lnet::text_of_net(net.net);
  if (ni.interfaces.size() != 1) {
    return failure(Errc::kInvalid,
                   fmt::format("network {}: expected one interface, such as cxi0", name));
  }
  const auto there =
      std::ranges::find(ground.kfi_interfaces, ni.interfaces[0], &runtime::KfiInterface::name);
  if (there == ground.kfi_interfaces.end()) {
    return failure(Errc::kNotFound,
                   fmt::format("network {}: interface {} is not among those of `plnet: kfi: "
                               "interfaces`",
                               name, ni.interfaces[0]));
  }
  const auto wrong =
      std::ranges::find_if(ni.cpts, [&ground](std::uint16_t cpt) { return cpt >= ground.cpts; });
  if (wrong != ni.cpts.end()) {
    return failure(Errc::kInvalid, fmt::format("network {}: CPT {}, expected less than {}", name,
                                               *wrong, ground.cpts));
  }
  if (auto own = options_of_ni(options, ni.lnd_tunables); !own) return std::unexpected(own.error());
  return check_kfi_sharing(config, [&](const std::string& interface) {
    const auto of_name =
        std::ranges::find(ground.kfi_interfaces, interface, &runtime::KfiInterface::name);
    return of_name == ground.kfi_interfaces.end() ? 0U : kfi_nis_of(*of_name, config);
  });
}

const NiConfig* ni_of(const NodeConfig& config, NetId net, const std::optional<Nid>& nid) {
  const NetConfig* const there = config.net(net);
  if (there == nullptr || !nid) return nullptr;
  const auto found = std::ranges::find(there->nis, nid, &NiConfig::nid);
  return found == there->nis.end() ? nullptr : &*found;
}

Misfit misfit_of_ni(Error error, const NetConfig& net, const NiConfig& ni) {
  return {.error = std::move(error), .net = NetConfig{.net = net.net, .nis = {ni}}};
}

Misfit misfit_of_key(Error error, std::string key) {
  return {.error = std::move(error), .key = std::move(key)};
}

// The section that is at fault; its items may have others before them on this node.
std::optional<Misfit> misfit_of_whole(const NodeConfig& config) {
  const auto issues = check_node_config(config);
  if (issues.empty()) return std::nullopt;
  const auto& [path, what] = issues.front();
  return misfit_of_key({Errc::kInvalid, fmt::format("{}: {}", path, what)},
                       path.substr(0, path.find_first_of("[.")));
}

// As adding the route would refuse it, but before anything is done.
std::optional<Misfit> misfit_of_routes(const NodeConfig& config) {
  for (const lnet::RouteConfig& route : config.routes) {
    const NetId by = route.gateway.net();
    if (config.net(by) != nullptr) continue;
    return misfit_of_key(
        {Errc::kNoRoute,
         fmt::format("route to {} by {}: not on network {}", lnet::text_of_net(route.net),
                     lnet::text_of(route.gateway), lnet::text_of_net(by))},
        "route");
  }
  return std::nullopt;
}

std::expected<void, Misfit> assign_kfi_nids(NodeConfig& wanted, const KfiHost& kfi) {
  for (NetConfig& net : wanted.nets) {
    for (NiConfig& ni : net.nis) {
      if (!is_kfi(net, ni)) continue;
      if (auto assigned = kfi.assign_nid(net.net, ni); !assigned)
        return std::unexpected(misfit_of_ni(assigned.error(), net, ni));
    }
  }
  if (auto shared = kfi.check_sharing(wanted); !shared)
    return std::unexpected(misfit_of_key(shared.error(), "net"));
  return {};
}

// Both with the options of what is wanted, so that what follows them counts as it will be.
std::expected<void, Misfit> judge_nis(Judged& judged, const NodeConfig& now, const Ground& ground,
                                      const KfiOptions& kfi) {
  const Duration timeout = std::chrono::seconds(judged.config.parameters.lnd_timeout_s());
  const NetworkOptions options{judged.tcp, ground.kfi};
  for (NetConfig& net : judged.config.nets) {
    for (NiConfig& ni : net.nis) {
      if (has_ni(now, net.net, ni)) continue;
      const auto misfit = [&](Error error) {
        return std::unexpected(misfit_of_ni(std::move(error), net, ni));
      };
      if (ground.kfi == nullptr && is_kfi(net, ni)) {
        if (auto able = check_unopened(judged.config, ground, kfi, net, ni); !able)
          return misfit(able.error());
        continue;
      }
      auto resolved = resolve_ni(net.net, ni, ground.cpts, options, timeout);
      if (!resolved) return misfit(resolved.error());
      const NiConfig* const there = ni_of(now, net.net, ni.nid);
      if (there == nullptr) continue;
      auto was = resolve_ni(net.net, *there, ground.cpts, options, timeout);
      if (!was) continue;
      if (ground.by_link != nullptr) {
        ground.by_link->keep(*there, judged.tcp.tunables, was->setup);
        ground.by_link->keep(ni, judged.tcp.tunables, resolved->setup);
      }
      if (come_to_same(*was, *resolved, ground.cpts)) ni = *there;
    }
  }
  return {};
}

}  // namespace

Outcome<void> settle_on_machine(NodeConfig& wanted, const NodeConfig& now,
                                std::vector<std::string>* notes) {
  if (!lnet::needs_addresses(wanted, now)) {
    lnet::settle_site_routes(wanted);
    return {};
  }
  const auto known = runtime::local_addresses();
  if (!known) return std::unexpected(known.error());
  std::vector<lnet::InterfaceAddress> local;
  for (const runtime::LocalAddress& each : *known) {
    local.push_back({.interface = each.interface,
                     .address = {.size = each.is_v6 ? std::uint8_t{16} : std::uint8_t{4},
                                 .bytes_be = each.bytes_be}});
  }
  if (auto applied = lnet::apply_ip2nets(wanted, local); !applied) return applied;
  auto other_nids = lnet::assign_nids(wanted, now, local);
  if (notes != nullptr) *notes = std::move(other_nids);
  lnet::settle_site_routes(wanted);
  return {};
}

void settle_forwarding(NodeConfig& wanted) {
  const auto is_ours = [&wanted](const Nid& gateway) {
    return std::ranges::any_of(wanted.nets, [&gateway](const NetConfig& net) {
      return std::ranges::any_of(net.nis, [&](const NiConfig& ni) { return ni.nid == gateway; });
    });
  };
  if (std::ranges::any_of(wanted.routes_if_ours, is_ours)) wanted.routing = true;
  wanted.routes_if_ours.clear();
}

bool will_route(NodeConfig config) {
  if (settle_on_machine(config, {})) settle_forwarding(config);
  return config.routing;
}

bool has_ni(const NodeConfig& config, NetId net, const NiConfig& ni) {
  const NetConfig* const there = config.net(net);
  return there != nullptr && std::ranges::find(there->nis, ni) != there->nis.end();
}

bool come_to_same(const ResolvedNi& a, const ResolvedNi& b, std::size_t cpts) {
  const auto shown = [cpts](const lnet::NiSetup& setup) {
    std::vector<std::uint16_t> all = setup.cpts;
    for (std::size_t cpt = 0; setup.cpts.empty() && cpt < cpts; ++cpt)
      all.push_back(static_cast<std::uint16_t>(cpt));
    std::ranges::sort(all);
    return all;
  };
  return a.driver == b.driver && a.setup.nid == b.setup.nid &&
         a.setup.interfaces == b.setup.interfaces && a.setup.tunables == b.setup.tunables &&
         a.setup.lnd_tunables == b.setup.lnd_tunables && shown(a.setup) == shown(b.setup);
}

Error located(const Misfit& misfit, const runtime::SourceText& text, bool options) {
  std::string place;
  if (!misfit.option.empty()) {
    place = options ? place_of_modprobe_option(text, misfit.option)
                    : place_of_option(text, misfit.option);
  } else if (misfit.net && options) {
    for (const char* const name : {"lnet.networks", "lnet.ip2nets"})
      place = place.empty() ? place_of_modprobe_option(text, name) : place;
  } else if (misfit.net) {
    place = place_of_ni(text, misfit.net->net, misfit.net->nis.front());
  } else if (!misfit.key.empty() && !options) {
    place = place_of_key(text, misfit.key);
  }
  if (place.empty()) return misfit.error;
  return {misfit.error.code, fmt::format("{}: {}", place, misfit.error.what)};
}

std::expected<Judged, Misfit> judge(NodeConfig wanted, const NodeConfig& now,
                                    const Ground& ground) {
  Judged judged;
  if (auto settled = settle_on_machine(wanted, now, &judged.notes); !settled)
    return std::unexpected(Misfit{.error = settled.error()});
  if (ground.kfi != nullptr) {
    if (auto assigned = assign_kfi_nids(wanted, *ground.kfi); !assigned)
      return std::unexpected(std::move(assigned.error()));
  }
  settle_forwarding(wanted);
  if (const auto misfit = misfit_of_whole(wanted)) return std::unexpected(*misfit);
  for (const auto& misfit :
       {misfit_of_options(wanted, tcp_options_of), misfit_of_options(wanted, kfi_options_of),
        misfit_of_options(wanted, check_router_options)}) {
    if (misfit) return std::unexpected(*misfit);
  }
  judged.tcp = *tcp_options_of(wanted);
  judged.config = std::move(wanted);
  const KfiOptions kfi = *kfi_options_of(judged.config);
  if (auto able = judge_nis(judged, now, ground, kfi); !able)
    return std::unexpected(std::move(able.error()));
  if (const auto misfit = misfit_of_routes(judged.config)) return std::unexpected(*misfit);
  return judged;
}

}  // namespace plnet::apps
