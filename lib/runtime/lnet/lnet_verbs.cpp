// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/lnet_verbs.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/yaml_text.hpp"
#include "lib/runtime/lnet/report_json.hpp"
#include "lib/runtime/lnet/verb_args.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

void fail(VerbToken& token, Error error) {
  token.finish(std::unexpected(VerbError(std::move(error))));
}

// What answers a request whose success has nothing to say.
lnet::Reply<void> silent(VerbToken token) {
  return [token = std::move(token)](Outcome<void>&& done) mutable {
    if (!done) return fail(token, std::move(done.error()));
    token.finish(Json::object());
  };
}

// What answers with a report: `print` makes the document of it.
template <class Report, class Print>
lnet::Reply<Report> printed(VerbToken token, Print print) {
  return [token = std::move(token), print](Outcome<Report>&& report) mutable {
    if (!report) return fail(token, std::move(report.error()));
    Json document = print(*report);
    token.finish(document.is_null() ? Json::object() : std::move(document));
  };
}

// A verb whose arguments are judged by `parse` before `run` sees what they mean.
template <class Parse, class Run>
AsyncVerbHandler judged(Parse parse, Run run) {
  return [parse, run](const VerbArgs& args, const Caller&, VerbToken token) {
    auto meant = parse(args);
    if (!meant) return fail(token, std::move(meant.error()));
    run(std::move(*meant), std::move(token));
  };
}

int level_of(const VerbArgs& args) {
  const auto level = args.contains("verbose") ? args.at("verbose").get<std::int64_t>() : 0;
  return static_cast<int>(std::clamp<std::int64_t>(level, 0, lnet::kReportLevelMax));
}

constexpr auto kText = ArgKind::kText;
constexpr auto kNumber = ArgKind::kNumber;
constexpr auto kFlag = ArgKind::kFlag;

// --- lnet, net ---------------------------------------------------------------------------------

void add_ip2net(LnetControl& control, const std::string& rules, VerbToken token) {
  lnet::NodeConfig wanted = control.config();
  wanted.ip2nets_text += wanted.ip2nets_text.empty() ? "" : "; ";
  wanted.ip2nets_text += rules;
  if (auto parsed = lnet::parse_ip2nets(wanted.ip2nets_text); !parsed) {
    return fail(token, std::move(parsed.error()));
  }
  control.apply(std::move(wanted), silent(std::move(token)));
}

void add_net(LnetControl& control, const VerbArgs& args, VerbToken token) {
  if (const std::string rules = text_arg(args, "ip2net"); !rules.empty()) {
    return add_ip2net(control, rules, std::move(token));
  }
  auto net = net_to_add(args);
  if (!net) return fail(token, std::move(net.error()));
  control.add_net(std::move(*net), silent(std::move(token)));
}

void show_nets(LnetControl& control, const VerbArgs& args, VerbToken token) {
  const auto net = net_arg(args, "net");
  if (!net) return fail(token, net.error());
  const int level = level_of(args);
  control.nets(*net == lnet::kNetAny ? std::nullopt : std::optional(*net), level,
               printed<std::vector<lnet::NetReport>>(std::move(token), [level](const auto& nets) {
                 return nets_to_json(nets, level);
               }));
}

