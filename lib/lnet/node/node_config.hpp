// SPDX-License-Identifier: BSD-3-Clause
// The configuration of LNet on a node, as plain values: networks and interfaces, routes, peers,
// policies, and the variables of `lnetctl global show`. Files and command lines are read into it,
// the core applies it, exports print it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/access/access_rule.hpp"
#include "lib/lnet/faults/fault_spec.hpp"
#include "lib/lnet/names/address_pattern.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/routes_text.hpp"
#include "lib/lnet/paths/udsp.hpp"
#include "lib/lnet/peers/lnd_tunable.hpp"

namespace plnet::lnet {

// Limits of one node's configuration; no site has more, and a file cannot fill memory.
inline constexpr std::size_t kConfiguredNetsMax = 256;
inline constexpr std::size_t kConfiguredNisMax = 256;  // on one network; lnet_interfaces_max is 200
inline constexpr std::size_t kConfiguredPeersMax = 65536;
// The most seconds whose nanoseconds fit into a duration; also for options of modules.
inline constexpr std::int64_t kLndTimeoutMaxS = 2'147'483;

// The lnd tunable that every network has: the name of the driver of the NI, instead of the default
// of its network type.
inline constexpr std::string_view kDriverTunable = "driver";

// In tunables: the network driver's own default.
inline constexpr std::int32_t kDriverDefault = -1;

// `tunables` of an NI.
struct RequestedTunables {
  std::int32_t peer_timeout_s = kDriverDefault;
  std::int32_t peer_credits = kDriverDefault;
  std::int32_t peer_buffer_credits = kDriverDefault;
  std::int32_t credits = kDriverDefault;

  friend bool operator==(const RequestedTunables&, const RequestedTunables&) = default;
};

struct NiConfig {
  std::optional<Nid> nid;               // absent: the address of the (first) interface
  std::vector<std::string> interfaces;  // empty without a NID: the first interface that fits
  std::vector<std::uint16_t> cpts;      // empty: all
  RequestedTunables tunables;
  std::vector<LndTunable> lnd_tunables;

  friend bool operator==(const NiConfig&, const NiConfig&) = default;
};

struct NetConfig {
  NetId net = kNetAny;
  std::vector<NiConfig> nis;

  friend bool operator==(const NetConfig&, const NetConfig&) = default;
};

using RouteConfig = RouteSpec;

// Buffers of the whole node; 0: sized automatically.
struct BuffersConfig {
  std::int32_t tiny = 0;
  std::int32_t small = 0;
  std::int32_t large = 0;

  friend bool operator==(const BuffersConfig&, const BuffersConfig&) = default;
};

struct PeerConfig {
  Nid primary;
  bool multi_rail = true;
  bool lock_primary = false;  // discovery may not make another NID the primary one
  std::vector<Nid> nids;      // the primary first

  friend bool operator==(const PeerConfig&, const PeerConfig&) = default;
};

// A rule of the YAML `ip2nets`: this network, on the matching interfaces. Without interfaces and
// ranges: the first interface that is up.
struct Ip2NetsConfig {
  NetId net = kNetAny;
  std::vector<std::string> interfaces;
  std::vector<AddressPattern> ranges;
  std::vector<std::uint16_t> cpts;
  RequestedTunables tunables;
  std::vector<LndTunable> lnd_tunables;

  friend bool operator==(const Ip2NetsConfig&, const Ip2NetsConfig&) = default;
};

// A module option without a field above: the part that needs it looks it up.
struct ModuleOption {
  std::string module;  // lnet, ksocklnd, ko2iblnd, kkfilnd
  std::string name;
  std::string value;

  friend bool operator==(const ModuleOption&, const ModuleOption&) = default;
};

// The values of Parameters (parameters.hpp), as a copy.
struct ParameterValues {
  std::int32_t numa_range = 0;
  std::int32_t max_interfaces = 200;
  std::int32_t discovery = 1;
  std::int32_t drop_asym_route = 0;
  std::int32_t retry_count = 2;
  std::int32_t transaction_timeout_s = 150;
  std::int32_t health_sensitivity = 100;
  std::int32_t recovery_interval_s = 1;
  std::int32_t router_sensitivity = 100;
  std::int32_t response_tracking = 3;
  std::int32_t recovery_limit_s = 0;
  std::int32_t max_recovery_ping_interval_s = 900;

  // lustre-release lnet/lnet/api-ni.c: lnet_set_lnd_timeout()
  [[nodiscard]] std::int32_t lnd_timeout_s() const;

  friend bool operator==(const ParameterValues&, const ParameterValues&) = default;
};

// A variable of `lnetctl global show` and `lnetctl set`.
struct GlobalVariable {
  std::string_view name;  // lnetctl's name
  std::int32_t ParameterValues::* member;
  std::int32_t low;
  std::int32_t high;
};

// In the order of `global show`, which has lnd_timeout (derived, not to be set) after
// router_sensitivity.
[[nodiscard]] const std::array<GlobalVariable, 12>& global_variables();
// Null: no variable has this name.
[[nodiscard]] const GlobalVariable* find_global_variable(std::string_view name);

// Sets one variable with the kernel's side effects and conditions: interfaces below 16 mean the
// default, a health sensitivity of 0 turns retries off. A failure leaves the values unchanged.
// lustre-release lnet/lnet/api-ni.c: intf_max_set(), sensitivity_set(), retry_count_set(),
// transaction_to_set().
[[nodiscard]] Outcome<void> set_global_variable(ParameterValues& values,
                                                const GlobalVariable& variable, std::int64_t value);

struct NodeConfig {
  std::vector<NetConfig> nets;
  std::vector<RouteConfig> routes;
  bool routing = false;  // forward messages between networks
  // The node also routes if one of these is a NID of its own: gateways of the module option
  // `routes`, if `forwarding` is not set. Empty after that was decided.
  std::vector<Nid> routes_if_ours;
  BuffersConfig buffers;
  std::vector<PeerConfig> peers;
  std::vector<Ip2NetsConfig> ip2nets;
  std::string ip2nets_text;  // the module parameter, for parse_ip2nets(); "" = none
  std::vector<Udsp> udsps;
  std::vector<FaultSpec> faults;  // complete() and distinct; the newest, which is asked first, last
  std::vector<AccessRule> access;  // in order: the first that matches decides
  ParameterValues parameters;
  std::vector<ModuleOption> module_options;

  [[nodiscard]] const NetConfig* net(NetId id) const;
  [[nodiscard]] const RouteConfig* route(NetId net, const Nid& gateway) const;
  [[nodiscard]] const PeerConfig* peer(const Nid& primary) const;
  // "" if it is not set.
  [[nodiscard]] std::string_view module_option(std::string_view module,
                                               std::string_view name) const;

  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

// The same NI: equal NIDs if both have one, else equal interfaces.
[[nodiscard]] bool is_same_ni(const NiConfig& a, const NiConfig& b);

// These networks were removed: removes routes by gateways there, and peers and NIDs of peers.
void drop_what_was_on(NodeConfig& config, std::span<const NetId> nets);

struct NodeConfigIssue {
  std::string path;  // "net[1].local NI(s)[0]", indices into NodeConfig
  std::string what;
};

// The errors that can be found without the machine. Empty: none.
[[nodiscard]] std::vector<NodeConfigIssue> check_node_config(const NodeConfig& config);

// Names of the `lnd tunables` of this network type; empty: none known.
[[nodiscard]] std::vector<std::string_view> lnd_tunable_names(NetId net);
[[nodiscard]] Outcome<void> check_lnd_tunable(NetId net, const LndTunable& tunable);

}  // namespace plnet::lnet
