// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/verb_args.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/lnet/names/networks_text.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/number_list.hpp"
#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {
namespace {

constexpr std::int64_t kTunableMax = 0x7fffffff;

std::unexpected<Error> missing(std::string what) {
  return failure(Errc::kMissing, std::move(what));
}

// Sets `out` if the number is given.
template <class T>
Outcome<void> take_number(const VerbArgs& args, const char* name, std::int64_t low,
                          std::int64_t high, T& out) {
  const auto number = number_arg(args, name, low, high);
  if (!number) return std::unexpected(number.error());
  if (const auto& given = *number) out = static_cast<std::int32_t>(*given);
  return {};
}

Outcome<void> take_tunables(const VerbArgs& args, lnet::RequestedTunables& tunables) {
  struct Row {
    const char* name;
    std::int32_t lnet::RequestedTunables::* member;
  };
  static constexpr std::array kRows{
      Row{"peer_timeout", &lnet::RequestedTunables::peer_timeout_s},
      Row{"peer_credits", &lnet::RequestedTunables::peer_credits},
      Row{"peer_buffer_credits", &lnet::RequestedTunables::peer_buffer_credits},
      Row{"credits", &lnet::RequestedTunables::credits}};
  for (const Row& row : kRows) {
    auto taken = take_number(args, row.name, -1, kTunableMax, tunables.*row.member);
    if (!taken) return taken;
  }
  return {};
}

Outcome<void> take_lnd_tunables(const VerbArgs& args, lnet::NetId net,
                                std::vector<lnet::LndTunable>& tunables) {
  for (const char* const name : {"conns_per_peer", "tos", "auth_key"}) {
    const auto number = number_arg(args, name, INT32_MIN, kTunableMax);
    if (!number) return std::unexpected(number.error());
    if (const auto& given = *number) tunables.push_back({name, *given});
  }
  for (const char* const name : {"traffic_class", "driver"}) {
    if (std::string text = text_arg(args, name); !text.empty()) {
      tunables.push_back({name, std::move(text)});
    }
  }
  for (const lnet::LndTunable& tunable : tunables) {
    if (auto fits = check_lnd_tunable(net, tunable); !fits) return fits;
  }
  return {};
}

// IFLIST: "eth0,eth1[0,1]".
Outcome<std::vector<lnet::NiConfig>> nis_of(const std::string& net, const std::string& list) {
  const auto networks = lnet::parse_networks(fmt::format("{}({})", net, list));
  if (!networks || networks->size() != 1) {
    return failure(Errc::kInvalid, fmt::format("bad interface list '{}'{}", list,
                                               networks ? "" : ": " + networks.error().what));
  }
  std::vector<lnet::NiConfig> nis;
  for (const lnet::InterfaceSpec& interface : networks->front().interfaces) {
    lnet::NiConfig& ni = nis.emplace_back();
    ni.interfaces = {interface.name};
    ni.cpts = interface.cpts;
  }
  return nis;
}

Outcome<lnet::NetConfig> with_nids(const VerbArgs& args) {
  if (args.contains("net") || args.contains("if")) {
    return failure(Errc::kInvalid, "--net and --if do not go with --nid");
  }
  const auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  lnet::NetConfig net{nids->front().net(), {}};
  for (const lnet::Nid& nid : *nids) {
    if (nid.net() != net.net) {
      return failure(Errc::kInvalid, "--nid: expected NIDs of one network");
    }
    net.nis.emplace_back().nid = nid;
  }
  return net;
}

Outcome<lnet::NetConfig> with_interfaces(const VerbArgs& args) {
  const std::string name = text_arg(args, "net");
  const std::string interfaces = text_arg(args, "if");
  if (name.empty() || interfaces.empty()) {
    return missing("missing mandatory parameters in NI config: expected --net and --if, or --nid");
  }
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  auto nis = nis_of(name, interfaces);
  if (!nis) return std::unexpected(nis.error());
  return lnet::NetConfig{*net, std::move(*nis)};
}

}  // namespace

std::string text_arg(const VerbArgs& args, const char* name) {
  return args.contains(name) ? args.at(name).get<std::string>() : std::string{};
}

bool flag_arg(const VerbArgs& args, const char* name) {
  return args.contains(name) && args.at(name).get<bool>();
}

Outcome<std::optional<std::int64_t>> number_arg(const VerbArgs& args, const char* name,
                                                std::int64_t low, std::int64_t high) {
  if (!args.contains(name)) return std::nullopt;
  const auto number = args.at(name).get<std::int64_t>();
  if (number >= low && number <= high) return number;
  return failure(Errc::kOutOfRange,
                 fmt::format("{}: {} is out of range, expected {} to {}", name, number, low, high));
}

Outcome<std::optional<lnet::Nid>> nid_arg(const VerbArgs& args, const char* name) {
  const std::string text = text_arg(args, name);
  if (text.empty()) return std::nullopt;
  const auto nid = lnet::parse_nid(text);
  if (nid) return *nid;
  return failure(Errc::kInvalid, fmt::format("cannot parse NID '{}': {}", text, nid.error().what));
}