void add_net_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add({.verb = "lnet configure",
             .help = "start LNet",
             .args = {{"all", kFlag}, {"large", kFlag}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               control.configure({flag_arg(args, "all"), flag_arg(args, "large")},
                                 silent(std::move(token)));
             }});
  verbs.add({.verb = "lnet unconfigure",
             .help = "stop LNet",
             .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
               control.unconfigure(silent(std::move(token)));
             }});
  verbs.add({.verb = "net add",
             .help = "add a network, or NIs to it",
             .args = {{"net", kText},
                      {"if", kText},
                      {"nid", kText},
                      {"ip2net", kText},
                      {"peer_timeout", kNumber},
                      {"peer_credits", kNumber},
                      {"peer_buffer_credits", kNumber},
                      {"credits", kNumber},
                      {"cpt", kText},
                      {"conns_per_peer", kNumber},
                      {"skip_mr_route_setup", kFlag},
                      {"auth_key", kNumber},
                      {"traffic_class", kText},
                      {"tos", kNumber},
                      {"driver", kText}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               add_net(control, args, std::move(token));
             }});
  verbs.add(
      {.verb = "net del",
       .help = "delete a network, or NIs of it",
       .args = {{"net", kText}, {"if", kText}, {"nid", kText}},
       .async_handler = judged(net_to_delete, [&control](lnet::NetSelection net, VerbToken token) {
         control.del_net(std::move(net), silent(std::move(token)));
       })});
  verbs.add({.verb = "net show",
             .access = VerbAccess::kReads,
             .help = "networks and NIs",
             .args = {{"net", kText}, {"verbose", kNumber}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               show_nets(control, args, std::move(token));
             }});
  verbs.add({.verb = "net set",
             .help = "change NIs",
             .args = {{"nid", kText},
                      {"net", kText},
                      {"lnd_timeout", kNumber},
                      {"health", kNumber},
                      {"conns_per_peer", kNumber},
                      {"all", kFlag}},
             .async_handler = judged(ni_change, [&control](lnet::NiChange change, VerbToken token) {
               control.set_ni(change, silent(std::move(token)));
             })});
}

// --- peer --------------------------------------------------------------------------------------

void show_peers(LnetControl& control, const VerbArgs& args, VerbToken token) {
  const auto nid = nid_arg(args, "nid");
  if (!nid) return fail(token, nid.error());
  const int level = level_of(args);
  control.peers(
      *nid, level,
      printed<std::vector<lnet::PeerReport>>(
          std::move(token), [level](const auto& peers) { return peers_to_json(peers, level); }));
}

void add_peer_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(
      {.verb = "peer add",
       .help = "add a peer, or NIDs to it",
       .args = {{"prim_nid", kText}, {"nid", kText}, {"non_mr", kFlag}, {"lock_prim", kFlag}},
       .async_handler = judged(peer_to_add, [&control](lnet::PeerConfig peer, VerbToken token) {
         control.add_peer(std::move(peer), silent(std::move(token)));
       })});
  verbs.add({.verb = "peer del",
             .help = "delete a peer, or NIDs of it",
             .args = {{"prim_nid", kText}, {"nid", kText}, {"force", kFlag}},
             .async_handler =
                 judged(peer_to_delete, [&control](lnet::PeerSelection peer, VerbToken token) {
                   control.del_peer(std::move(peer), silent(std::move(token)));
                 })});
  verbs.add({.verb = "peer show",
             .access = VerbAccess::kReads,
             .help = "peers and their NIs",
             .args = {{"nid", kText}, {"verbose", kNumber}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               show_peers(control, args, std::move(token));
             }});
  verbs.add({.verb = "peer list",
             .access = VerbAccess::kReads,
             .help = "primary NIDs of all peers",
             .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
               control.peers(
                   std::nullopt, 0,
                   printed<std::vector<lnet::PeerReport>>(std::move(token), [](const auto& peers) {
                     return peer_list_to_json(peers);
                   }));
             }});
  verbs.add({.verb = "peer set",
             .help = "change peer NIs",
             .args = {{"nid", kText}, {"health", kNumber}, {"all", kFlag}, {"state", kNumber}},
             .async_handler =
                 judged(peer_ni_change, [&control](lnet::PeerNiChange change, VerbToken token) {
                   control.set_peer_ni(change, silent(std::move(token)));
                 })});
}

// --- route, routing ----------------------------------------------------------------------------

// Several gateways come all or none.
void change_routes(LnetControl& control, const std::vector<lnet::RouteConfig>& routes, bool add,
                   VerbToken token) {
  if (routes.size() == 1) {
    auto done = silent(std::move(token));
    return add ? control.add_route(routes[0], std::move(done))
               : control.del_route(routes[0].net, routes[0].gateway, std::move(done));
  }
  lnet::NodeConfig wanted = control.config();
  for (const lnet::RouteConfig& route : routes) {
    const auto gone = std::erase_if(wanted.routes, [&route](const auto& other) {
      return other.net == route.net && other.gateway == route.gateway;
    });
    if (add) {
      wanted.routes.push_back(route);
    } else if (gone == 0) {
      return fail(
          token, {Errc::kNotFound, fmt::format("no route to {} by {}", lnet::text_of_net(route.net),
                                               text_of(route.gateway))});
    }
  }
  if (const auto issues = check_node_config(wanted); !issues.empty()) {
    return fail(token, {Errc::kInvalid, issues.front().what});
  }
  control.apply(std::move(wanted), silent(std::move(token)));
}

