// SPDX-License-Identifier: BSD-3-Clause
// Networks, and rules by address that make networks.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/nets_by_address.hpp"
#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

constexpr lnet::NetId kLoopbackNet = lnet::make_net(lnet::NetType::kLoopback);

// The NIs of an item. NIs without CPTs and tunables of their own get those of the item.
std::vector<lnet::NiConfig> nis_of(const NetItem& item) {
  std::vector<lnet::NiConfig> nis = item.net.nis;
  for (lnet::NiConfig& ni : nis) {
    // If NIDs are not IP addresses, the driver finds the NID by the interface; the NID of an
    // export only repeats it.
    if (ni.nid && !ni.interfaces.empty() && !lnet::is_internet(ni.nid->net())) ni.nid.reset();
    if (ni.cpts.empty()) ni.cpts = item.cpts;
    if (ni.lnd_tunables.empty()) ni.lnd_tunables = item.lnd_tunables;
    using Tunables = lnet::RequestedTunables;
    for (const auto member : {&Tunables::peer_timeout_s, &Tunables::peer_credits,
                              &Tunables::peer_buffer_credits, &Tunables::credits}) {
      if (ni.tunables.*member == lnet::kDriverDefault) ni.tunables.*member = item.tunables.*member;
    }
  }
  return nis;
}

