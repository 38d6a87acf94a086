// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"
#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

class PeerItems : private Items {
 public:
  using Items::Items;

  void add(const std::vector<PeerItem>& items) {
    std::map<lnet::Nid, std::size_t, NidOrder> owners;  // NID → index in config_.peers
    for (std::size_t i = 0; i < config_.peers.size(); ++i) {
      for (const lnet::Nid& nid : config_.peers[i].nids)
        owners.emplace(nid, i);
    }
    std::set<lnet::Nid, NidOrder> fresh;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string path = fmt::format("peer[{}]", i);
      const auto peer = peer_of(items[i], path);
      if (!peer) continue;
      if (!fresh.insert(peer->primary).second) {
        complain(path, fmt::format("duplicate peer: {} is already in the document",
                                   text_of(peer->primary)));
        continue;
      }
      add_peer(*peer, owners, path);
    }
  }

  void remove(const PeerItem& item, const std::string& path) {
    const auto peer = peer_of(item, path);
    if (!peer) return;
    const auto known = std::ranges::find(config_.peers, peer->primary, &lnet::PeerConfig::primary);
    if (known == config_.peers.end()) {
      return complain(path, fmt::format("no peer {}", text_of(peer->primary)));
    }
    // The whole peer is removed if the primary NID stands alone or is among the NIDs.
    const bool whole = item.nis.empty() || std::ranges::any_of(item.nis, [&](const PeerNiItem& ni) {
                         return std::ranges::find(ni.nids, peer->primary) != ni.nids.end();
                       });
    if (whole) {
      config_.peers.erase(known);
      return;
    }
    for (const lnet::Nid& nid : std::span(peer->nids).subspan(1)) {
      if (std::erase(known->nids, nid) > 0) continue;
      complain(path, fmt::format("peer {} has no NID {}", text_of(peer->primary), text_of(nid)));
    }
  }

 private:
  // The peer with its NIDs: ranges expanded, each NID once, the primary first.
  std::optional<lnet::PeerConfig> peer_of(const PeerItem& item, const std::string& path) {
    const lnet::Nid& primary = item.peer.primary;
    if (primary == lnet::Nid{}) {
      complain(path, "the 'primary nid' must be specified");
      return std::nullopt;
    }
    if (primary.is_loopback()) return std::nullopt;  // exports list it if a node has sent to itself
    lnet::PeerConfig peer = item.peer;
    peer.nids = {primary};
    std::set<lnet::Nid, NidOrder> seen{primary};
    for (std::size_t i = 0; i < item.nis.size(); ++i) {
      if (item.nis[i].nids.empty()) complain(fmt::format("{}.peer ni[{}].nid", path, i), "no NID");
      for (const lnet::Nid& nid : item.nis[i].nids) {
        if (seen.insert(nid).second) peer.nids.push_back(nid);
      }
    }
    if (!fits(peer, path)) return std::nullopt;
    return peer;
  }

  bool fits(const lnet::PeerConfig& peer, const std::string& path) {
    if (peer.nids.size() <= lnet::kInterfacesMax) return true;
    complain(path,
             fmt::format("{} NIDs, expected at most {}", peer.nids.size(), lnet::kInterfacesMax));
    return false;
  }

  void add_peer(const lnet::PeerConfig& peer, std::map<lnet::Nid, std::size_t, NidOrder>& owners,
                const std::string& path) {
    const auto owner = owners.find(peer.primary);
    const bool known = owner != owners.end();
    const std::size_t index = known ? owner->second : config_.peers.size();
    if (known && config_.peers[index].primary != peer.primary) {
      return complain(path, fmt::format("{} belongs to peer {}", text_of(peer.primary),
                                        text_of(config_.peers[index].primary)));
    }
    if (!known && index == lnet::kConfiguredPeersMax) {
      return complain(
          path, fmt::format("too many peers, expected at most {}", lnet::kConfiguredPeersMax));
    }
    lnet::PeerConfig merged = known ? config_.peers[index] : lnet::PeerConfig{};
    merged.primary = peer.primary;
    merged.multi_rail = peer.multi_rail;
    merged.lock_primary = peer.lock_primary || merged.lock_primary;
    for (const lnet::Nid& nid : peer.nids) {
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
    (void)fits(merged, path);  // added in spite of an error, since `owners` refers to it
    if (known) {
      config_.peers[index] = std::move(merged);
    } else {
      config_.peers.push_back(std::move(merged));
    }
  }
};

}  // namespace

void add_peers(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  PeerItems(config, issues).add(items.peers);
}

void remove_peers(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  PeerItems join(config, issues);
  for (std::size_t i = 0; i < items.peers.size(); ++i)
    join.remove(items.peers[i], fmt::format("peer[{}]", i));
}

}  // namespace plnet::runtime
