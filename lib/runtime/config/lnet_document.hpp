// SPDX-License-Identifier: BSD-3-Clause
// LNet's part of a configuration document, in the document's own words: what stands there, item by
// item, before ranges are expanded and items are joined to those that a node has already.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/config/settings_check.hpp"

namespace plnet::runtime {

struct NiItem {
  std::string nid;
  std::vector<std::string> interfaces;
  lnet::RequestedTunables tunables;
  std::vector<lnet::LndTunable> lnd_tunables;
  std::vector<std::uint16_t> cpts;
};

struct NetItem {
  std::string net_type;
  std::string ip2net;  // instead of net_type
  std::vector<NiItem> nis;
  // For NIs that say nothing themselves.
  lnet::RequestedTunables tunables;
  std::vector<lnet::LndTunable> lnd_tunables;
  std::vector<std::uint16_t> cpts;
};

struct Ip2NetsItem {
  std::string net_spec;
  std::vector<std::string> interfaces;
  std::vector<std::string> ranges;
  lnet::RequestedTunables tunables;
  std::vector<lnet::LndTunable> lnd_tunables;
  std::vector<std::uint16_t> cpts;
};

struct RouteItem {
  std::string net;
  std::string gateway;  // may be a range
  std::int32_t hop = lnet::kHopsUndefined;
  std::int64_t priority = 0;
};

struct PeerNiItem {
  std::string nid;  // may be a range
};

struct PeerItem {
  std::string primary_nid;
  bool multi_rail = true;
  bool lock_primary = false;
  std::vector<PeerNiItem> nis;
};

struct UdspItem {
  std::int64_t idx = -1;
  std::string source;
  std::string destination;
  std::string router;
  std::int64_t priority = -1;  // -1 = none
};

// -1: not given.
struct FaultItem {
  std::string rule_type = "drop";
  std::string source;
  std::string destination;
  std::int64_t rate = -1;
  std::int64_t interval = -1;
  std::int64_t latency = -1;
  std::string portals;
  std::string types;
  std::string health_errors;
  std::string local_nid;
  bool random = false;
  bool all = false;
};

// "": any.
struct AccessItem {
  lnet::AccessAction action = lnet::AccessAction::kDeny;
  lnet::AccessUse use = lnet::AccessUse::kAll;
  std::string source;
  std::string destination;
  std::string from;
  std::string to;
};

// `ping` and `discover`: what import --exec does.
struct ExecItem {
  std::string nid;
  std::int64_t timeout_ms = 1000;  // lnetctl's own unit here
  std::string source;
  bool force = false;
};

struct LnetDocument {
  std::vector<NetItem> nets;
  std::vector<Ip2NetsItem> ip2nets;
  std::vector<RouteItem> routes;
  bool routing = false;
  lnet::BuffersConfig buffers;
  std::vector<PeerItem> peers;
  lnet::ParameterValues parameters;
  std::vector<UdspItem> udsps;
  std::vector<FaultItem> faults;
  std::vector<AccessItem> access;  // all that there shall be: their order counts
  std::vector<ExecItem> pings;
  std::vector<ExecItem> discovers;
};

// What the rows of the schema reach into.
struct Document {
  Settings settings;
  LnetDocument lnet;
};

// All that settings say, as items: what an export shows.
[[nodiscard]] Document document_of(const Settings& settings);
// A document to read into: the values of `base`, and no items.
[[nodiscard]] Document blank_document(const Settings& base);

// `base` with the items of the document and its values. An item that is there already is replaced;
// one that stands in the document twice, or contradicts another, is an issue.
[[nodiscard]] lnet::NodeConfig add_items(const lnet::NodeConfig& base, const LnetDocument& document,
                                         std::vector<SettingsIssue>& issues);
// `base` without the items of the document, with its values. An item that is not there is an issue.
[[nodiscard]] lnet::NodeConfig remove_items(const lnet::NodeConfig& base,
                                            const LnetDocument& document,
                                            std::vector<SettingsIssue>& issues);

}  // namespace plnet::runtime