// Filters as lnetctl has them: each that is given must fit.
Outcome<void> keep_fitting(std::vector<lnet::RouteReport>& routes, const VerbArgs& args) {
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  const auto gateway = nid_arg(args, "gateway");
  if (!gateway) return std::unexpected(gateway.error());
  const auto number = [&args](const char* name) {
    return args.contains(name) ? std::optional(args.at(name).get<std::int64_t>()) : std::nullopt;
  };
  const auto hop = number(args.contains("hop_count") ? "hop_count" : "hop");
  const auto priority = number("priority");
  std::erase_if(routes, [&](const lnet::RouteReport& report) {
    return (*net != lnet::kNetAny && report.route.net != *net) ||
           (*gateway && report.route.gateway != **gateway) || (hop && report.route.hops != *hop) ||
           (priority && report.route.priority != *priority);
  });
  return {};
}

void show_routes(LnetControl& control, const VerbArgs& args, VerbToken token) {
  control.routes(
      [args, token = std::move(token)](Outcome<std::vector<lnet::RouteReport>>&& routes) mutable {
        if (!routes) return fail(token, std::move(routes.error()));
        if (auto kept = keep_fitting(*routes, args); !kept)
          return fail(token, std::move(kept.error()));
        const Json document = routes_to_json(*routes, flag_arg(args, "verbose"));
        token.finish(document.is_null() ? Json::object() : document);
      });
}

void add_route_verbs(VerbTable& verbs, LnetControl& control) {
  const std::vector<ArgRow> all{{"net", kText},
                                {"gateway", kText},
                                {"hop", kNumber},
                                {"hop_count", kNumber},
                                {"priority", kNumber}};
  verbs.add({.verb = "route add",
             .help = "add routes",
             .args = all,
             .async_handler = judged(routes_of, [&control](const auto& routes, VerbToken token) {
               change_routes(control, routes, true, std::move(token));
             })});
  verbs.add({.verb = "route del",
             .help = "delete routes",
             .args = {{"net", kText}, {"gateway", kText}},
             .async_handler = judged(routes_of, [&control](const auto& routes, VerbToken token) {
               change_routes(control, routes, false, std::move(token));
             })});
  std::vector<ArgRow> shown = all;
  shown.push_back({"verbose", kFlag});
  verbs.add({.verb = "route show",
             .access = VerbAccess::kReads,
             .help = "routes",
             .args = shown,
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               show_routes(control, args, std::move(token));
             }});
  verbs.add({.verb = "routing show",
             .access = VerbAccess::kReads,
             .help = "buffers of a router",
             .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
               control.routing(printed<lnet::RoutingReport>(
                   std::move(token), [](const auto& report) { return routing_to_json(report); }));
             }});
}

// --- ping, discover, stats, global -------------------------------------------------------------

VerbFault fault_of(const lnet::PingReport& report, std::string_view entity) {
  return {
      report.answer.error().code,
      fmt::format("failed to {} {}: {}", entity, text_of(report.asked), report.answer.error().what),
      {},
      std::string(entity),
      -1};
}

