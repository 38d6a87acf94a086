// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/lnet_document.hpp"

#include <fmt/format.h>

#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/number_list.hpp"
#include "lib/runtime/config/lnet_items.hpp"
#include "lib/runtime/config/schema_binding.hpp"

namespace plnet::runtime {
namespace {

NiItem item_of(const lnet::NiConfig& ni) {
  return {.nid = ni.nid ? text_of(*ni.nid) : std::string{},
          .interfaces = ni.interfaces,
          .tunables = ni.tunables,
          .lnd_tunables = ni.lnd_tunables,
          .cpts = ni.cpts};
}

NetItem item_of(const lnet::NetConfig& net) {
  NetItem item;
  item.net_type = lnet::text_of_net(net.net);
  for (const lnet::NiConfig& ni : net.nis)
    item.nis.push_back(item_of(ni));
  return item;
}

Ip2NetsItem item_of(const lnet::Ip2NetsConfig& rule) {
  Ip2NetsItem item{.net_spec = lnet::text_of_net(rule.net),
                   .interfaces = rule.interfaces,
                   .ranges = {},
                   .tunables = rule.tunables,
                   .lnd_tunables = rule.lnd_tunables,
                   .cpts = rule.cpts};
  for (const lnet::AddressPattern& range : rule.ranges)
    item.ranges.push_back(lnet::text_of(range));
  return item;
}

PeerItem item_of(const lnet::PeerConfig& peer) {
  PeerItem item{.primary_nid = text_of(peer.primary),
                .multi_rail = peer.multi_rail,
                .lock_primary = peer.lock_primary,
                .nis = {}};
  for (const lnet::Nid& nid : peer.nids)
    item.nis.push_back({text_of(nid)});
  return item;
}

}  // namespace

Document blank_document(const Settings& base) {
  Document document{.settings = base, .lnet = {}};
  document.lnet.routing = base.lnet.routing;
  document.lnet.buffers = base.lnet.buffers;
  document.lnet.parameters = base.lnet.parameters;
  for (const lnet::AccessRule& rule : base.lnet.access)
    document.lnet.access.push_back(runtime::item_of(rule));
  return document;
}

Document document_of(const Settings& settings) {
  Document document = blank_document(settings);
  const lnet::NodeConfig& config = settings.lnet;
  LnetDocument& lnet = document.lnet;
  for (const lnet::NetConfig& net : config.nets)
    lnet.nets.push_back(item_of(net));
  if (!config.ip2nets_text.empty()) lnet.nets.emplace_back().ip2net = config.ip2nets_text;
  for (const lnet::Ip2NetsConfig& rule : config.ip2nets)
    lnet.ip2nets.push_back(item_of(rule));
  for (const lnet::RouteConfig& route : config.routes) {
    lnet.routes.push_back({.net = lnet::text_of_net(route.net),
                           .gateway = text_of(route.gateway),
                           .hop = route.hops,
                           .priority = route.priority});
  }
  for (const lnet::PeerConfig& peer : config.peers)
    lnet.peers.push_back(item_of(peer));
  for (std::size_t i = 0; i < config.udsps.size(); ++i)
    lnet.udsps.push_back(runtime::item_of(config.udsps[i], i));
  for (const lnet::FaultSpec& fault : config.faults)
    lnet.faults.push_back(runtime::item_of(fault));
  return document;
}

namespace binding {

Value to_value(const std::vector<std::uint16_t>& cpts) {
  if (cpts.empty()) return "";
  std::string text;
  for (const std::uint16_t cpt : cpts)
    text += fmt::format("{}{}", text.empty() ? "[" : ",", cpt);
  return text + "]";
}

Value to_value(const std::vector<std::string>& names) {
  Value object = Value::object();
  for (std::size_t i = 0; i < names.size(); ++i)
    object[fmt::format("{}", i)] = names[i];
  return object;
}

Value to_value(const std::vector<lnet::LndTunable>& tunables) {
  Value object = Value::object();
  for (const lnet::LndTunable& tunable : tunables)
    std::visit([&](const auto& value) { object[tunable.name] = value; }, tunable.value);
  return object;
}

Value to_value(const std::vector<lnet::ModuleOption>& options) {
  Value object = Value::object();
  for (const lnet::ModuleOption& option : options)
    object[fmt::format("{}.{}", option.module, option.name)] = option.value;
  return object;
}

void from_value(const Value& value, std::vector<std::uint16_t>& cpts) {
  cpts.clear();
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text == "*" || text == "[*]") return;
  const auto list = lnet::parse_number_list(lnet::TextPart(text), lnet::kCptsMax - 1, "a CPT");
  PLNET_CHECK(list.has_value(), "lists are checked before they are set");
  cpts = list->expand();
  if (cpts.size() == lnet::kCptsMax) cpts.clear();
}

void from_value(const Value& value, std::vector<std::string>& names) {
  names.clear();
  for (const auto& [index, name] : value.items())
    names.push_back(name.get<std::string>());
}

void from_value(const Value& value, std::vector<lnet::LndTunable>& tunables) {
  tunables.clear();
  for (const auto& [name, setting] : value.items()) {
    lnet::LndTunable& tunable = tunables.emplace_back();
    tunable.name = name;
    if (setting.is_string()) {
      tunable.value = setting.get<std::string>();
    } else {
      tunable.value = setting.get<std::int64_t>();
    }
  }
}

void from_value(const Value& value, std::vector<lnet::ModuleOption>& options) {
  options.clear();
  for (const auto& [name, setting] : value.items()) {
    const std::size_t dot = name.find('.');
    PLNET_CHECK(dot != std::string::npos, "names are checked before they are set");
    options.push_back({name.substr(0, dot), name.substr(dot + 1), setting.get<std::string>()});
  }
}

}  // namespace binding

}  // namespace plnet::runtime