Outcome<lnet::NetId> net_arg(const VerbArgs& args, const char* name) {
  const std::string text = text_arg(args, name);
  if (text.empty()) return lnet::kNetAny;
  const auto net = lnet::parse_net(text);
  if (net) return *net;
  return failure(Errc::kInvalid, fmt::format("cannot parse net '{}': {}", text, net.error().what));
}

Outcome<std::vector<lnet::Nid>> nids_arg(const VerbArgs& args, const char* name) {
  std::vector<lnet::Nid> nids;
  if (!args.contains(name)) return nids;
  std::vector<std::string> lists;
  if (args.at(name).is_array()) {
    lists = args.at(name).get<std::vector<std::string>>();
  } else {
    lists.push_back(text_arg(args, name));
  }
  for (const std::string& list : lists) {
    const lnet::TextPart whole(list);
    for (const lnet::TextPart& part : lnet::split_ranges(whole)) {
      if (const auto nid = lnet::parse_nid(part.text())) {
        nids.push_back(*nid);
        continue;
      }
      const auto ranges = lnet::NidRangeList::parse(part.text());
      auto expanded = ranges ? ranges->expand() : std::unexpected(ranges.error());
      if (!expanded) {
        return failure(Errc::kInvalid, fmt::format("cannot parse NID '{}': {}", part.text(),
                                                   expanded.error().what));
      }
      nids.insert(nids.end(), expanded->begin(), expanded->end());
    }
    if (nids.size() > lnet::kNidsPerOperationMax) {
      return failure(Errc::kTooBig,
                     fmt::format("{}: expected at most {} NIDs", name, lnet::kNidsPerOperationMax));
    }
  }
  if (nids.empty()) return failure(Errc::kInvalid, fmt::format("{}: expected a NID", name));
  return nids;
}

Outcome<void> take_texts(const VerbArgs& args, std::span<const Key> keys, void* record) {
  for (const Key& key : keys) {
    if (key.kind != KeyKind::kText) continue;
    const std::string text = text_arg(args, std::string(key.name).c_str());
    if (text.empty()) continue;
    if (auto sound = key.check(text); !sound) return sound;
    key.binding.set(record, text);
  }
  return {};
}

int level_arg(const VerbArgs& args) {
  const auto level = args.contains("verbose") ? args.at("verbose").get<std::int64_t>() : 0;
  return static_cast<int>(std::clamp<std::int64_t>(level, 0, lnet::kReportLevelMax));
}

Outcome<lnet::ConnectionQuery> connection_query(const VerbArgs& args) {
  lnet::ConnectionQuery query;
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  if (*net != lnet::kNetAny) query.net = *net;
  const auto nid = nid_arg(args, "nid");
  if (!nid) return std::unexpected(nid.error());
  query.nid = *nid;
  return query;
}

Outcome<lnet::NetConfig> net_to_add(const VerbArgs& args) {
  auto net = args.contains("nid") ? with_nids(args) : with_interfaces(args);
  if (!net) return net;
  lnet::NiConfig common;
  if (auto taken = take_tunables(args, common.tunables); !taken) {
    return std::unexpected(taken.error());
  }
  if (auto taken = take_lnd_tunables(args, net->net, common.lnd_tunables); !taken) {
    return std::unexpected(taken.error());
  }
  if (const std::string cpts = text_arg(args, "cpt"); !cpts.empty()) {
    const auto list = lnet::parse_number_list(lnet::TextPart(cpts), lnet::kCptsMax - 1, "a CPT");
    if (!list) return std::unexpected(list.error());
    common.cpts = list->expand();
    if (common.cpts.size() == lnet::kCptsMax) common.cpts.clear();  // "*"
  }
  for (lnet::NiConfig& ni : net->nis) {
    ni.tunables = common.tunables;
    ni.lnd_tunables = common.lnd_tunables;
    if (ni.cpts.empty()) ni.cpts = common.cpts;
  }
  lnet::NodeConfig alone;
  alone.nets = {*net};
  if (const auto issues = check_node_config(alone); !issues.empty()) {
    return failure(Errc::kInvalid, issues.front().what);
  }
  return net;
}

Outcome<lnet::NetSelection> net_to_delete(const VerbArgs& args) {
  lnet::NetSelection selection;
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  selection.net = *net;
  auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  selection.nids = std::move(*nids);
  if (selection.net == lnet::kNetAny && selection.nids.empty()) {
    return missing("missing mandatory parameter: expected --net or --nid");
  }
  if (const std::string interfaces = text_arg(args, "if"); !interfaces.empty()) {
    if (selection.net == lnet::kNetAny) return missing("--if goes with --net");
    const auto nis = nis_of(text_arg(args, "net"), interfaces);
    if (!nis) return std::unexpected(nis.error());
    for (const lnet::NiConfig& ni : *nis)
      selection.interfaces.push_back(ni.interfaces.front());
  }
  return selection;
}

