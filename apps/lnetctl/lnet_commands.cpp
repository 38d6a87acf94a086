// SPDX-License-Identifier: BSD-3-Clause
// The rows of LNet's own commands: net, peer, route, ping, …, with the options of lnetctl 2.17
// (lustre-release lnet/utils/lnetctl.c: the command and option tables).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/row_makers.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::apps {
namespace {

using namespace row_makers;
using namespace nlohmann::literals;

constexpr std::array kConfigureOptions{
    flag("all", 'a', "also the networks of module options and ip2nets"),
    flag("large", 'l', "for the kernel's tool; has no effect")};

constexpr std::array kNetAddOptions{
    text("net", 'n', "NET", "the network, such as tcp or o2ib1"),
    text("if", 'i', "IFLIST", "interfaces on it: eth0,eth1[0,1]"),
    text("nid", 0, "NIDLIST", "NIDs to take, instead of --net and --if"),
    text("ip2net", 'p', "RULES", "networks by address: \"tcp(eth0) 10.*.*.*\""),
    number("peer-timeout", 't', "SECONDS", "after which a silent peer counts as dead; 0 = never"),
    number("peer-credits", 'c', "N", "messages under way to one peer"),
    number("peer-buffer-credits", 'b', "N", "router buffers that one peer may hold"),
    number("credits", 'r', "N", "messages under way on the NI"),
    text("cpt", 's', "CPTS", "CPTs that serve it: [0,1]"),
    number("conns-per-peer", 'm', "N", "connections to one peer, 0 to 127"),
    flag("skip-mr-route-setup", 'k', "for the kernel's tool; has no effect"),
    number("auth-key", 'a', "N", "of kfi"),
    text("traffic-class", 'T', "CLASS", "of kfi"),
    number("tos", 0, "N", "type of service of its packets, -1 to 255"),
    text("driver", 0, "NAME", "serve it with this driver: null (a network that only pretends)")};

constexpr std::array kNetDelOptions{text("net", 'n', "NET", "the network"),
                                    text("if", 'i', "IFLIST", "only these interfaces of it"),
                                    text("nid", 0, "NIDLIST", "the NIs with these NIDs")};

constexpr std::array kNetShowOptions{text("net", 'n', "NET", "only this network"), kLevel};

constexpr std::array kNetSetOptions{
    text("nid", 'n', "NID", "the NI"),
    text("net", 'i', "NET", "all NIs of this network"),
    number("lnd-timeout", 'l', "SECONDS", "of the network driver; goes with --net"),
    number("health", 't', "N", "health value, 0 to 1000"),
    number("conns-per-peer", 'm', "N", "connections to one peer, 0 to 127"),
    flag("all", 'a', "all NIs")};

constexpr std::array kPeerAddOptions{
    text("prim_nid", 'k', "NID", "the NID that names the peer"),
    text("nid", 'n', "NIDS", "its NIDs, or ranges of them"), flag("non_mr", 'm', "not Multi-Rail"),
    flag("lock_prim", 'l', "discovery may not choose another primary NID")};

constexpr std::array kPeerDelOptions{
    text("prim_nid", 'k', "NID", "the NID that names the peer"),
    text("nid", 'n', "NIDS", "only these NIDs of it; the whole peer if left out"),
    flag("force", 'f', "also if its primary NID is locked")};

constexpr std::array kPeerShowOptions{text("nid", 'n', "NID", "only the peer with this NID"),
                                      kLevel};

constexpr std::array kPeerSetOptions{
    text("nid", 'n', "NID", "the peer NI"), number("health", 't', "N", "health value, 0 to 1000"),
    flag("all", 'a', "all peer NIs"), number("state", 's', "N", "state of the peer; for tests")};

constexpr std::array kRouteOptions{text("net", 'n', "NET", "where it leads to"),
                                   text("gateway", 'g', "NID", "the router, or a range of them"),
                                   number("hop", 'c', "N", "networks to cross, 1 to 255"),
                                   number("hop-count", 0, "N", "the same as --hop"),
                                   number("priority", 'p', "N", "0 is taken first")};
constexpr std::array kRouteDelOptions{text("net", 'n', "NET", "where it leads to"),
                                      text("gateway", 'g', "NID", "the router, or a range")};
constexpr std::array kRouteShowOptions{
    kRouteOptions[0],
    kRouteOptions[1],
    kRouteOptions[2],
    kRouteOptions[3],
    kRouteOptions[4],
    OptionRow{"verbose", 'v', OptionKind::kLevel, "N",
              "with hop, priority, state, type; 3: also what has become of it"}};

constexpr std::array kDrainOptions{
    number("timeout", 't', "SECONDS",
           "end it then whatever is left (three times "
           "alive_router_check_interval + router_ping_timeout)"),
    flag("full-notice", 0, "peers have all that time once, also if all have acknowledged")};

constexpr std::array kPingOptions{
    number("timeout", 't', "SECONDS", "for each ping (1)"),
    text("source", 's', "NID", "from which NID of the node"),
    number("count", 0, "N", "a burst of so many to each NID, with round-trip times"),
    number("window", 0, "N", "of them under way at a time, 1 to 16 (1)")};
constexpr std::array kDiscoverOptions{flag("force", 'f', "also if what is known is fresh")};

constexpr std::array kConnOptions{
    text("net", 'n', "NET", "only on this network"),
    text("nid", 'p', "NID", "only with the peer of this NID"),
    OptionRow{"verbose", 'v', OptionKind::kLevel, "N", "all that is known of them"}};

constexpr std::array kAccessAddOptions{
    text("action", 'a', "ACTION", "allow or deny"),
    text("for", 'f', "WHAT", "connect, forward or all (all)"),
    text("source", 's', "RANGES", "who connects, or whom the message is from"),
    text("dest", 'd', "RANGES", "our NI, or whom the message is for"),
    text("from", 0, "NET", "the network that it comes in by"),
    text("to", 0, "NET", "the network of its destination"),
    number("idx", 0, "N", "before the rule of that index; behind all if left out")};
constexpr std::array kAccessDelOptions{number("idx", 0, "N", "the rule of that index"),
                                       flag("all", 0, "all rules")};

constexpr std::array kUdspAddOptions{
    text("src", 's', "RANGE", "local NIDs or a network"), text("dst", 'd', "RANGE", "remote NIDs"),
    text("rte", 'r', "RANGE", "routers"), number("priority", 'p', "N", "0 is the highest"),
    number("idx", 'i', "N", "its place among the policies")};
constexpr std::array kUdspDelOptions{flag("all", 'a', "all policies"),
                                     number("idx", 'i', "N", "the policy of that index")};
constexpr std::array kUdspShowOptions{kUdspDelOptions[1]};

constexpr std::size_t kNidsMax = 128;

// What the node may take for pings, and some seconds: so many are asked at a time, and there are
// limits to the timeout of each and to a burst. One word may name as many as the node takes.
Duration patience_of(const Arguments& arguments) {
  constexpr Duration kMore = std::chrono::seconds(15);
  constexpr std::size_t kAskedAtOnce = 16;
  constexpr std::int64_t kPingTimeoutMax = 120;
  if (arguments.has("count")) return std::chrono::minutes(10) + kMore;
  const auto timeout = arguments.number("timeout").value_or(1);
  const std::size_t most =
      arguments.positional.size() == 1 &&
              arguments.positional.front().find_first_of(",[*") == std::string::npos
          ? 1
          : kNidsMax;
  const auto rounds = static_cast<std::int64_t>(most / kAskedAtOnce + 1);
  return std::chrono::seconds(std::clamp<std::int64_t>(timeout, 1, kPingTimeoutMax) * rounds) +
         kMore;
}

// A discovery ends with the transactions of its messages, however many are asked: the node answers
// some seconds after that.
Duration patience_of_discovery(Session& session) {
  constexpr Duration kMore = std::chrono::seconds(20);
  constexpr std::int64_t kTransactionDefault = 150;  // seconds
  const auto reply = session.ask("global show", nlohmann::json::object());
  const auto known = reply.value_or(Json::object())
                         .value("/global/transaction_timeout"_json_pointer, kTransactionDefault);
  return std::chrono::seconds(known) + kMore;
}

// Those who answered go to standard output, what is said of the others to standard error. One
// answer is a success.
int run_manage(const Arguments& arguments, const CommandRow& row, Session& session) {
  nlohmann::json args{{"nid", arguments.positional}};
  for (const char* const name : {"timeout", "count", "window"}) {
    if (const auto number = arguments.number(name)) args[name] = *number;
  }
  if (arguments.has("source")) args["source"] = arguments.text("source");
  if (arguments.has("force")) args["force"] = true;
  session.patience =
      row.words == "discover" ? patience_of_discovery(session) : patience_of(arguments);
  auto reply = session.ask(row.words, args);
  session.patience = {};
  if (!reply) return print_error(session, row, reply.error());
  if (!session.json && reply->is_object() && reply->contains("manage")) {
    print_text(session.err, runtime::print_yaml({{"manage", (*reply)["manage"]}}));
    reply->erase("manage");
  }
  return print_result(session, row, *reply);
}

constexpr CommandRow manage(std::string_view words, std::string_view help,
                            std::span<const OptionRow> options) {
  CommandRow row;
  row.words = words;
  row.help = help;
  row.options = options;
  row.positional = "NID [NID …]";
  row.positional_min = 1;
  row.positional_max = kNidsMax;
  row.operation = "manage";
  row.entity = words;
  row.run = run_manage;
  return row;
}

constexpr CommandRow explain() {
  CommandRow row =
      show("route explain", "which way a message would take, and why not another", {}, "route");
  row.positional = "SRC DST";
  row.positional_min = row.positional_max = 2;
  return row;
}

constexpr CommandRow cpt_of_nid() {
  CommandRow row = show("cpt-of-nid", "the CPTs where NIDs are at home", {}, "cpt-of-nid");
  row.positional = "NID [NID …]";
  row.positional_min = 1;
  row.positional_max = kNidsMax;
  row.whole_only = true;  // `cpt` has a meaning of its own
  return row;
}

// A number in hexadecimal, which YAML would have in quotes.
std::string print_service_id(const Json& result) {
  return "service_id:\n    value: " + result["service_id"]["value"].get<std::string>() + "\n";
}

constexpr CommandRow service_id() {
  CommandRow row = show("service-id", "the InfiniBand service ID of o2iblnd", {}, "service-id");
  row.print = print_service_id;
  return row;
}

constexpr std::array kLnetRows{
    change("lnet configure", "start LNet", kConfigureOptions, "configure", "lnet"),
    change("lnet unconfigure", "stop LNet", {}, "unconfigure", "lnet"),
    change("net add", "add a network, or NIs to it", kNetAddOptions, "add", "net"),
    change("net del", "delete a network, or NIs of it", kNetDelOptions, "del", "net"),
    show("net show", "networks and their NIs", kNetShowOptions, "net"),
    change("net set", "change NIs", kNetSetOptions, "set", "net"),
    change("route add", "add routes", kRouteOptions, "add", "route"),
    change("route del", "delete routes", kRouteDelOptions, "del", "route"),
    show("route show", "routes", kRouteShowOptions, "route"),
    explain(),
    show("routing show", "whether the node is a router, and its buffers", {}, "routing"),
    change("routing drain", "stop routing, but lose nothing: peers are told first", kDrainOptions,
           "drain", "routing"),
    change("routing undrain", "route again", {}, "undrain", "routing"),
    change("peer add", "add a peer, or NIDs to it", kPeerAddOptions, "add", "peer"),
    change("peer del", "delete a peer, or NIDs of it", kPeerDelOptions, "del", "peer"),
    show("peer show", "peers and their NIs", kPeerShowOptions, "peer"),
    show("peer list", "primary NIDs of all peers", {}, "peer"),
    change("peer set", "change peer NIs", kPeerSetOptions, "set", "peer"),
    show("conn show", "connections of TCP networks (lctl conn_list)", kConnOptions, "conn"),
    show("conn peers", "peers of TCP networks (lctl peer_list)", kConnOptions, "conn"),
    manage("ping", "ask nodes for their NIs", kPingOptions),
    manage("discover", "discover the NIs of peers", kDiscoverOptions),
    cpt_of_nid(),
    service_id(),
    change("udsp add", "prefer a network, interface or router", kUdspAddOptions, "add", "udsp"),
    change("udsp del", "delete selection policies", kUdspDelOptions, "del", "udsp"),
    show("udsp show", "selection policies", kUdspShowOptions, "udsp"),
    show("stats show", "what LNet counted", {}, "statistics"),
    change("stats reset", "count anew", {}, "set", "statistics"),
    change("access add", "who may connect and for whom is forwarded", kAccessAddOptions, "add",
           "access"),
    change("access del", "delete access rules", kAccessDelOptions, "del", "access"),
    show("access show", "access rules and how often each has decided", {}, "access"),
    show("global show", "LNet's variables", {}, "global"),
};

}  // namespace

std::span<const CommandRow> lnet_commands() {
  return kLnetRows;
}

}  // namespace plnet::apps