// Who answered is the result; who did not stands beside it under `manage`, as lnetctl prints both.
// If nobody did, that is the error.
lnet::Reply<std::vector<lnet::PingReport>> pinged(VerbToken token, std::string entity) {
  return [token = std::move(token),
          entity = std::move(entity)](Outcome<std::vector<lnet::PingReport>>&& reports) mutable {
    if (!reports) return fail(token, std::move(reports.error()));
    std::vector<VerbFault> faults;
    for (const lnet::PingReport& report : *reports) {
      if (!report.answer) faults.push_back(fault_of(report, entity));
    }
    if (!faults.empty() && faults.size() == reports->size()) {
      return token.finish(std::unexpected(VerbError(std::move(faults))));
    }
    Json document = pings_to_json(*reports, entity);
    for (const VerbFault& fault : faults) {
      document["manage"].push_back(
          {{entity, {{"errno", wire_errno(fault.code)}, {"descr", fault.what}}}});
    }
    token.finish(document.is_null() ? Json::object() : std::move(document));
  };
}

Outcome<lnet::PingOrder> ping_request(const VerbArgs& args) {
  constexpr std::int64_t kTimeoutMax = 120;  // seconds; lctl's limit
  auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  const auto timeout = number_arg(args, "timeout", 1, kTimeoutMax);
  if (!timeout) return std::unexpected(timeout.error());
  const auto source = nid_arg(args, "source");
  if (!source) return std::unexpected(source.error());
  return lnet::PingOrder{.nids = std::move(*nids),
                         .timeout = std::chrono::seconds(timeout->value_or(1)),
                         .source = *source};
}

Outcome<lnet::DiscoverOrder> discover_request(const VerbArgs& args) {
  auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  return lnet::DiscoverOrder{.nids = std::move(*nids), .force = flag_arg(args, "force")};
}

void add_manage_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(
      {.verb = "ping",
       .help = "ask nodes for their NIs",
       .args = {{"nid", ArgKind::kTexts, true}, {"timeout", kNumber}, {"source", kText}},
       .async_handler = judged(ping_request, [&control](lnet::PingOrder request, VerbToken token) {
         control.ping(std::move(request), pinged(std::move(token), "ping"));
       })});
  verbs.add({.verb = "discover",
             .help = "discover the NIs of peers",
             .args = {{"nid", ArgKind::kTexts, true}, {"force", kFlag}},
             .async_handler =
                 judged(discover_request, [&control](lnet::DiscoverOrder request, VerbToken token) {
                   control.discover(std::move(request), pinged(std::move(token), "discover"));
                 })});
  verbs.add(
      {.verb = "stats show",
       .access = VerbAccess::kReads,
       .help = "what LNet counted",
       .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
         control.statistics(printed<lnet::StatisticsReport>(
             std::move(token), [](const auto& report) { return statistics_to_json(report); }));
       }});
  verbs.add({.verb = "stats reset",
             .help = "count anew",
             .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
               control.reset_statistics(silent(std::move(token)));
             }});
  verbs.add({.verb = "global show",
             .access = VerbAccess::kReads,
             .help = "LNet's variables",
             .handler = [&control](const VerbArgs&, const Caller&) -> VerbReply {
               return globals_to_json(control.parameters());
             }});
}

// --- set ---------------------------------------------------------------------------------------

struct BufferVariable {
  std::string_view name;
  std::int32_t lnet::BuffersConfig::* member;
};
constexpr std::array kBufferVariables{
    BufferVariable{"tiny_buffers", &lnet::BuffersConfig::tiny},
    BufferVariable{"small_buffers", &lnet::BuffersConfig::small},
    BufferVariable{"large_buffers", &lnet::BuffersConfig::large},
};

const BufferVariable* find_buffer_variable(std::string_view name) {
  const auto* const found = std::ranges::find(kBufferVariables, name, &BufferVariable::name);
  return found == kBufferVariables.end() ? nullptr : found;
}

Outcome<std::int64_t> value_of(std::string_view name, const VerbArgs& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (const auto number = parse_integer(text)) return *number;
  return failure(Errc::kInvalid, fmt::format("{}: '{}' is not a number", name, text));
}

// --- what a document names ---------------------------------------------------------------------

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
  return [&control](VerbToken token) {
    control.routing(printed<lnet::RoutingReport>(
        std::move(token), [](const auto& report) { return routing_to_json(report); }));
  };
}
Gathering::Ask answer(Json document) {
  return [document = std::move(document)](VerbToken token) { token.finish(document); };
}

}  // namespace

