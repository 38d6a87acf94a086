// SPDX-License-Identifier: BSD-3-Clause
// The verbs of LNet: net, peer, route, ping, …, with the options of lnetctl 2.17.
// Checked against lustre-release lnet/utils/lnetctl.c: the command and option tables.
#pragma once

#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::runtime::verb_rows {

using namespace row_makers;

inline constexpr std::size_t kNidsMax = 128;  // words of one command line
inline constexpr PositionalRow kNids{"NID [NID …]", "nid", 1, kNidsMax};

inline constexpr OptionRow kLevel = level("more of it, up to 4; without a number the same as 1");
inline constexpr OptionRow kPrimaryNid =
    text("prim_nid", 'k', "NID", "the NID that names the peer");
inline constexpr OptionRow kHealth = number("health", 't', "N", "health value, 0 to 1000");
inline constexpr OptionRow kRouteNet = text("net", 'n', "NET", "the destination network");
inline constexpr OptionRow kGateway = text("gateway", 'g', "NID", "the router, or a range of them");
inline constexpr OptionRow kHop = number("hop", 'c', "N", "networks to cross, 1 to 255");
inline constexpr OptionRow kHopCount = number("hop-count", 0, "N", "the same as --hop");
inline constexpr OptionRow kPriority = number("priority", 'p', "N", "0 is taken first");
inline constexpr OptionRow kConnNet = text("net", 'n', "NET", "only on this network");
inline constexpr OptionRow kConnNid = text("nid", 'p', "NID", "only with the peer of this NID");
inline constexpr OptionRow kUdspIndex = number("idx", 'i', "N", "the policy of that index");

constexpr VerbRow manage(std::string_view words, std::string_view help, const OptionList& options) {
  return {.words = words,
          .help = help,
          .options = options,
          .positional = kNids,
          .frequent = true,
          .operation = "manage",
          .entity = words};
}
constexpr VerbRow whole_only(VerbRow row) {
  row.whole_only = true;
  return row;
}

