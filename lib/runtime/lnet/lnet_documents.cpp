// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/lnet_documents.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/lnet_schema.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

// Asks several questions one after the other, and joins the answers to one document. If a question
// fails, its error goes to the fault list, and the rest is asked; without a fault list the first
// error ends it.
class Gathering : public std::enable_shared_from_this<Gathering> {
 public:
  struct Ask {
    std::string entity;  // "net"
    std::function<void(VerbToken)> ask;
  };

  Gathering(std::vector<Ask> asks, std::string fault_list, VerbToken token)
      : asks_(std::move(asks)), fault_list_(std::move(fault_list)), token_(std::move(token)) {}

  void go_on() {
    if (next_ == asks_.size()) return finish();
    const Ask& ask = asks_[next_++];
    ask.ask(VerbToken([self = shared_from_this(), &ask](const VerbReply& reply) {
      if (reply) {
        self->answered_ = true;
        self->join(*reply);
      } else if (self->fault_list_.empty()) {
        return self->token_.finish(std::unexpected(reply.error()));
      } else {
        self->note(ask.entity, reply.error().faults);
      }
      self->go_on();
    }));
  }

 private:
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
  void note(const std::string& entity, const std::vector<VerbFault>& faults) {
    for (const VerbFault& fault : faults) {
      faults_.push_back(fault);
      if (fault.entity.empty()) faults_.back().entity = entity;
    }
  }
  // As for several NIDs of which some do not answer: an error only if no question succeeded.
  void finish() {
    if (!faults_.empty() && !answered_) {
      return token_.finish(std::unexpected(VerbError(std::move(faults_))));
    }
    for (const VerbFault& fault : faults_)
      document_[fault_list_].push_back(fault_item(fault));
    token_.finish(document_);
  }

  std::vector<Ask> asks_;
  std::string fault_list_;
  std::size_t next_ = 0;
  bool answered_ = false;
  Json document_ = Json::object();
  std::vector<VerbFault> faults_;
  VerbToken token_;
};

void gather(std::vector<Gathering::Ask> asks, std::string fault_list, VerbToken token) {
  std::make_shared<Gathering>(std::move(asks), std::move(fault_list), std::move(token))->go_on();
}

Gathering::Ask ask_nets(LnetControl& control, const VerbArgs& args) {
  return {"net", [&control, args](VerbToken token) { show_nets(control, args, std::move(token)); }};
}

Gathering::Ask ask_peers(LnetControl& control, const VerbArgs& args) {
  return {"peer",
          [&control, args](VerbToken token) { show_peers(control, args, std::move(token)); }};
}

Gathering::Ask ask_routes(LnetControl& control, const VerbArgs& args) {
  return {"route",
          [&control, args](VerbToken token) { show_routes(control, args, std::move(token)); }};
}

Gathering::Ask ask_routing(LnetControl& control) {
  return {"routing", [&control](VerbToken token) { show_routing(control, std::move(token)); }};
}

Gathering::Ask ask_routing_as_configured(LnetControl& control) {
  return {"routing",
          [&control](VerbToken token) { show_routing_as_configured(control, std::move(token)); }};
}

Gathering::Ask answer(Json document) {
  return {{}, [document = std::move(document)](VerbToken token) { token.finish(document); }};
}

// An empty answer instead of an error while LNet is down: the rest of the document is valid.
Gathering::Ask unless_down(const Gathering::Ask& ask) {
  return {ask.entity, [ask = ask.ask](VerbToken token) {
            auto answered = std::make_shared<VerbToken>(std::move(token));
            ask(VerbToken([answered](const VerbReply& reply) {
              const bool down = !reply && reply.error().faults.front().code == Errc::kNetworkDown;
              answered->finish(down ? VerbReply(Json::object()) : reply);
            }));
          }};
}

constexpr std::array<const char*, 3> kRuleSections{"udsp", "fault", "access"};

// Rules are the same in every form of export.
Json rules_of(const LnetControl& control, std::span<const char* const> sections) {
  Settings rules;
  rules.lnet.udsps = control.config().udsps;
  rules.lnet.faults = control.config().faults;
  rules.lnet.access = control.config().access;
  const Document document = document_of(rules);
  Json part = Json::object();
  for (const char* const name : sections) {
    Json items = export_key(*find_key(lnet_keys(), name), &document, ExportForm::kBackup);
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
  for (const char* const rules : kRuleSections) {
    if (has(rules)) asks.push_back(answer(rules_of(control, std::span(&rules, 1))));
  }
  if (has("statistics")) {
    asks.push_back(
        {"statistics", [&control](VerbToken next) { show_statistics(control, std::move(next)); }});
  }
  gather(std::move(asks), "show", std::move(token));
}

void exec_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token) {
  std::vector<Gathering::Ask> asks;
  asks.reserve(named.pings.size());
  for (const ExecRequest& request : named.pings) {
    asks.push_back({"ping", [&control, request](VerbToken next) {
                      control.ping({{request.nid}, request.timeout, request.source},
                                   pinged(std::move(next), "ping"));
                    }});
  }
  for (const ExecRequest& request : named.discovers) {
    asks.push_back({"discover", [&control, request](VerbToken next) {
                      control.discover({{request.nid}, request.force},
                                       pinged(std::move(next), "discover"));
                    }});
  }
  gather(std::move(asks), "manage", std::move(token));
}

void export_running(lnet::LnetControl& control, Json tail, VerbToken token) {
  constexpr int kNetLevel = 2;  // lnetctl's own choice of detail
  constexpr int kPeerLevel = 3;
  gather({unless_down(ask_nets(control, {{"verbose", kNetLevel}})),
          ask_routes(control, {{"verbose", 1}}), unless_down(ask_routing_as_configured(control)),
          unless_down(ask_peers(control, {{"verbose", kPeerLevel}})),
          answer(globals_to_json(control.parameters())), answer(rules_of(control, kRuleSections)),
          answer(std::move(tail))},
         {}, std::move(token));
}

}  // namespace plnet::runtime
