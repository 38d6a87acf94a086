// SPDX-License-Identifier: BSD-3-Clause
// Networks, and rules that make networks of addresses.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/nets_by_address.hpp"
#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

bool is_loopback(const std::string& net) {
  return net == "lo";
}

// Two NIs of an interface with several addresses are told apart by their NIDs.
bool share_interface(const lnet::NiConfig& a, const lnet::NiConfig& b) {
  if (a.nid && b.nid) return *a.nid == *b.nid;
  return is_same_ni(a, b) || std::ranges::any_of(a.interfaces, [&b](const std::string& name) {
           return std::ranges::find(b.interfaces, name) != b.interfaces.end();
         });
}

class NetItems : private Items {
 public:
  using Items::Items;

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
      const auto meant = meant_by(ni, net->nis, item);
      if (meant != net->nis.end()) take_names(ni, *meant);
      const auto shared = [&ni](const lnet::NiConfig& other) { return share_interface(ni, other); };
      if (std::ranges::any_of(fresh, shared)) {
        complain(here, fmt::format("duplicate NI: network {} has this interface or NID already",
                                   item.net_type));
        continue;
      }
      fresh.push_back(ni);
      if (meant != net->nis.end()) {
        *meant = std::move(ni);
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
      // Rules that were carried out have become networks, and those are named to go.
      if (config_.ip2nets_text == item.ip2net) config_.ip2nets_text.clear();
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
      const auto meant = meant_by(ni_of(item.nis[i], item), net->nis, item);
      if (meant != net->nis.end()) {
        net->nis.erase(meant);
      } else {
        complain(fmt::format("{}.local NI(s)[{}]", path, i),
                 fmt::format("network {} has no such NI", item.net_type));
      }
    }
    if (item.nis.empty() || net->nis.empty()) config_.nets.erase(net);
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
    std::erase(config_.ip2nets, *rule);
  }

 private:
  // With interfaces whose NIDs no address tells, the driver does: exports only repeat it.
  static std::optional<lnet::Nid> nid_of(const NiItem& item) {
    if (item.nid.empty()) return std::nullopt;
    const auto nid = sound(lnet::parse_nid(item.nid));
    const bool tells = nid && (item.interfaces.empty() || lnet::is_internet(nid->net()));
    return tells ? nid : std::nullopt;
  }

  // That of `nis` which the document means: by its NID, else by its interfaces, unless the document
  // has that one by its own NID.
  static std::vector<lnet::NiConfig>::iterator meant_by(const lnet::NiConfig& ni,
                                                        std::vector<lnet::NiConfig>& nis,
                                                        const NetItem& item) {
    const auto by_nid = std::ranges::find_if(
        nis, [&ni](const auto& other) { return ni.nid && other.nid == ni.nid; });
    if (by_nid != nis.end()) return by_nid;
    return std::ranges::find_if(nis, [&](const lnet::NiConfig& other) {
      if (!ni.nid || !other.nid) return is_same_ni(ni, other);
      return !ni.interfaces.empty() && ni.interfaces == other.interfaces &&
             std::ranges::none_of(
                 item.nis, [&other](const NiItem& each) { return nid_of(each) == other.nid; });
    });
  }

  // One that was told by its NID alone stays so, though exports show its interface; one that has
  // got a NID keeps it.
  static void take_names(lnet::NiConfig& ni, const lnet::NiConfig& there) {
    const bool same_nid = ni.nid && ni.nid == there.nid;
    if (same_nid && there.interfaces.empty()) ni.interfaces.clear();
    if (!ni.interfaces.empty() && ni.interfaces == there.interfaces && there.nid)
      ni.nid = there.nid;
  }

  template <class Item>
  lnet::NiConfig ni_of(const NiItem& item, const Item& defaults) {
    lnet::NiConfig ni;
    ni.interfaces = item.interfaces;
    ni.nid = nid_of(item);
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

  // What the document itself brought, to find what stands there twice.
  std::map<lnet::NetId, std::vector<lnet::NiConfig>> fresh_nis_;
  std::vector<lnet::Ip2NetsConfig> fresh_rules_;
};

}  // namespace

void add_nets(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  NetItems items(config, issues);
  for (std::size_t i = 0; i < document.nets.size(); ++i)
    items.add_net(document.nets[i], fmt::format("net[{}]", i));
  for (std::size_t i = 0; i < document.ip2nets.size(); ++i)
    items.add_rule(document.ip2nets[i], fmt::format("ip2nets[{}]", i));
}

void remove_nets(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  NetItems items(config, issues);
  for (std::size_t i = 0; i < document.nets.size(); ++i)
    items.remove_net(document.nets[i], fmt::format("net[{}]", i));
  for (std::size_t i = 0; i < document.ip2nets.size(); ++i)
    items.remove_rule(document.ip2nets[i], fmt::format("ip2nets[{}]", i));
}

}  // namespace plnet::runtime
