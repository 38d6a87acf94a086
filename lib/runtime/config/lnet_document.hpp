// SPDX-License-Identifier: BSD-3-Clause
// LNet's part of a configuration document. Its values are among the settings; its items are kept
// apart until they are added to those of a node, or removed from them.
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

// An item is a structure of LNet, or of this file where the document allows more.

struct NetItem {
  lnet::NetConfig net;  // kNetAny: not given
  std::string ip2net;   // rules by address instead of a network
  // For NIs without values of their own.
  lnet::RequestedTunables tunables;
  std::vector<lnet::LndTunable> lnd_tunables;
  std::vector<std::uint16_t> cpts;
};

// A range of gateways stands for a route by each of them.
struct RouteItem {
  lnet::RouteConfig route;  // without a gateway
  std::vector<lnet::Nid> gateways;
};

// A range of NIDs of one peer.
struct PeerNiItem {
  std::vector<lnet::Nid> nids;
};

struct PeerItem {
  lnet::PeerConfig peer;  // without NIDs; a primary of Nid{}: not given
  std::vector<PeerNiItem> nis;
};

struct UdspItem {
  lnet::Udsp policy;
  std::optional<std::size_t> index{};  // its place in the list of policies
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

// The record that the rows of the schema read and write.
struct Document {
  Settings settings;
  LnetItems items;
};

// All settings, also as items, for an export.
[[nodiscard]] Document document_of(const Settings& settings);

// Adds the items of a document to its settings, which are those of `base` with the values of the
// document. An item replaces a present one of the same identity. An item that is in the document
// twice, or contradicts another, is an issue.
void add_items(Document& document, const lnet::NodeConfig& base,
               std::vector<SettingsIssue>& issues);
// Removes the items of a document from its settings. An item that is not there is an issue.
void remove_items(Document& document, const lnet::NodeConfig& base,
                  std::vector<SettingsIssue>& issues);

}  // namespace plnet::runtime
