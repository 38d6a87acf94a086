// SPDX-License-Identifier: BSD-3-Clause
// Items of a document joined to, or taken from, what a node has already.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"
#include "lib/runtime/config/lnet_document.hpp"

namespace plnet::runtime {
namespace {

using lnet::Nid;
using lnet::NodeConfig;

struct NidOrder {
  bool operator()(const Nid& a, const Nid& b) const { return std::memcmp(&a, &b, sizeof a) < 0; }
};

// What a field says that was checked when it was read; issues found there are reported already.
template <class Parsed>
std::optional<Parsed> sound(Outcome<Parsed> parsed) {
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

bool is_loopback(const std::string& net) {
  return net == "lo";
}

bool share_interface(const lnet::NiConfig& a, const lnet::NiConfig& b) {
  return is_same_ni(a, b) || std::ranges::any_of(a.interfaces, [&b](const std::string& name) {
           return std::ranges::find(b.interfaces, name) != b.interfaces.end();
         });
}

class Items {
 public:
  Items(const NodeConfig& base, const LnetDocument& document, std::vector<SettingsIssue>& issues)
      : config_(base), base_(base), document_(document), issues_(issues) {}

  NodeConfig add() {
    take_values();
    for (std::size_t i = 0; i < document_.nets.size(); ++i)
      add_net(document_.nets[i], fmt::format("net[{}]", i));
    for (std::size_t i = 0; i < document_.ip2nets.size(); ++i)
      add_rule(document_.ip2nets[i], fmt::format("ip2nets[{}]", i));
    for (std::size_t i = 0; i < document_.routes.size(); ++i)
      add_routes(document_.routes[i], fmt::format("route[{}]", i));
    add_peers();
    for (std::size_t i = 0; i < document_.udsps.size(); ++i)
      add_udsp(document_.udsps[i], fmt::format("udsp[{}]", i));
    return std::move(config_);
  }

  NodeConfig remove() {
    take_values();
    for (std::size_t i = 0; i < document_.nets.size(); ++i)
      remove_net(document_.nets[i], fmt::format("net[{}]", i));
    for (std::size_t i = 0; i < document_.ip2nets.size(); ++i)
      remove_rule(document_.ip2nets[i], fmt::format("ip2nets[{}]", i));
    for (std::size_t i = 0; i < document_.routes.size(); ++i)
      remove_routes(document_.routes[i], fmt::format("route[{}]", i));
    for (std::size_t i = 0; i < document_.peers.size(); ++i)
      remove_peer(document_.peers[i], fmt::format("peer[{}]", i));
    remove_udsps();
    return std::move(config_);
  }

 private:
  void complain(const std::string& path, std::string what) {
    issues_.push_back({path, path, std::move(what)});
  }

  void take_values() {
    config_.routing = document_.routing;
    config_.buffers = document_.buffers;
    // -1: as it was
    if (config_.buffers.tiny < 0) config_.buffers.tiny = base_.buffers.tiny;
    if (config_.buffers.small < 0) config_.buffers.small = base_.buffers.small;
    if (config_.buffers.large < 0) config_.buffers.large = base_.buffers.large;
    lnet::ParameterValues& values = config_.parameters;
    values = document_.parameters;
    // As lnet::set_global_variable() does it, one by one.
    if (values.max_interfaces >= 0 &&
        values.max_interfaces < static_cast<std::int32_t>(lnet::kInterfacesMin)) {
      values.max_interfaces = lnet::ParameterValues{}.max_interfaces;
    }
    const bool retries_named = values.retry_count != base_.parameters.retry_count;
    if (values.health_sensitivity == 0 && !retries_named) values.retry_count = 0;
  }

  template <class Item>
  lnet::NiConfig ni_of(const NiItem& item, const Item& defaults) {
    lnet::NiConfig ni;
    ni.interfaces = item.interfaces;
    if (ni.interfaces.empty() && !item.nid.empty()) ni.nid = sound(lnet::parse_nid(item.nid));
    ni.cpts = item.cpts.empty() ? defaults.cpts : item.cpts;
    const auto given = [](std::int32_t own, std::int32_t inherited) {
      return own == lnet::kDriverDefault ? inherited : own;
    };
    ni.tunables = {
        .peer_timeout_s = given(item.tunables.peer_timeout_s, defaults.tunables.peer_timeout_s),
        .peer_credits = given(item.tunables.peer_credits, defaults.tunables.peer_credits),
        .peer_buffer_credits =
            given(item.tunables.peer_buffer_credits, defaults.tunables.peer_buffer_credits),
        .credits = given(item.tunables.credits, defaults.tunables.credits)};
    ni.lnd_tunables = item.lnd_tunables.empty() ? defaults.lnd_tunables : item.lnd_tunables;
    return ni;
  }

  void check_tunables(lnet::NetId net, const std::vector<lnet::LndTunable>& tunables,
                      const std::string& path) {
    for (const lnet::LndTunable& tunable : tunables) {
      if (auto fits = check_lnd_tunable(net, tunable); !fits) {
        complain(path + ".lnd tunables." + tunable.name, fits.error().what);
      }
    }
  }

  void add_ip2net_text(const NetItem& item, const std::string& path) {
    if (!item.net_type.empty() || !item.nis.empty()) {
      return complain(path, "ip2net with net type or local NI(s), expected ip2net alone");
    }
    if (config_.ip2nets_text == item.ip2net) return;
    std::string joined = config_.ip2nets_text;
    joined += joined.empty() ? "" : "; ";
    joined += item.ip2net;
    if (auto rules = lnet::parse_ip2nets(joined); !rules) {
      return complain(path + ".ip2net", rules.error().what);
    }
    config_.ip2nets_text = std::move(joined);
  }

  void add_net(const NetItem& item, const std::string& path) {
    if (!item.ip2net.empty()) return add_ip2net_text(item, path);
    if (item.net_type.empty()) return complain(path, "no 'net type'");
    const auto id = sound(lnet::parse_net(item.net_type));
    if (!id || is_loopback(item.net_type)) return;
    if (item.nis.empty()) {
      return complain(path, fmt::format("network {} without local NI(s): missing mandatory "
                                        "parameters",
                                        item.net_type));
    }
    auto net = std::ranges::find(config_.nets, *id, &lnet::NetConfig::net);
    if (net == config_.nets.end()) {
      config_.nets.push_back({*id, {}});
      net = std::prev(config_.nets.end());
    }
    std::vector<lnet::NiConfig>& fresh = fresh_nis_[*id];
    for (std::size_t i = 0; i < item.nis.size(); ++i) {
      const std::string here = fmt::format("{}.local NI(s)[{}]", path, i);
      lnet::NiConfig ni = ni_of(item.nis[i], item);
      check_tunables(*id, ni.lnd_tunables, here);
      const auto shared = [&ni](const lnet::NiConfig& other) { return share_interface(ni, other); };
      if (std::ranges::any_of(fresh, shared)) {
        complain(here, fmt::format("duplicate NI: network {} has this interface or NID already",
                                   item.net_type));
        continue;
      }
      fresh.push_back(ni);
      const auto same = std::ranges::find_if(
          net->nis, [&ni](const auto& other) { return is_same_ni(ni, other); });
      if (same != net->nis.end()) {
        *same = std::move(ni);
      } else if (std::ranges::any_of(net->nis, shared)) {
        complain(here,
                 fmt::format("an interface of it is in another NI of network {}", item.net_type));
      } else {
        net->nis.push_back(std::move(ni));
      }
    }
  }

  void remove_net(const NetItem& item, const std::string& path) {
    if (!item.ip2net.empty()) {
      if (config_.ip2nets_text != item.ip2net) return complain(path, "no such ip2net rules");
      config_.ip2nets_text.clear();
      return;
    }
    if (item.net_type.empty()) return complain(path, "no 'net type'");
    const auto id = sound(lnet::parse_net(item.net_type));
    if (!id || is_loopback(item.net_type)) return;
    const auto net = std::ranges::find(config_.nets, *id, &lnet::NetConfig::net);
    if (net == config_.nets.end()) {
      return complain(path, fmt::format("network {} is not configured", item.net_type));
    }
    for (std::size_t i = 0; i < item.nis.size(); ++i) {
      const lnet::NiConfig ni = ni_of(item.nis[i], item);
      const auto gone =
          std::erase_if(net->nis, [&ni](const auto& other) { return is_same_ni(ni, other); });
      if (gone == 0) {
        complain(fmt::format("{}.local NI(s)[{}]", path, i),
                 fmt::format("network {} has no such NI", item.net_type));
      }
    }
    if (item.nis.empty() || net->nis.empty()) config_.nets.erase(net);
  }

  std::optional<lnet::Ip2NetsConfig> rule_of(const Ip2NetsItem& item, const std::string& path) {
    if (item.net_spec.empty()) {
      complain(path, "no 'net-spec'");
      return std::nullopt;
    }
    const auto net = sound(lnet::parse_net(item.net_spec));
    if (!net) return std::nullopt;
    if (is_loopback(item.net_spec)) {
      complain(path, "network lo cannot be configured");
      return std::nullopt;
    }
    lnet::Ip2NetsConfig rule{.net = *net,
                             .interfaces = item.interfaces,
                             .ranges = {},
                             .cpts = item.cpts,
                             .tunables = item.tunables,
                             .lnd_tunables = item.lnd_tunables};
    for (const std::string& range : item.ranges) {
      auto pattern =
          sound(lnet::parse_address_pattern(lnet::TextPart(range), lnet::AddressStyle::kIpv4Ipv6));
      if (pattern) rule.ranges.push_back(std::move(*pattern));
    }
    return rule;
  }

  void add_rule(const Ip2NetsItem& item, const std::string& path) {
    const auto rule = rule_of(item, path);
    if (!rule) return;
    check_tunables(rule->net, rule->lnd_tunables, path);
    const auto is_it = [&rule](const lnet::Ip2NetsConfig& other) { return other == *rule; };
    if (std::ranges::any_of(fresh_rules_, is_it)) {
      return complain(path, "duplicate rule: it stands in the document already");
    }
    fresh_rules_.push_back(*rule);
    if (std::ranges::none_of(config_.ip2nets, is_it)) config_.ip2nets.push_back(*rule);
  }

  void remove_rule(const Ip2NetsItem& item, const std::string& path) {
    const auto rule = rule_of(item, path);
    if (!rule) return;
    if (std::erase(config_.ip2nets, *rule) == 0) complain(path, "no such rule");
  }

  // The routes that one item means: a gateway may be a range.
  std::vector<lnet::RouteConfig> routes_of(const RouteItem& item, const std::string& path) {
    if (item.net.empty() || item.gateway.empty()) {
      complain(path, item.net.empty() ? "no 'net'" : "no 'gateway'");
      return {};
    }
    const auto net = sound(lnet::parse_net(item.net));
    const auto ranges = sound(lnet::NidRangeList::parse(item.gateway));
    if (!net || !ranges) return {};
    const auto gateways = ranges->expand();
    if (!gateways) {
      complain(path + ".gateway", gateways.error().what);
      return {};
    }
    if (item.hop == 0) {
      complain(path + ".hop", "invalid hop count 0, must be between 1 and 255");
      return {};
    }
    std::vector<lnet::RouteConfig> routes;
    for (const Nid& gateway : *gateways)
      routes.push_back({*net, gateway, item.hop, static_cast<std::uint32_t>(item.priority)});
    return routes;
  }

  void add_routes(const RouteItem& item, const std::string& path) {
    for (const lnet::RouteConfig& route : routes_of(item, path)) {
      if (!fresh_routes_[route.net].insert(route.gateway).second) {
        complain(path, fmt::format("duplicate route: to {} by {} stands in the document already",
                                   item.net, text_of(route.gateway)));
        continue;
      }
      if (route.gateway.net() == route.net) {
        complain(path, fmt::format("gateway {} is on the network that it shall lead to",
                                   text_of(route.gateway)));
      }
      const auto same = std::ranges::find_if(config_.routes, [&route](const auto& other) {
        return other.net == route.net && other.gateway == route.gateway;
      });
      if (same != config_.routes.end()) {
        *same = route;
      } else if (config_.routes.size() < lnet::kRoutesMax) {
        config_.routes.push_back(route);
      } else {
        return complain(path,
                        fmt::format("too many routes, expected at most {}", lnet::kRoutesMax));
      }
    }
  }

  void remove_routes(const RouteItem& item, const std::string& path) {
    for (const lnet::RouteConfig& route : routes_of(item, path)) {
      const auto gone = std::erase_if(config_.routes, [&route](const auto& other) {
        return other.net == route.net && other.gateway == route.gateway;
      });
      if (gone > 0) continue;
      complain(path, fmt::format("no route to {} by {}", item.net, text_of(route.gateway)));
    }
  }

  // Its NIDs, ranges expanded, each once, the primary first.
  std::optional<lnet::PeerConfig> peer_of(const PeerItem& item, const std::string& path) {
    if (item.primary_nid.empty()) {
      complain(path, "the 'primary nid' must be specified");
      return std::nullopt;
    }
    const auto primary = sound(lnet::parse_nid(item.primary_nid));
    if (!primary) return std::nullopt;
    if (primary->is_loopback()) {
      complain(path, "0@lo is no peer");
      return std::nullopt;
    }
    lnet::PeerConfig peer{.primary = *primary,
                          .multi_rail = item.multi_rail,
                          .lock_primary = item.lock_primary,
                          .nids = {*primary}};
    std::set<Nid, NidOrder> seen{*primary};
    for (std::size_t i = 0; i < item.nis.size(); ++i) {
      const std::string here = fmt::format("{}.peer ni[{}].nid", path, i);
      const auto ranges = sound(lnet::NidRangeList::parse(item.nis[i].nid));
      if (!ranges) {
        if (item.nis[i].nid.empty()) complain(here, "no NID");
        continue;
      }
      const auto nids = ranges->expand();
      if (!nids) {
        complain(here, nids.error().what);
        continue;
      }
      for (const Nid& nid : *nids) {
        if (seen.insert(nid).second) peer.nids.push_back(nid);
      }
    }
    return peer;
  }

  void add_peers() {
    std::map<Nid, std::size_t, NidOrder> owners;  // NID → index in config_.peers
    for (std::size_t i = 0; i < config_.peers.size(); ++i) {
      for (const Nid& nid : config_.peers[i].nids)
        owners.emplace(nid, i);
    }
    std::set<Nid, NidOrder> fresh;
    for (std::size_t i = 0; i < document_.peers.size(); ++i) {
      const std::string path = fmt::format("peer[{}]", i);
      const auto peer = peer_of(document_.peers[i], path);
      if (!peer) continue;
      if (!fresh.insert(peer->primary).second) {
        complain(path, fmt::format("duplicate peer: {} stands in the document already",
                                   text_of(peer->primary)));
        continue;
      }
      add_peer(*peer, owners, path);
    }
  }

  void add_peer(const lnet::PeerConfig& peer, std::map<Nid, std::size_t, NidOrder>& owners,
                const std::string& path) {
    const auto owner = owners.find(peer.primary);
    const bool known = owner != owners.end();
    const std::size_t index = known ? owner->second : config_.peers.size();
    if (known && config_.peers[index].primary != peer.primary) {
      return complain(path, fmt::format("{} belongs to peer {}", text_of(peer.primary),
                                        text_of(config_.peers[index].primary)));
    }
    lnet::PeerConfig merged = known ? config_.peers[index] : lnet::PeerConfig{};
    merged.primary = peer.primary;
    merged.multi_rail = peer.multi_rail;
    merged.lock_primary = peer.lock_primary || merged.lock_primary;
    for (const Nid& nid : peer.nids) {
      const auto [place, is_new] = owners.try_emplace(nid, index);
      if (is_new) {
        merged.nids.push_back(nid);
      } else if (place->second != index) {
        complain(path, fmt::format("{} belongs to peer {}", text_of(nid),
                                   text_of(config_.peers[place->second].primary)));
      }
    }
    if (!merged.multi_rail && merged.nids.size() > 1) {
      complain(path, "Multi-Rail: False with several NIDs, expected only the primary one");
    }
    if (merged.nids.size() > lnet::kInterfacesMax) {
      complain(path, fmt::format("{} NIDs, expected at most {}", merged.nids.size(),
                                 lnet::kInterfacesMax));
    }
    if (known) {
      config_.peers[index] = std::move(merged);
    } else if (config_.peers.size() < lnet::kConfiguredPeersMax) {
      config_.peers.push_back(std::move(merged));
    } else {
      complain(path, fmt::format("too many peers, expected at most {}", lnet::kConfiguredPeersMax));
    }
  }

  void remove_peer(const PeerItem& item, const std::string& path) {
    const auto peer = peer_of(item, path);
    if (!peer) return;
    const auto known = std::ranges::find(config_.peers, peer->primary, &lnet::PeerConfig::primary);
    if (known == config_.peers.end()) {
      return complain(path, fmt::format("no peer {}", text_of(peer->primary)));
    }
    // The primary alone, or named among the NIDs: the whole peer. peer_of() puts it first, so look
    // at what was written.
    const bool whole = item.nis.empty() || std::ranges::any_of(item.nis, [&](const PeerNiItem& ni) {
                         const auto ranges = sound(lnet::NidRangeList::parse(ni.nid));
                         return ranges && ranges->matches(peer->primary);
                       });
    if (whole) {
      config_.peers.erase(known);
      return;
    }
    for (const Nid& nid : std::span(peer->nids).subspan(1)) {
      if (std::erase(known->nids, nid) > 0) continue;
      complain(path, fmt::format("peer {} has no NID {}", text_of(peer->primary), text_of(nid)));
    }
  }

  std::optional<lnet::UdspConfig> udsp_of(const UdspItem& item, const std::string& path) {
    const auto range = [](const std::string& text) -> std::optional<lnet::UdspRange> {
      if (text.empty() || text == "NA") return std::nullopt;
      return sound(lnet::UdspRange::parse(text));
    };
    lnet::UdspConfig udsp{.source = range(item.source),
                          .destination = range(item.destination),
                          .router = range(item.router),
                          .priority = std::nullopt};
    if (item.priority >= 0) udsp.priority = static_cast<std::uint32_t>(item.priority);
    if (!udsp.source && !udsp.destination && !udsp.router) {
      complain(path, "a policy without src, dst and rte, expected one of them");
      return std::nullopt;
    }
    return udsp;
  }

  void add_udsp(const UdspItem& item, const std::string& path) {
    const auto udsp = udsp_of(item, path);
    if (!udsp) return;
    auto& udsps = config_.udsps;
    const auto same = std::ranges::find_if(udsps, [&udsp](const lnet::UdspConfig& other) {
      return other.source == udsp->source && other.destination == udsp->destination &&
             other.router == udsp->router &&
             other.priority.has_value() == udsp->priority.has_value();
    });
    if (same != udsps.end()) {
      const auto index = static_cast<std::size_t>(same - udsps.begin());
      if (!fresh_udsps_.insert(index).second) complain(path, "duplicate policy");
      same->priority = udsp->priority;
      return;
    }
    if (udsps.size() >= lnet::kConfiguredUdspsMax) return complain(path, "too many policies");
    const auto at =
        item.idx < 0 ? udsps.size() : std::min(static_cast<std::size_t>(item.idx), udsps.size());
    udsps.insert(udsps.begin() + static_cast<std::ptrdiff_t>(at), *udsp);
    std::set<std::size_t> moved;
    for (const std::size_t index : fresh_udsps_)
      moved.insert(index < at ? index : index + 1);
    fresh_udsps_ = std::move(moved);
    fresh_udsps_.insert(at);
  }

  // By index, as they were numbered before the first of them went.
  void remove_udsps() {
    std::set<std::size_t> gone;
    for (std::size_t i = 0; i < document_.udsps.size(); ++i) {
      const std::int64_t index = document_.udsps[i].idx;
      const std::string path = fmt::format("udsp[{}]", i);
      if (index < 0 || std::cmp_greater_equal(index, config_.udsps.size())) {
        complain(path, index < 0 ? "no 'idx'" : fmt::format("no policy {}", index));
      } else {
        gone.insert(static_cast<std::size_t>(index));
      }
    }
    for (auto index = gone.rbegin(); index != gone.rend(); ++index)
      config_.udsps.erase(config_.udsps.begin() + static_cast<std::ptrdiff_t>(*index));
  }

  NodeConfig config_;
  const NodeConfig& base_;
  const LnetDocument& document_;
  std::vector<SettingsIssue>& issues_;
  // What the document itself brought, to find what stands there twice.
  std::map<lnet::NetId, std::vector<lnet::NiConfig>> fresh_nis_;
  std::map<lnet::NetId, std::set<Nid, NidOrder>> fresh_routes_;
  std::vector<lnet::Ip2NetsConfig> fresh_rules_;
  std::set<std::size_t> fresh_udsps_;
};

// What only the whole can tell. Indices of the node are not those of the document: the section is
// named instead.
void check_whole(const NodeConfig& config, std::vector<SettingsIssue>& issues) {
  if (!issues.empty()) return;
  for (const lnet::NodeConfigIssue& issue : check_node_config(config)) {
    const std::string path = issue.path.substr(0, issue.path.find('['));
    issues.push_back({path, path, issue.what});
  }
}

}  // namespace

NodeConfig add_items(const NodeConfig& base, const LnetDocument& document,
                     std::vector<SettingsIssue>& issues) {
  NodeConfig config = Items(base, document, issues).add();
  check_whole(config, issues);
  return config;
}

NodeConfig remove_items(const NodeConfig& base, const LnetDocument& document,
                        std::vector<SettingsIssue>& issues) {
  NodeConfig config = Items(base, document, issues).remove();
  check_whole(config, issues);
  return config;
}

}  // namespace plnet::runtime
