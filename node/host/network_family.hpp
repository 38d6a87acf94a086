// SPDX-License-Identifier: BSD-3-Clause
// The interface of a network type to the node. A family is a folder below node/net, one row of
// node/net/families.cpp and, if it has settings or verbs, one of node/net/family_facts.cpp. Nothing
// else names it.
//
// A NetworkFamily has no state. Its state on a running node is a FamilyHost; its rules for the
// interfaces of one configuration are FamilyRules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet {
class Pollable;
}

namespace plnet::runtime {
class Log;
class OnceLog;
class VerbTable;
}  // namespace plnet::runtime

namespace plnet::node {

class FamilyHost;
class LnetDesk;
class LnetShard;
class Machine;

// Registered memory for peers to write to, an arena near the first CPT.
struct FamilyArena {
  std::uint64_t bytes = 0;
  bool for_each_shard = false;   // so many bytes for each
  bool taken_when_used = false;  // address space until then
};

// The needs of a family before a node starts.
struct FamilyNeeds {
  std::uint16_t accept_port = 0;   // where the first NI listens; 0: nowhere
  std::size_t eal_mib = 0;         // DPDK's memory for packets
  std::vector<std::string> pci{};  // devices for DPDK to probe
  std::vector<FamilyArena> arenas{};
  bool locks_memory = false;  // devices reach all arenas
  // Capabilities beyond those of every node, by their numbers in <linux/capability.h>.
  std::vector<unsigned> capabilities{};
};

// Facts about the node that a family's LNDs are made for.
struct LndSetup {
  const ArenaTable* arenas = nullptr;
  std::size_t messages = 0;  // under way on a shard; more wait in the core
  std::size_t peers = 0;     // of a shard
  const Clock* clock = nullptr;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // of an NI without a timeout of its own
  lnet::Node* node = nullptr;
};

// Makes the LNDs of all NIs of one network type while LNet is up.
class NetworkMaker : public lnet::LndMaker {
 public:
  // Shard 0, before the NI is added: peers may connect from now on. The error names the remedy.
  [[nodiscard]] virtual Outcome<void> open(const lnet::NiSetup& /*ni*/) { return {}; }
  // Shard 0: the NI could not be added after open().
  virtual void not_added(const lnet::NiSetup& ni) { close(ni); }
  // Shard 0: the NI is about to be removed.
  virtual void close(const lnet::NiSetup& /*ni*/) {}
};

// Checks NIs by the options of one configuration.
class FamilyRules {
 public:
  virtual ~FamilyRules() = default;
  // Tunables of an NI that sets none.
  [[nodiscard]] virtual lnet::NiTunables defaults() const { return {}; }
  // Checks the NI and adds the family's settings to `setup`. May ask the system. The admin thread.
  [[nodiscard]] virtual Outcome<void> complete(const lnet::NiConfig& ni, Duration /*lnet_timeout*/,
                                               lnet::NiSetup& setup) const {
    setup.lnd_tunables = ni.lnd_tunables;
    return {};
  }
  // Whether the system would allow opening the completed NI now; takes no resource.
  [[nodiscard]] virtual Outcome<void> check_free(const lnet::NiSetup& /*setup*/) const {
    return {};
  }
  // Replaces values that the system suggests now by those in force, which only a change of the
  // configuration may change.
  virtual void keep_in_force(const lnet::NiConfig& /*ni*/, lnet::NiSetup& /*setup*/) const {}
  // False: NIDs are unknown until the family's devices are open; check_unopened() replaces
  // complete().
  [[nodiscard]] virtual bool is_opened() const { return true; }
  [[nodiscard]] virtual Outcome<void> check_unopened(const lnet::NodeConfig& /*config*/,
                                                     lnet::NetId /*net*/,
                                                     const lnet::NiConfig& /*ni*/,
                                                     std::size_t /*cpts*/) const {
    return {};
  }
};

// An NI whose NID is no longer that of its interface.
struct MovedNi {
  lnet::NetId net = 0;
  std::string interface;
  lnet::Nid was;
  lnet::Nid now;
  friend bool operator==(const MovedNi&, const MovedNi&) = default;
};

// Access to the shards and hosts for the verbs of a family.
class FamilyAccess {
 public:
  virtual ~FamilyAccess() = default;
  // After the start of the node.
  [[nodiscard]] virtual LnetDesk& desk() = 0;
  // Null before the start of the node.
  [[nodiscard]] virtual FamilyHost* host_of(std::string_view family) = 0;
};

struct FamilyParts {
  const runtime::Settings& settings;
  Machine& machine;
  std::span<const ArenaId> arenas;  // those of FamilyNeeds, in the same order
};

class NetworkFamily {
 public:
  virtual ~NetworkFamily() = default;
  // As in `lnd tunables: driver:`.
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool serves(lnet::NetType /*type*/) const { return true; }
  // The network type whose NIs are of this family if they name none.
  [[nodiscard]] virtual std::optional<lnet::NetType> default_of() const { return std::nullopt; }
  // The description of a driver's network for experiments; empty: the driver is not experimental.
  [[nodiscard]] virtual std::string_view experiment() const { return {}; }