Outcome<lnet::NiChange> ni_change(const VerbArgs& args) {
  lnet::NiChange change;
  const auto nid = nid_arg(args, "nid");
  if (!nid) return std::unexpected(nid.error());
  change.nid = *nid;
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  change.net = *net;
  change.all = flag_arg(args, "all");
  for (auto taken :
       {take_number(args, "health", 0, lnet::kHealthMax, change.health),
        take_number(args, "conns_per_peer", 0, 127, change.connections_per_peer),
        take_number(args, "lnd_timeout", 0, lnet::kLndTimeoutMaxS, change.lnd_timeout_s)}) {
    if (!taken) return std::unexpected(taken.error());
  }
  if (change.lnd_timeout_s && change.net == lnet::kNetAny) {
    return missing("Specified --lnd-timeout without --net option");
  }
  if (!change.nid && !change.all && change.net == lnet::kNetAny) {
    return missing("expected --nid, --net or --all");
  }
  if (change.all && change.nid) return failure(Errc::kInvalid, "expected --all or --nid, not both");
  if (!change.health && !change.connections_per_peer && !change.lnd_timeout_s) {
    return missing("expected --health, --conns-per-peer or --lnd-timeout");
  }
  return change;
}

Outcome<lnet::PeerConfig> peer_to_add(const VerbArgs& args) {
  const auto primary = nid_arg(args, "prim_nid");
  if (!primary) return std::unexpected(primary.error());
  const std::optional<lnet::Nid>& named = *primary;
  if (!named) return missing("missing required primary NID: expected --prim_nid");
  const auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  lnet::PeerConfig peer{.primary = *named,
                        .multi_rail = !flag_arg(args, "non_mr"),
                        .lock_primary = flag_arg(args, "lock_prim"),
                        .nids = {*named}};
  for (const lnet::Nid& nid : *nids) {
    if (std::ranges::find(peer.nids, nid) == peer.nids.end()) peer.nids.push_back(nid);
  }
  lnet::NodeConfig alone;
  alone.peers = {peer};
  if (const auto issues = check_node_config(alone); !issues.empty()) {
    return failure(Errc::kInvalid, issues.front().what);
  }
  return peer;
}

Outcome<lnet::PeerSelection> peer_to_delete(const VerbArgs& args) {
  const auto primary = nid_arg(args, "prim_nid");
  if (!primary) return std::unexpected(primary.error());
  const std::optional<lnet::Nid>& named = *primary;
  if (!named) return missing("missing required primary NID: expected --prim_nid");
  auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  return lnet::PeerSelection{
      .primary = *named, .nids = std::move(*nids), .force = flag_arg(args, "force")};
}

Outcome<lnet::PeerNiChange> peer_ni_change(const VerbArgs& args) {
  lnet::PeerNiChange change;
  const auto nid = nid_arg(args, "nid");
  if (!nid) return std::unexpected(nid.error());
  change.nid = *nid;
  change.all = flag_arg(args, "all");
  if (auto taken = take_number(args, "health", 0, lnet::kHealthMax, change.health); !taken) {
    return std::unexpected(taken.error());
  }
  const auto state = number_arg(args, "state", 0, UINT32_MAX);
  if (!state) return std::unexpected(state.error());
  if (const auto& given = *state) change.state = static_cast<std::uint32_t>(*given);
  if (!change.nid && !change.all) return missing("expected --nid or --all");
  if (!change.health && !change.state) return missing("expected --health or --state");
  return change;
}

Outcome<std::vector<lnet::RouteConfig>> routes_of(const VerbArgs& args) {
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  if (*net == lnet::kNetAny || !args.contains("gateway")) {
    return missing("missing mandatory parameters in route config: expected --net and --gateway");
  }
  const auto gateways = nids_arg(args, "gateway");
  if (!gateways) {
    return failure(gateways.error().code,
                   fmt::format("cannot parse gateway NID '{}': {}", text_arg(args, "gateway"),
                               gateways.error().what));
  }
  const char* const hop = args.contains("hop_count") ? "hop_count" : "hop";
  const auto hops = number_arg(args, hop, lnet::kHopsUndefined, lnet::kHopsMax);
  const auto priority = number_arg(args, "priority", 0, kTunableMax);
  if (!hops || hops->value_or(1) == 0) {
    return failure(Errc::kOutOfRange, "invalid hop count, must be between 1 and 255");
  }
  if (!priority) return std::unexpected(priority.error());
  std::vector<lnet::RouteConfig> routes;
  for (const lnet::Nid& gateway : *gateways) {
    routes.push_back({*net, gateway, static_cast<int>(hops->value_or(lnet::kHopsUndefined)),
                      static_cast<std::uint32_t>(priority->value_or(0))});
  }
  return routes;
}

}  // namespace plnet::runtime