inline constexpr std::array kLnetRows{
    change("lnet configure", "configure", "lnet", "start LNet",
           {flag("all", 'a', "also the networks of module options and ip2nets"),
            flag("large", 'l', "for the kernel's tool; has no effect")}),
    change("lnet unconfigure", "unconfigure", "lnet", "stop LNet"),
    change("net add", "add", "net", "add a network, or NIs to it",
           {text("net", 'n', "NET", "the network, such as tcp or o2ib1"),
            text("if", 'i', "IFLIST", "interfaces on it: eth0,eth1[0,1]"),
            text("nid", 0, "NIDLIST", "NIDs to take, instead of --net and --if"),
            text("ip2net", 'p', "RULES", "networks by address: \"tcp(eth0) 10.*.*.*\""),
            number("peer-timeout", 't', "SECONDS",
                   "after which a silent peer counts as dead; 0 = never"),
            number("peer-credits", 'c', "N", "messages under way to one peer"),
            number("peer-buffer-credits", 'b', "N", "router buffers that one peer may hold"),
            number("credits", 'r', "N", "messages under way on the NI"),
            text("cpt", 's', "CPTS", "CPTs that serve it: [0,1]"),
            number("conns-per-peer", 'm', "N", "connections to one peer, 0 to 127"),
            flag("skip-mr-route-setup", 'k', "for the kernel's tool; has no effect"),
            number("auth-key", 'a', "N", "authorization key, for Slingshot"),
            text("traffic-class", 'T', "CLASS", "traffic class, for Slingshot"),
            number("tos", 0, "N", "type of service of its packets, -1 to 255"),
            text("driver", 0, "NAME",
                 "serve it with this driver: null (a network that only pretends)")}),
    change("net del", "del", "net", "delete a network, or NIs of it",
           {text("net", 'n', "NET", "the network"),
            text("if", 'i', "IFLIST", "only these interfaces of it"),
            text("nid", 0, "NIDLIST", "the NIs with these NIDs")}),
    show("net show", "net", "networks and their NIs",
         {text("net", 'n', "NET", "only this network"), kLevel}),
    change("net set", "set", "net", "change NIs",
           {text("nid", 'n', "NID", "the NI"), text("net", 'i', "NET", "all NIs of this network"),
            number("lnd-timeout", 'l', "SECONDS", "of the network driver; goes with --net"),
            kHealth, number("conns-per-peer", 'm', "N", "connections to one peer, 0 to 127"),
            flag("all", 'a', "all NIs")}),
    change("route add", "add", "route", "add routes",
           {kRouteNet, kGateway, kHop, kHopCount, kPriority}),
    change("route del", "del", "route", "delete routes",
           {kRouteNet, text("gateway", 'g', "NID", "the router, or a range")}),
    show("route show", "route", "routes",
         {kRouteNet, kGateway, kHop, kHopCount, kPriority,
          level("with hop, priority, type, state and why it is down; 3: also its history")}),
    show("route explain", "route", "which way a message would take, and why not another", {},
         {"SRC DST", "src", 2, 2}),
    show("routing show", "routing", "whether the node is a router, and its buffers"),
    change(
        "routing drain", "drain", "routing", "stop routing without loss: peers get notice first",
        {number("timeout", 't', "SECONDS",
                "drop the rest after this time (three times "
                "alive_router_check_interval + router_ping_timeout)"),
         flag("full-notice", 0, "peers have all that time once, also if all have acknowledged")}),
    change("routing undrain", "undrain", "routing", "cancel a drain or a stop: route again"),
    change("peer add", "add", "peer", "add a peer, or NIDs to it",
           {kPrimaryNid, text("nid", 'n', "NIDS", "its NIDs, or ranges of them"),
            flag("non_mr", 'm', "not Multi-Rail"),
            flag("lock_prim", 'l', "discovery may not choose another primary NID")}),
    change(
        "peer del", "del", "peer", "delete a peer, or NIDs of it",
        {kPrimaryNid, text("nid", 'n', "NIDS", "only these NIDs of it; the whole peer if left out"),
         flag("force", 'f', "also if its primary NID is locked")}),
    show("peer show", "peer", "peers and their NIs",
         {text("nid", 'n', "NID", "only the peer with this NID"), kLevel}),
    show("peer list", "peer", "primary NIDs of all peers"),
    show("peer count", "peer", "peer NIs of each network: how many, and how many are in trouble"),
    change("peer set", "set", "peer", "change peer NIs",
           {text("nid", 'n', "NID", "the peer NI"), kHealth, flag("all", 'a', "all peer NIs"),
            number("state", 's', "N", "state of the peer; for tests")}),
    show("conn show", "conn", "connections of TCP networks (lctl conn_list)",
         {kConnNet, kConnNid, level("all that is known of them")}),
    show("conn peers", "conn", "peers of TCP networks (lctl peer_list)",
         {kConnNet, kConnNid, level("all that is known of them")}),
    manage("ping", "ask nodes for their NIs",
           {number("timeout", 't', "SECONDS", "for each ping (1)"),
            text("source", 's', "NID", "from which NID of the node"),
            number("count", 0, "N", "a burst of N pings to each NID, with round-trip times"),
            number("window", 0, "N", "pings under way at a time, 1 to 16 (1)")}),
    manage("discover", "discover the NIs of peers",
           {flag("force", 'f', "even if the known state is fresh")}),
    // No abbreviation: `cpt` is another command.
    whole_only(show("cpt-of-nid", "cpt-of-nid", "the CPTs that NIDs belong to", {}, kNids)),
    show("service-id", "service-id", "the InfiniBand service ID of o2iblnd"),
    change("udsp add", "add", "udsp", "prefer a network, interface or router",
           {text("src", 's', "RANGE", "local NIDs or a network"),
            text("dst", 'd', "RANGE", "remote NIDs"), text("rte", 'r', "RANGE", "routers"),
            number("priority", 'p', "N", "0 is the highest"),
            number("idx", 'i', "N", "its place among the policies")}),
    change("udsp del", "del", "udsp", "delete selection policies",
           {flag("all", 'a', "all policies"), kUdspIndex}),
    show("udsp show", "udsp", "selection policies", {kUdspIndex}),
    show("stats show", "statistics", "LNet's statistics"),
    change("stats reset", "set", "statistics", "reset the statistics"),
    change("access add", "add", "access", "allow or deny connections and forwarding",
           {text("action", 'a', "ACTION", "allow or deny"),
            text("for", 'f', "WHAT", "connect, forward or all (all)"),
            text("source", 's', "RANGES", "the peer that connects, or the sender of the message"),
            text("dest", 'd', "RANGES", "the local NI, or the destination of the message"),
            text("from", 0, "NET", "the network that it arrives on"),
            text("to", 0, "NET", "the network of its destination"),
            number("idx", 0, "N", "before the rule of that index; behind all if left out")}),
    change("access del", "del", "access", "delete access rules",
           {number("idx", 0, "N", "the rule of that index"), flag("all", 0, "all rules")}),
    show("access show", "access", "access rules and how often each has decided"),
    show("global show", "global", "LNet's variables"),
    show("debug recovery", "recovery", "interfaces in recovery",
         {flag("local", 'l', "NIs of this node"), flag("peer", 'p', "NIs of peers")}),
    show("debug messages", "messages", "states of messages and their waits",
         {number("rows", 'r', "N", "the N messages that wait longest, 1 to 64 (10)")}),
};

}  // namespace plnet::runtime::verb_rows

namespace plnet::runtime {

inline constexpr VerbRows kLnetVerbs{verb_rows::kLnetRows};

}  // namespace plnet::runtime