  // --- Options of kernel modules ---
  // kInvalid: a value that an option cannot have.
  [[nodiscard]] virtual Outcome<void> check_options(const lnet::NodeConfig& /*config*/) const {
    return {};
  }
  // Why a known option of this family has no effect; empty if it has.
  [[nodiscard]] virtual std::string_view why_useless(std::string_view /*module*/,
                                                     std::string_view /*option*/) const {
    return {};
  }
  // Whether the option may change while the node runs.
  [[nodiscard]] virtual bool is_live(const lnet::ModuleOption& /*option*/) const { return false; }
  // Sets an option by name, with or without its module. kNotFound: no option of this family; kBusy:
  // it is read only at the start; kInvalid: the value is out of range.
  [[nodiscard]] virtual Outcome<void> set_option(lnet::NodeConfig& /*config*/,
                                                 std::string_view name,
                                                 std::string_view /*value*/) const;
  // The options of `config` are valid. Without a host: for the devices that `settings` names.
  [[nodiscard]] virtual std::unique_ptr<FamilyRules> rules(const lnet::NodeConfig& config,
                                                           const runtime::Settings* settings,
                                                           const FamilyHost* host) const;

  // --- The node ---
  [[nodiscard]] virtual Outcome<FamilyNeeds> needs(const runtime::Settings& /*settings*/) const {
    return FamilyNeeds{};
  }
  // Opens devices. The machine outlives the host.
  [[nodiscard]] virtual Outcome<std::unique_ptr<FamilyHost>> open(
      const FamilyParts& parts) const = 0;
  // Verbs of the control socket. All outlive the table.
  virtual void add_verbs(runtime::VerbTable& /*verbs*/, FamilyAccess& /*access*/) const {}
};

using Families = std::span<const NetworkFamily* const>;

// Called with an NI's NID and the cause of its link being down, "" if it is up.
using LinkSaid = std::function<void(const lnet::Nid& nid, std::string_view cause)>;

// A family on a running node, from the start to the end of the process. For the admin thread,
// except where noted.
class FamilyHost {
 public:
  virtual ~FamilyHost() = default;

  // --- Start ---
  // The family's devices on a poller, from start to end. Null: none.
  [[nodiscard]] virtual Pollable* on_shard(unsigned /*shard*/) { return nullptr; }
  // Before anything is polled; `first` is shard 0's and has the node while LNet is up.
  virtual void connect(const LnetShard& /*first*/, std::span<Doorbell* const> /*doorbells*/) {}
  // For the life of the process.
  virtual void add_metrics(runtime::Metrics& /*metrics*/) {}
  // Logs the requests that the system refused at start.
  virtual void log_refused_requests(runtime::Log& /*log*/) {}

  // --- Time ---
  // Every 100 ms: logs the errors of the shards.
  virtual void say(runtime::Log& /*log*/, runtime::OnceLog& /*bad_input*/) {}
  // Every second: looks at devices that send no events.
  virtual void look_at_devices() {}

