// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_wanted.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/admin/router_options.hpp"
#include "node/host/open_families.hpp"
#include "node/host/settled_config.hpp"

namespace plnet::node {
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

// The option whose value alone causes `error`; empty if there is none.
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

// Names the section at fault. An index would mislead: an edited file may list only part of the
// node's items.
std::optional<Misfit> misfit_of_whole(const NodeConfig& config) {
  const auto issues = check_node_config(config);
  if (issues.empty()) return std::nullopt;
  const auto& [path, what] = issues.front();
  return misfit_of_key({Errc::kInvalid, fmt::format("{}: {}", path, what)},
                       path.substr(0, path.find_first_of("[.")));
}

// The same refusal as that of adding the route, but before anything changes.
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

std::expected<void, Misfit> assign_nids(NodeConfig& wanted, const OpenFamilies& open) {
  for (NetConfig& net : wanted.nets) {
    for (NiConfig& ni : net.nis) {
      const FamilyHost* const host = open.host_of(net.net, ni);
      if (host == nullptr) continue;
      if (auto assigned = host->assign_nid(net.net, ni); !assigned)
        return std::unexpected(misfit_of_ni(assigned.error(), net, ni));
    }
  }
  for (const auto& host : open.hosts()) {
    if (auto together = host->check_together(wanted); !together)
      return std::unexpected(misfit_of_key(together.error(), "net"));
  }
  return {};
}

// Fails if the NI cannot be opened. An NI that resolves to the same as a present one is replaced by
// that one.
Outcome<void> judge_ni(const Judged& judged, const NetConfig& net, NiConfig& ni,
                       const NodeConfig& now, const NiResolver& resolver, const Ground& ground) {
  const Duration timeout = std::chrono::seconds(judged.config.parameters.lnd_timeout_s());
  const auto family = family_of(ground.families, net.net, ni);
  if (family && !resolver.rules_of(**family).is_opened()) {
    return resolver.rules_of(**family).check_unopened(judged.config, net.net, ni, ground.cpts);
  }
  auto resolved = resolver.resolve(net.net, ni, ground.cpts, timeout);
  if (!resolved) return std::unexpected(resolved.error());
  const NiConfig* const there = ni_of(now, net.net, ni.nid);
  if (there == nullptr) return {};
  auto was = resolver.resolve(net.net, *there, ground.cpts, timeout);
  if (!was) return {};
  resolver.rules_of(*was->family).keep_in_force(*there, was->setup);
  resolver.rules_of(*resolved->family).keep_in_force(ni, resolved->setup);
  if (come_to_same(*was, *resolved, ground.cpts)) ni = *there;
  return {};
}

// Both NIs are resolved with the wanted options, so that defaults count with their future values.
std::expected<void, Misfit> judge_nis(Judged& judged, const NodeConfig& now, const Ground& ground) {
  const NiResolver resolver(ground.families, judged.config, ground.settings, ground.open);
  for (NetConfig& net : judged.config.nets) {
    for (NiConfig& ni : net.nis) {
      if (has_ni(now, net.net, ni)) continue;
      if (auto able = judge_ni(judged, net, ni, now, resolver, ground); !able)
        return std::unexpected(misfit_of_ni(able.error(), net, ni));
    }
  }
  return {};
}

}  // namespace

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
  return a.family == b.family && a.setup.nid == b.setup.nid &&
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
  if (ground.open != nullptr) {
    if (auto assigned = assign_nids(wanted, *ground.open); !assigned)
      return std::unexpected(std::move(assigned.error()));
  }
  settle_forwarding(wanted);
  if (const auto misfit = misfit_of_whole(wanted)) return std::unexpected(*misfit);
  for (const NetworkFamily* family : ground.families) {
    const auto check = [family](const NodeConfig& config) { return family->check_options(config); };
    if (const auto misfit = misfit_of_options(wanted, check)) return std::unexpected(*misfit);
  }
  if (const auto misfit = misfit_of_options(wanted, check_router_options))
    return std::unexpected(*misfit);
  judged.config = std::move(wanted);
  if (auto able = judge_nis(judged, now, ground); !able)
    return std::unexpected(std::move(able.error()));
  if (const auto misfit = misfit_of_routes(judged.config)) return std::unexpected(*misfit);
  return judged;
}

}  // namespace plnet::node