// NIs of one interface with several addresses are distinguished by their NIDs.
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
    const lnet::NetId id = item.net.net;
    if (id == lnet::kNetAny) return complain(path, "no 'net type'");
    if (id == kLoopbackNet) return;
    const std::string name = lnet::text_of_net(id);
    std::vector<lnet::NiConfig> nis = nis_of(item);
    if (nis.empty()) {
      return complain(path, fmt::format("network {} without local NI(s): missing mandatory "
                                        "parameters",
                                        name));
    }
    auto net = std::ranges::find(config_.nets, id, &lnet::NetConfig::net);
    if (net == config_.nets.end()) {
      config_.nets.push_back({id, {}});
      net = std::prev(config_.nets.end());
    }
    std::vector<lnet::NiConfig>& fresh = fresh_nis_[id];
    for (std::size_t i = 0; i < nis.size(); ++i) {
      const std::string here = fmt::format("{}.local NI(s)[{}]", path, i);
      lnet::NiConfig ni = nis[i];
      check_tunables(id, ni.lnd_tunables, here);
      const auto meant = meant_by(ni, net->nis, nis);
      if (meant != net->nis.end()) take_names(ni, *meant);
      const auto shared = [&ni](const lnet::NiConfig& other) { return share_interface(ni, other); };
      if (std::ranges::any_of(fresh, shared)) {
        complain(here,
                 fmt::format("duplicate NI: network {} has this interface or NID already", name));
        continue;
      }
      fresh.push_back(ni);
      if (meant != net->nis.end()) {
        *meant = std::move(ni);
      } else if (std::ranges::any_of(net->nis, shared)) {
        complain(here, fmt::format("an interface of it is in another NI of network {}", name));
      } else {
        net->nis.push_back(std::move(ni));
      }
    }
  }

  void remove_net(const NetItem& item, const std::string& path) {
    if (!item.ip2net.empty()) {
      // The node may have made networks of the rules already: then the document names these, too.
      if (config_.ip2nets_text == item.ip2net) config_.ip2nets_text.clear();
      return;
    }
    const lnet::NetId id = item.net.net;
    if (id == lnet::kNetAny) return complain(path, "no 'net type'");
    if (id == kLoopbackNet) return;
    const std::string name = lnet::text_of_net(id);
    const auto net = std::ranges::find(config_.nets, id, &lnet::NetConfig::net);
    if (net == config_.nets.end()) {
      return complain(path, fmt::format("network {} is not configured", name));
    }
    const std::vector<lnet::NiConfig> nis = nis_of(item);
    for (std::size_t i = 0; i < nis.size(); ++i) {
      const auto meant = meant_by(nis[i], net->nis, nis);
      if (meant != net->nis.end()) {
        net->nis.erase(meant);
      } else {
        complain(fmt::format("{}.local NI(s)[{}]", path, i),
                 fmt::format("network {} has no such NI", name));
      }
    }
    if (nis.empty() || net->nis.empty()) config_.nets.erase(net);
  }

  void add_rule(const lnet::Ip2NetsConfig& rule, const std::string& path) {
    if (!is_sound(rule, path)) return;
    check_tunables(rule.net, rule.lnd_tunables, path);
    if (std::ranges::find(fresh_rules_, rule) != fresh_rules_.end()) {
      return complain(path, "duplicate rule: it is already in the document");
    }
    fresh_rules_.push_back(rule);
    if (std::ranges::find(config_.ip2nets, rule) == config_.ip2nets.end())
      config_.ip2nets.push_back(rule);
  }

  void remove_rule(const lnet::Ip2NetsConfig& rule, const std::string& path) {
    if (is_sound(rule, path)) std::erase(config_.ip2nets, rule);
  }

 private:
  // The NI of the node that corresponds to an NI of the document: by its NID, else by its
  // interfaces, unless the NID of the node's NI belongs to another NI of the document.
  static std::vector<lnet::NiConfig>::iterator meant_by(
      const lnet::NiConfig& ni, std::vector<lnet::NiConfig>& nis,
      const std::vector<lnet::NiConfig>& of_document) {
    const auto by_nid = std::ranges::find_if(
        nis, [&ni](const auto& other) { return ni.nid && other.nid == ni.nid; });
    if (by_nid != nis.end()) return by_nid;
    return std::ranges::find_if(nis, [&](const lnet::NiConfig& other) {
      if (!ni.nid || !other.nid) return is_same_ni(ni, other);
      return !ni.interfaces.empty() && ni.interfaces == other.interfaces &&
             std::ranges::find(of_document, other.nid, &lnet::NiConfig::nid) == of_document.end();
    });
  }

  // An NI that is configured by its NID alone stays so, though exports show its interfaces. An NI
  // that got its NID from an interface keeps it.
  static void take_names(lnet::NiConfig& ni, const lnet::NiConfig& there) {
    const bool same_nid = ni.nid && ni.nid == there.nid;
    if (same_nid && there.interfaces.empty()) ni.interfaces.clear();
    if (!ni.interfaces.empty() && ni.interfaces == there.interfaces && there.nid)
      ni.nid = there.nid;
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
    if (item.net != lnet::NetConfig{}) {
      return complain(path, "ip2net with net type or local NI(s), expected ip2net alone");
    }
    if (config_.ip2nets_text == item.ip2net) return;
    std::string joined = config_.ip2nets_text;
    lnet::append_piece(joined, "; ", item.ip2net);
    if (auto rules = lnet::parse_ip2nets(joined); !rules) {
      return complain(path + ".ip2net", rules.error().what);
    }
    config_.ip2nets_text = std::move(joined);
  }

  bool is_sound(const lnet::Ip2NetsConfig& rule, const std::string& path) {
    if (rule.net == lnet::kNetAny) complain(path, "no 'net-spec'");
    if (rule.net == kLoopbackNet) complain(path, "network lo cannot be configured");
    return rule.net != lnet::kNetAny && rule.net != kLoopbackNet;
  }

  // NIs and rules of the document itself, to find duplicates.
  std::map<lnet::NetId, std::vector<lnet::NiConfig>> fresh_nis_;
  std::vector<lnet::Ip2NetsConfig> fresh_rules_;
};

}  // namespace

void add_nets(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  NetItems join(config, issues);
  for (std::size_t i = 0; i < items.nets.size(); ++i)
    join.add_net(items.nets[i], fmt::format("net[{}]", i));
  for (std::size_t i = 0; i < items.ip2nets.size(); ++i)
    join.add_rule(items.ip2nets[i], fmt::format("ip2nets[{}]", i));
}

void remove_nets(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  NetItems join(config, issues);
  for (std::size_t i = 0; i < items.nets.size(); ++i)
    join.remove_net(items.nets[i], fmt::format("net[{}]", i));
  for (std::size_t i = 0; i < items.ip2nets.size(); ++i)
    join.remove_rule(items.ip2nets[i], fmt::format("ip2nets[{}]", i));
}

}  // namespace plnet::runtime