  // --- Configuration ---
  // Gives an NI the NID of its interface. Keeps one that it has.
  [[nodiscard]] virtual Outcome<void> assign_nid(lnet::NetId /*net*/,
                                                 lnet::NiConfig& /*ni*/) const {
    return {};
  }
  // Whether all NIs of the configuration can exist together.
  [[nodiscard]] virtual Outcome<void> check_together(const lnet::NodeConfig& /*config*/) const {
    return {};
  }
  // Rules by the options in force.
  [[nodiscard]] virtual std::unique_ptr<FamilyRules> rules() const {
    return std::make_unique<FamilyRules>();
  }
  [[nodiscard]] virtual std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                            const LndSetup& setup) = 0;
  // Shard 0: LNet goes down.
  virtual void close_ni(const lnet::Nid& /*nid*/) {}

  // --- Live changes ---
  [[nodiscard]] virtual bool has_options_of(const lnet::NodeConfig& /*config*/) const {
    return true;
  }
  // Puts the live options of `config` into force; the NIs follow after tuning_of().
  virtual void take_options(const lnet::NodeConfig& /*config*/) {}
  // The function is to be called on each shard with its number. Null: this family has no live
  // tunables.
  [[nodiscard]] virtual std::function<void(unsigned shard)> tuning_of(
      const lnet::Nid& /*nid*/, std::span<const lnet::LndTunable> /*in_force*/) {
    return nullptr;
  }
  // Sets the LND tunables of `change`. kNotSupported: the family has none of them.
  [[nodiscard]] virtual Outcome<void> tune(lnet::NetId net, lnet::NiConfig& ni,
                                           const lnet::NiChange& change);
  // After each change: records the tunables in force of this family's NIs.
  virtual void forget_in_force() {}
  virtual void note_in_force(const lnet::NiConfig& /*ni*/,
                             std::span<const lnet::LndTunable> /*in_force*/) {}

  // --- Links and addresses ---
  // Tells all shards the link state of NIs. Calls `said` for each NI whose link has changed since
  // the last call.
  virtual void look_at_links(LnetDesk& /*desk*/, std::span<const lnet::Nid> /*nis*/,
                             Instant /*now*/, const LinkSaid& /*said*/) {}
  [[nodiscard]] virtual Instant look_again_at() const { return Instant::max(); }
  // "": up, or unknown.
  [[nodiscard]] virtual std::string_view link_trouble_of(const lnet::Nid& /*nid*/) const {
    return {};
  }
  // The likely reasons why a peer cannot be connected, and the remedy. "": unknown.
  [[nodiscard]] virtual std::string explain_unreachable(const lnet::Nid& /*peer*/,
                                                        Errc /*trouble*/) const {
    return {};
  }
  // Whether interfaces may change their addresses, and with them the NIDs of their NIs.
  [[nodiscard]] virtual bool may_move() const { return false; }
  // The present NID of an NI's interface; nullopt: unknown.
  [[nodiscard]] virtual std::optional<lnet::Nid> nid_now(lnet::NetId /*net*/,
                                                         const lnet::NiConfig& /*ni*/) const {
    return std::nullopt;
  }
  // Whether a removed NI has released the interface.
  [[nodiscard]] virtual bool is_free(lnet::NetId /*net*/, const std::string& /*interface*/) const {
    return true;
  }

  // --- Reports ---
  // Adds the name of the kernel's module, and its parameters for this NI.
  virtual void describe(lnet::NiReport& /*ni*/) const {}
  // On the shard: the counters of the device under an LND.
  virtual void find_counters(unsigned /*shard*/, const lnet::Nid& /*nid*/,
                             std::vector<runtime::MetricSet>& /*found*/) {}
  virtual void connections(LnetDesk& desk, const lnet::ConnectionQuery& query,
                           lnet::Reply<std::vector<lnet::ConnectionReport>> reply);
  virtual void connection_peers(LnetDesk& desk, const lnet::ConnectionQuery& query,
                                lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply);
};

// Sets a tunable in the configuration of an NI.
void set_lnd_tunable(lnet::NiConfig& ni, const char* name, std::int64_t value);

// The family of an NI: the one that its `driver` names, or the default of its network type.
// kNotSupported, kInvalid: there is none.
[[nodiscard]] Outcome<const NetworkFamily*> family_of(Families families, lnet::NetId net,
                                                      const lnet::NiConfig& ni);

}  // namespace plnet::node
