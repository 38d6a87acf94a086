// SPDX-License-Identifier: BSD-3-Clause
// Rows in the order in which lnetctl exports them.
// Checked against lustre-release lnet/utils/lnetconfig/liblnetconfig.c: lookup_config_tbl and the
// handlers that it names, at 2.12.9, 2.15.5 and 2.17.0.
#include "lib/runtime/config/lnet_schema.hpp"

#include <array>

#include <fmt/format.h>

#include "lib/base/interface_name.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/runtime/config/access_schema.hpp"
#include "lib/runtime/config/fault_schema.hpp"
#include "lib/runtime/config/lnet_schema_rows.hpp"

namespace plnet::runtime {
namespace {

using namespace schema_rows;

// Rules by address are kept as the text of the module option ip2nets.
struct Ip2NetsText : TextForm<std::string> {
  static Outcome<std::string> parse(std::string_view text) {
    if (auto rules = lnet::parse_ip2nets(text); !rules)
      return std::unexpected(std::move(rules.error()));
    return std::string(text);
  }
};

Outcome<void> check_index(std::string_view name) {
  constexpr std::size_t kDigitsMax = 4;
  const bool digits = name.find_first_not_of("0123456789") == std::string_view::npos;
  if (digits && !name.empty() && name.size() <= kDigitsMax) return {};
  return failure(Errc::kInvalid, "expected a number that counts from 0");
}
Outcome<void> check_interface_name(std::string_view name) {
  if (is_interface_name(name)) return {};
  return failure(Errc::kInvalid, fmt::format("'{}': expected {}", name, kInterfaceNameExpected));
}
Outcome<void> check_tunable_name(std::string_view name) {
  constexpr std::size_t kNameMax = 32;
  if (!name.empty() && name.size() <= kNameMax) return {};
  return failure(Errc::kInvalid, "expected the name of a tunable");
}

// The rows of members that NIs, nets and ip2nets have in common.
template <class Record>
constexpr std::array kTunables{
    optional(number("peer_timeout",
                    "Seconds after which a peer that was silent counts as dead; 0 = never.", 0,
                    kNumberMax, PLNET_FIELD(Record, tunables.peer_timeout_s))),
    optional(number("peer_credits",
                    "Messages under way to one peer; of TCP's 8, the default, a peer that takes "
                    "them at once borrows more.",
                    0, kNumberMax, PLNET_FIELD(Record, tunables.peer_credits))),
    optional(number("peer_buffer_credits", "Router buffers that one peer may hold.", 0, kNumberMax,
                    PLNET_FIELD(Record, tunables.peer_buffer_credits))),
    optional(number("credits", "Messages under way on the NI.", 0, kNumberMax,
                    PLNET_FIELD(Record, tunables.credits))),
};

constexpr std::array kLndTunableKeys{[] {
  Key key = live("NAME", KeyKind::kPlain, "The value of this tunable.");
  return key;
}()};
constexpr std::array kInterfaceKeys{[] {
  Key key = live("N", KeyKind::kText, "The name of an interface.");
  key.check = check_interface_name;
  return key;
}()};
constexpr std::array kRangeKeys{[] {
  Key key = live("N", KeyKind::kText, "Addresses, such as 192.168.[1-4].*");
  key.check = check_text<TextForm<lnet::AddressPattern>>;
  return key;
}()};

template <class Record>
constexpr Key kTunablesKey = optional(
    section("tunables", "Settings of every network driver; the driver's defaults if left out.",
            kTunables<Record>));
template <class Record>
constexpr Key kLndTunablesKey = dictionary(
    "lnd tunables", "Settings of this network driver alone, such as conns_per_peer.", 32,
    check_tunable_name, kLndTunableKeys, "conns_per_peer: 1", PLNET_FIELD(Record, lnd_tunables));
template <class Record>
constexpr Key kInterfacesKey =
    dictionary("interfaces", "The interface, by a number that counts from 0.", 32, check_index,
               kInterfaceKeys, "0: eth0", PLNET_FIELD(Record, interfaces));

constexpr std::array kNiKeys{
    text("nid", "Its NID; beside interfaces it counts if one of them has its address.", "",
         PLNET_TEXT(lnet::NiConfig, nid)),
    kInterfacesKey<lnet::NiConfig>,
    kTunablesKey<lnet::NiConfig>,
    kLndTunablesKey<lnet::NiConfig>,
    cpt_list("CPTs that serve it; all if left out.", PLNET_FIELD(lnet::NiConfig, cpts)),
};

constexpr std::array kNetKeys{
    text("net type", "The network, such as tcp or o2ib1.", "tcp",
         PLNET_TEXT_AS(NetText, NetItem, net.net)),
    text("ip2net", "Instead of a network: rules by address, as the module option ip2nets has them.",
         "", PLNET_TEXT_AS(Ip2NetsText, NetItem, ip2net)),
    list("local NI(s)", "The interfaces of this node on it.", lnet::kConfiguredNisMax, kNiKeys,
         PLNET_RECORDS(NetItem, net.nis)),
    input_only(kTunablesKey<NetItem>),
    input_only(kLndTunablesKey<NetItem>),
    input_only(cpt_list("For NIs that name none themselves.", PLNET_FIELD(NetItem, cpts))),
};

constexpr std::array kIp2NetsKeys{
    text("net-spec", "The network, such as tcp or o2ib1.", "tcp",
         PLNET_TEXT_AS(NetText, lnet::Ip2NetsConfig, net)),
    kInterfacesKey<lnet::Ip2NetsConfig>,
    dictionary("ip-range", "Addresses that an interface must have one of.", 64, check_index,
               kRangeKeys, "0: \"192.168.*.[1-8]\"", PLNET_FIELD(lnet::Ip2NetsConfig, ranges)),
    kTunablesKey<lnet::Ip2NetsConfig>,
    kLndTunablesKey<lnet::Ip2NetsConfig>,
    cpt_list("CPTs that serve it; all if left out.", PLNET_FIELD(lnet::Ip2NetsConfig, cpts)),
};

constexpr std::array kRouteKeys{
    text("net", "The destination network.", "o2ib1", PLNET_TEXT_AS(NetText, RouteItem, route.net)),
    text("gateway", "The NID of the router, or a range of them.", "10.0.0.9@tcp",
         PLNET_TEXT(RouteItem, gateways)),
    number("hop", "Networks to cross; -1 = not known.", lnet::kHopsUndefined, lnet::kHopsMax,
           PLNET_FIELD(RouteItem, route.hops)),
    number("priority", "0 is taken first.", 0, kNumberMax, PLNET_FIELD(RouteItem, route.priority)),
};

constexpr std::array kRoutingKeys{[] {
  Key key = live("enable", KeyKind::kBoolean, "1 = forward messages between networks.");
  // `routing show` prints 2 while routing is being stopped, 3 while it is being started.
  // lustre-release include/linux/lnet/lib-types.h: LNET_ROUTING_STOPPING, LNET_ROUTING_STARTING
  static_assert(static_cast<int>(lnet::RoutingState::kStopping) % 2 == 0);
  static_assert(static_cast<int>(lnet::RoutingState::kStarting) % 2 == 1);
  key.high = static_cast<int>(lnet::RoutingState::kStarting);
  key.binding = PLNET_FIELD(Document, settings.lnet.routing);
  return key;
}()};

constexpr std::array kBuffersKeys{
    optional(number("tiny", "Buffers for messages without payload; 0 = as many as are needed.", 0,
                    kNumberMax, PLNET_FIELD(Document, settings.lnet.buffers.tiny))),
    optional(number("small", "Buffers of one page; 0 = as many as are needed.", 0, kNumberMax,
                    PLNET_FIELD(Document, settings.lnet.buffers.small))),
    optional(number("large", "Buffers of 1 MiB; 0 = as many as are needed.", 0, kNumberMax,
                    PLNET_FIELD(Document, settings.lnet.buffers.large))),
};

constexpr std::array kPeerNiKeys{
    text("nid", "A NID of it, or a range of them.", "10.0.0.7@tcp", PLNET_TEXT(PeerNiItem, nids)),
};

constexpr std::array kPeerKeys{
    text("primary nid", "The NID that names it.", "10.0.0.7@tcp",
         PLNET_TEXT(PeerItem, peer.primary)),
    truth("Multi-Rail", "Whether it may be reached at several NIDs.",
          PLNET_TRUTH(PeerItem, peer.multi_rail)),
    optional(truth("lock_prim", "Discovery may not make another NID the primary one.",
                   PLNET_TRUTH(PeerItem, peer.lock_primary))),
    list("peer ni", "All its NIDs.", lnet::kConfiguredNisMax, kPeerNiKeys,
         PLNET_RECORDS(PeerItem, nis)),
};

constexpr std::array kNumaKeys{
    input_only(number("range", "The same as global.numa_range, as old files have it.", 0,
                      kNumberMax, PLNET_FIELD(Document, settings.lnet.parameters.numa_range))),
};

// The ranges are those of lnet::global_variables(); a test compares them.
#define PLNET_GLOBAL(name, member, low, high, help) \
  number(name, help, low, high, PLNET_FIELD(Document, settings.lnet.parameters.member))

constexpr std::array kGlobalKeys{
    PLNET_GLOBAL("numa_range", numa_range, 0, kNumberMax,
                 "NIs whose NUMA distance differs by no more than this count as equally near."),
    PLNET_GLOBAL("max_interfaces", max_interfaces, 0, kNumberMax,
                 "Interfaces of a peer that are looked at; below 16 means the default."),
    input_only(PLNET_GLOBAL("max_intf", max_interfaces, 0, kNumberMax,
                            "The same, as old exports have it.")),
    PLNET_GLOBAL("discovery", discovery, 0, 1, "1 = peers are asked for their interfaces."),
    PLNET_GLOBAL("drop_asym_route", drop_asym_route, 0, 1,
                 "1 = drop messages by a route that an answer would not take."),
    PLNET_GLOBAL("retry_count", retry_count, 0, kNumberMax,
                 "How often a message that failed is sent again."),
    PLNET_GLOBAL("transaction_timeout", transaction_timeout_s, 1, kNumberMax,
                 "Seconds until a message and its answer have failed; exceeds retry_count."),
    PLNET_GLOBAL("health_sensitivity", health_sensitivity, 0, 1000,
                 "How much health a failure costs, up to 1000; 0 = no health, no retries."),
    PLNET_GLOBAL("recovery_interval", recovery_interval_s, 1, kNumberMax,
                 "Kept for old files: recovery pings back off by themselves."),
    PLNET_GLOBAL("router_sensitivity", router_sensitivity, 0, 100,
                 "Percent of its health that a gateway must have."),
    [] {
      Key key = PLNET_GLOBAL("lnd_timeout", transaction_timeout_s, 1, kNumberMax,
                             "Seconds, from transaction_timeout and retry_count; exports show it.");
      key.output_only = true;
      key.binding.get = [](const void* record) -> Value {
        return static_cast<const Document*>(record)->settings.lnet.parameters.lnd_timeout_s();
      };
      return key;
    }(),
    PLNET_GLOBAL("response_tracking", response_tracking, 0, 3,
                 "Answers that are tracked: 0 of internal pings, 1 of GETs, 2 of PUTs, 3 all."),
    PLNET_GLOBAL("recovery_limit", recovery_limit_s, 0, kNumberMax,
                 "Seconds for which a silent peer is pinged for recovery; 0 = for ever."),
    PLNET_GLOBAL("max_recovery_ping_interval", max_recovery_ping_interval_s, 1, kNumberMax,
                 "Seconds up to which recovery pings back off. Those to gateways, and those of a "
                 "router to next hops that are down, stay at most 60 apart."),
};
#undef PLNET_GLOBAL

constexpr std::array kActionKeys{
    optional(number("priority", "0 is the highest.", 0, kNumberMax,
                    PLNET_FIELD(UdspItem, policy.priority))),
};

constexpr std::array kUdspKeys{
    optional(number("idx", "Its place among the policies; at the end if left out.", 0,
                    lnet::kUdspsMax, PLNET_FIELD(UdspItem, index))),
    text("src", "Local NIDs or networks.", "tcp", PLNET_TEXT(UdspItem, policy.source)),
    text("dst", "Remote NIDs or networks.", "10.0.0.*@tcp",
         PLNET_TEXT(UdspItem, policy.destination)),
    text("rte", "Routers.", "", PLNET_TEXT(UdspItem, policy.router)),
    input_only(optional(number("priority", "The same as action.priority.", 0, kNumberMax,
                               PLNET_FIELD(UdspItem, policy.priority)))),
    optional(section("action", "The action of the policy instead of a preference.", kActionKeys)),
};

constexpr std::array kPingKeys{
    text("primary nid", "The node to ping.", "10.0.0.7@tcp", PLNET_TEXT(ExecRequest, nid)),
    number("timeout", "Milliseconds.", 1, 120'000, PLNET_FIELD(ExecRequest, timeout)),
    text("source_nid", "The local NID to ping from.", "", PLNET_TEXT(ExecRequest, source)),
};
constexpr std::array kDiscoverKeys{
    text("primary nid", "The node to discover.", "10.0.0.7@tcp", PLNET_TEXT(ExecRequest, nid)),
    [] {
      Key key = live("force", KeyKind::kBoolean, "1 = even if the known state is fresh.");
      key.binding = PLNET_FIELD(ExecRequest, force);
      return key;
    }(),
};

constexpr std::array kLnetKeys{
    items(list("net", "Networks of this node and its interfaces (NIs) on them.",
               lnet::kConfiguredNetsMax, kNetKeys, PLNET_RECORDS(Document, items.nets))),
    items(list("ip2nets", "Networks by the addresses that this machine has.",
               lnet::kConfiguredNetsMax, kIp2NetsKeys, PLNET_RECORDS(Document, items.ip2nets))),
    items(list("route", "How other networks are reached.", lnet::kRoutesMax, kRouteKeys,
               PLNET_RECORDS(Document, items.routes))),
    [] {
      Key key = section("routing", "Whether this node is a router.", kRoutingKeys);
      key.also_list = true;
      return key;
    }(),
    section("buffers", "Buffers of a router, of the whole node.", kBuffersKeys),
    items(list("peer", "Peers that are known without discovery.", lnet::kConfiguredPeersMax,
               kPeerKeys, PLNET_RECORDS(Document, items.peers))),
    input_only(section("numa", "As old files have it.", kNumaKeys)),
    section("global", "The variables of `lnetctl global show`.", kGlobalKeys),
    items(list("udsp", "User-defined selection policies; the first that fits decides.",
               lnet::kUdspsMax, kUdspKeys, PLNET_RECORDS(Document, items.udsps))),
    [] {
      Key key = items(list(
          "fault", "Rules that drop or delay messages, for tests. Only plnet has them in files.",
          lnet::kFaultRulesMax, kFaultKeys, PLNET_RECORDS(Document, items.faults)));
      key.binding.append = [](void* record) -> void* {
        return &static_cast<Document*>(record)->items.faults.emplace_back(kBlankFault);
      };
      return key;
    }(),
    list("access",
         "Rules for connections and forwarding: the first rule that matches decides; all is "
         "allowed if none matches. Only plnet has them.",
         lnet::kAccessRulesMax, kAccessKeys, PLNET_RECORDS(Document, settings.lnet.access)),
    input_only(
        items(list("ping", "With `import --exec`: nodes to ping.", lnet::kNidsPerOperationMax,
                   kPingKeys, PLNET_RECORDS(Document, items.pings)))),
    input_only(items(list("discover", "With `import --exec`: nodes to discover.",
                          lnet::kNidsPerOperationMax, kDiscoverKeys,
                          PLNET_RECORDS(Document, items.discovers)))),
};

}  // namespace

std::span<const Key> lnet_keys() {
  return kLnetKeys;
}

std::span<const Key> access_keys() {
  return kAccessKeys;
}

std::span<const Key> fault_keys() {
  return kFaultKeys;
}

}  // namespace plnet::runtime