void add_lnet_verbs(VerbTable& verbs, LnetControl& control) {
  add_net_verbs(verbs, control);
  add_peer_verbs(verbs, control);
  add_route_verbs(verbs, control);
  add_manage_verbs(verbs, control);
}

bool is_lnet_variable(std::string_view name) {
  return name == "routing" || find_buffer_variable(name) != nullptr ||
         lnet::find_global_variable(name) != nullptr;
}

std::string lnet_variable_names() {
  std::string names = "tiny_buffers, small_buffers, large_buffers, routing";
  for (const lnet::GlobalVariable& variable : lnet::global_variables())
    names += fmt::format(", {}", variable.name);
  return names;
}

void set_lnet_variable(LnetControl& control, std::string_view name, const VerbArgs& value,
                       VerbToken token) {
  const auto number = value_of(name, value);
  if (!number) return fail(token, number.error());
  if (const lnet::GlobalVariable* const variable = lnet::find_global_variable(name)) {
    lnet::ParameterValues values = control.parameters();
    if (auto set = set_global_variable(values, *variable, *number); !set) {
      return fail(token, std::move(set.error()));
    }
    return control.set_parameters(values, silent(std::move(token)));
  }
  bool routing = control.config().routing;
  lnet::BuffersConfig buffers = control.config().buffers;
  if (const BufferVariable* const variable = find_buffer_variable(name)) {
    if (*number < 0 || *number > INT32_MAX) {
      return fail(token,
                  {Errc::kOutOfRange, fmt::format("{}: {}, expected 0 or more", name, *number)});
    }
    buffers.*variable->member = static_cast<std::int32_t>(*number);
  } else if (name == "routing" && (*number == 0 || *number == 1)) {
    routing = *number == 1;
  } else {
    return fail(token, {Errc::kOutOfRange, fmt::format("{}: {}, expected 0 or 1", name, *number)});
  }
  control.set_routing(routing, buffers, silent(std::move(token)));
}

void show_named(LnetControl& control, const NamedItems& named, VerbToken token) {
  std::vector<Gathering::Ask> asks;
  const auto has = [&named](std::string_view section) {
    return std::ranges::find(named.sections, section) != named.sections.end();
  };
  asks.reserve(named.nets.size());
  for (const lnet::NetId net : named.nets)
    asks.push_back(ask_nets(control, {{"net", lnet::text_of_net(net)}}));
  if (has("net") && named.nets.empty()) asks.push_back(ask_nets(control, VerbArgs::object()));
  for (const lnet::NetId net : named.routes)
    asks.push_back(ask_routes(control, {{"net", lnet::text_of_net(net)}, {"verbose", true}}));
  if (has("route") && named.routes.empty()) {
    asks.push_back(ask_routes(control, {{"verbose", true}}));
  }
  if (has("routing") || has("buffers")) asks.push_back(ask_routing(control));
  for (const lnet::Nid& peer : named.peers)
    asks.push_back(ask_peers(control, {{"nid", text_of(peer)}}));
  if (has("peer") && named.peers.empty()) asks.push_back(ask_peers(control, VerbArgs::object()));
  if (has("global") || has("numa")) asks.push_back(answer(globals_to_json(control.parameters())));
  if (has("statistics")) {
    asks.push_back([&control](VerbToken next) {
      control.statistics(printed<lnet::StatisticsReport>(
          std::move(next), [](const auto& report) { return statistics_to_json(report); }));
    });
  }
  gather(std::move(asks), std::move(token));
}

void exec_named(LnetControl& control, const NamedItems& named, VerbToken token) {
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

void export_running(LnetControl& control, Json tail, VerbToken token) {
  constexpr int kNetLevel = 2;  // lnetctl's own choice of detail
  constexpr int kPeerLevel = 3;
  gather({ask_nets(control, {{"verbose", kNetLevel}}), ask_routes(control, {{"verbose", true}}),
          ask_routing(control), ask_peers(control, {{"verbose", kPeerLevel}}),
          answer(globals_to_json(control.parameters())), answer(std::move(tail))},
         std::move(token));
}

}  // namespace plnet::runtime
