// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/lnet_documents.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

// Gathers the documents of several questions, asked one after the other, into one.
class Gathering : public std::enable_shared_from_this<Gathering> {
 public:
  using Ask = std::function<void(VerbToken)>;

  Gathering(std::vector<Ask> asks, VerbToken token)
      : asks_(std::move(asks)), token_(std::move(token)) {}

  void go_on() {
    if (next_ == asks_.size()) return token_.finish(document_);
    const Ask& ask = asks_[next_++];
    ask(VerbToken([self = shared_from_this()](const VerbReply& reply) {
      if (!reply) return self->token_.finish(std::unexpected(reply.error()));
      self->join(*reply);
      self->go_on();
    }));
  }

  void join(const Json& part) {
    for (const auto& [key, value] : part.items()) {
      Json& place = document_[key];
      if (place.is_array() && value.is_array()) {
        place.insert(place.end(), value.begin(), value.end());
      } else {
        place = value;
      }
    }
  }

 private:
  std::vector<Ask> asks_;
  std::size_t next_ = 0;
  Json document_ = Json::object();
  VerbToken token_;
};

void gather(std::vector<Gathering::Ask> asks, VerbToken token) {
  std::make_shared<Gathering>(std::move(asks), std::move(token))->go_on();
}

Gathering::Ask ask_nets(LnetControl& control, const VerbArgs& args) {
  return [&control, args](VerbToken token) { show_nets(control, args, std::move(token)); };
}

Gathering::Ask ask_peers(LnetControl& control, const VerbArgs& args) {
  return [&control, args](VerbToken token) { show_peers(control, args, std::move(token)); };
}

Gathering::Ask ask_routes(LnetControl& control, const VerbArgs& args) {
  return [&control, args](VerbToken token) { show_routes(control, args, std::move(token)); };
}

Gathering::Ask ask_routing(LnetControl& control) {
  return [&control](VerbToken token) { show_routing(control, std::move(token)); };
}

Gathering::Ask ask_routing_as_configured(LnetControl& control) {
  return [&control](VerbToken token) { show_routing_as_configured(control, std::move(token)); };
}

Gathering::Ask answer(Json document) {
  return [document = std::move(document)](VerbToken token) { token.finish(document); };
}

// Rules are the same in every kind of export.
Json rules_of(const LnetControl& control) {
  Settings rules;
  rules.lnet.faults = control.config().faults;
  rules.lnet.access = control.config().access;
  const Document document = document_of(rules);
  Json part = Json::object();
  for (const char* const name : {"fault", "access"}) {
    Json items = export_key(*find_key(schema(), name), &document, ExportForm::kBackup);
    if (!items.empty()) part[name] = std::move(items);
  }
  return part;
}

}  // namespace

void show_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token) {
  std::vector<Gathering::Ask> asks;
  const auto has = [&named](std::string_view section) {
    return std::ranges::find(named.sections, section) != named.sections.end();
  };
  asks.reserve(named.nets.size());
  for (const lnet::NetId net : named.nets)
    asks.push_back(ask_nets(control, {{"net", lnet::text_of_net(net)}}));
  if (has("net") && named.nets.empty()) asks.push_back(ask_nets(control, VerbArgs::object()));
  for (const lnet::NetId net : named.routes)
    asks.push_back(ask_routes(control, {{"net", lnet::text_of_net(net)}, {"verbose", 1}}));
  if (has("route") && named.routes.empty()) {
    asks.push_back(ask_routes(control, {{"verbose", 1}}));
  }
  if (has("routing") || has("buffers")) asks.push_back(ask_routing(control));
  for (const lnet::Nid& peer : named.peers)
    asks.push_back(ask_peers(control, {{"nid", text_of(peer)}}));
  if (has("peer") && named.peers.empty()) asks.push_back(ask_peers(control, VerbArgs::object()));
  if (has("global") || has("numa")) asks.push_back(answer(globals_to_json(control.parameters())));
  if (has("fault") || has("access")) asks.push_back(answer(rules_of(control)));
  if (has("statistics")) {
    asks.push_back([&control](VerbToken next) { show_statistics(control, std::move(next)); });
  }
  gather(std::move(asks), std::move(token));
}

void exec_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token) {
  std::vector<Gathering::Ask> asks;
  asks.reserve(named.pings.size());
  for (const ExecRequest& request : named.pings) {
    asks.push_back([&control, request](VerbToken next) {
      control.ping({{request.nid}, request.timeout, request.source},
                   pinged(std::move(next), "ping"));
    });
  }
  for (const ExecRequest& request : named.discovers) {
    asks.push_back([&control, request](VerbToken next) {
      control.discover({{request.nid}, request.force}, pinged(std::move(next), "discover"));
    });
  }
  gather(std::move(asks), std::move(token));
}

void export_running(lnet::LnetControl& control, Json tail, VerbToken token) {
  constexpr int kNetLevel = 2;  // lnetctl's own choice of detail
  constexpr int kPeerLevel = 3;
  gather({ask_nets(control, {{"verbose", kNetLevel}}), ask_routes(control, {{"verbose", 1}}),
          ask_routing_as_configured(control), ask_peers(control, {{"verbose", kPeerLevel}}),
          answer(globals_to_json(control.parameters())), answer(rules_of(control)),
          answer(std::move(tail))},
         std::move(token));
}

}  // namespace plnet::runtime
