// SPDX-License-Identifier: BSD-3-Clause
// LNet's part of a configuration document. Its values stand among the settings; its items are kept
// apart until they are joined to those that a node has already, or taken from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/exec_request.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/config/settings_check.hpp"

namespace plnet::runtime {

// An item is one of LNet's own structures, unless it may say more than that.

struct NetItem {
  lnet::NetConfig net;  // kNetAny: not given
  std::string ip2net;   // rules by address instead of a network
  // For NIs that have none of their own.
  lnet::RequestedTunables tunables;
  std::vector<lnet::LndTunable> lnd_tunables;
  std::vector<std::uint16_t> cpts;
};

// A range of gateways: as many routes.
struct RouteItem {
  lnet::RouteConfig route;  // without a gateway
  std::vector<lnet::Nid> gateways;
};

// A range of NIDs, of a peer.
struct PeerNiItem {
  std::vector<lnet::Nid> nids;
};

struct PeerItem {
  lnet::PeerConfig peer;  // without NIDs; a primary of Nid{}: not given
  std::vector<PeerNiItem> nis;
};

struct UdspItem {
  lnet::Udsp policy;
  std::optional<std::size_t> index{};  // of a node this is the place in its list
};

struct LnetItems {
  std::vector<NetItem> nets;
  std::vector<lnet::Ip2NetsConfig> ip2nets;
  std::vector<RouteItem> routes;
  std::vector<PeerItem> peers;
  std::vector<UdspItem> udsps;
  std::vector<lnet::FaultSpec> faults;
  std::vector<ExecRequest> pings;
  std::vector<ExecRequest> discovers;
};

// What the rows of the schema reach into.
struct Document {
  Settings settings;
  LnetItems items;
};

// All that settings say, also as items: what an export shows.
[[nodiscard]] Document document_of(const Settings& settings);

// The items of a document join those of its settings, which are those of `base` with the values of
// the document. An item that is there already is replaced; one that stands in the document twice,
// or contradicts another, is an issue.
void add_items(Document& document, const lnet::NodeConfig& base,
               std::vector<SettingsIssue>& issues);
// The items of a document leave its settings. An item that is not there is an issue.
void remove_items(Document& document, const lnet::NodeConfig& base,
                  std::vector<SettingsIssue>& issues);

}  // namespace plnet::runtime
