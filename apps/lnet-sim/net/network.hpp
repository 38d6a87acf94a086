// SPDX-License-Identifier: BSD-3-Clause
// A network of a site, and a node's part of all networks of one kind: the LNDs of its interfaces
// and the simulated devices below them. Each kind has a folder for its specifics; no other code
// names a kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/lnet-sim/net/plan.hpp"
#include "drivers/net/sim/shard.hpp"
#include "drivers/net/sim/stream_fabric.hpp"
#include "drivers/net/sim/verbs_fabric.hpp"
#include "lib/base/arena.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::sim {

// Counts of LNDs and devices, by object and counter: "lnd_kfi.timeouts".
using NetCounts = std::map<std::string, std::uint64_t, std::less<>>;

// The simulated transports of all networks of a site.
struct Wires {
  drivers::SimNetwork& network;
  drivers::SimStreamFabric& streams;
  drivers::SimVerbsFabric& verbs;
  drivers::LazyMemory& lazy;
};

// The part of a network that all nodes share. A cable is identified by its interface.
class Network {
 public:
  virtual ~Network() = default;

  // Moves a cable to a free port, or swaps two. False: one of them is missing or not at home, or
  // the network has no cables.
  virtual bool move(const lnet::Nid& /*nid*/) { return false; }
  virtual bool swap(const lnet::Nid& /*a*/, const lnet::Nid& /*b*/) { return false; }
  // Undoes a move, or a swap for both cables.
  virtual void put_back(const lnet::Nid& /*nid*/) {}
};
[[nodiscard]] std::unique_ptr<Network> make_network(NetKind kind, const Wires& wires);

struct NetInterface {
  lnet::Nid nid;
  const NetPlan* plan = nullptr;
  Network* network = nullptr;
  std::size_t number = 0;  // number within the node
  std::size_t peers = 0;   // number of interfaces of possible peers
  BufferAddress memory{};  // memory_bytes() for its LNDs
};

// Limits for all interfaces of a node.
struct NetLimits {
  unsigned shards = 1;      // of the node
  unsigned shards_max = 1;  // of any peer
  std::uint32_t payload_bytes = 0;
  Duration lnd_timeout{};
};
[[nodiscard]] std::uint64_t memory_bytes(const NetInterface& of, const NetLimits& limits);

// Notified of the end of connections that LNDs do not report to their core: o2iblnd keeps a peer
// for as long as one connection to it is left.
class ConnectionWatch {
 public:
  // A connection to `peer` that had come up has ended, and the LND has completed all its messages.
  virtual void on_connection_over(const lnet::Nid& peer) = 0;

 protected:
  ~ConnectionWatch() = default;
};

struct NodeNetSetup {
  const Wires& wires;
  ConnectionWatch& watch;  // of the node
  drivers::HostId host = 0;
  std::uint32_t node = 0;
  std::span<const std::unique_ptr<drivers::SimShard>> lcores;
  std::span<const NetInterface> interfaces;  // of the node, of all kinds
  const ArenaTable& arenas;
  NetLimits limits;
  std::uint64_t seed = 1;  // of the site
  std::uint32_t life = 0;  // incarnation number of the node, increasing
  bool is_lazy = false;    // some payload is described, not stored
  bool has_faults = true;
  Instant start{};
};

// For one incarnation of a node. Interfaces are identified by their numbers.
class NodeNet {
 public:
  virtual ~NodeNet() = default;

  // Call once, before the first LND.
  virtual void set_node(lnet::Node& /*node*/) {}
  // CPTs of the interface; empty: all.
  [[nodiscard]] virtual std::vector<std::uint16_t> cpts_of(const NetInterface& /*of*/) const {
    return {};
  }
  // The usual number of messages that its LND receives at the same time on a shard.
  [[nodiscard]] virtual std::size_t receives_usual(const NetInterface& /*of*/) const { return 0; }
  // The node owns the LND; it is used until close().
  [[nodiscard]] virtual std::unique_ptr<lnet::Lnd> make_lnd(const NetInterface& of,
                                                            const lnet::Ni& ni,
                                                            lnet::LndUpcalls& core,
                                                            lnet::ShardId shard) = 0;
  // Other nodes may connect to this interface; called when all shards know it.
  virtual void listen(const NetInterface& /*at*/) {}
  // Accepts no more connections.
  virtual void shut_down() {}
  // No incoming connection is being accepted.
  [[nodiscard]] virtual bool idle() { return true; }
  // Destroys the drivers. The LNDs must be idle.
  virtual void close() {}

  virtual unsigned poll(lnet::ShardId shard, Instant now) = 0;
  // The next fault or timer; arriving messages ring the doorbell.
  [[nodiscard]] virtual Instant next_deadline(lnet::ShardId shard) = 0;
  // Ends all faults.
  virtual void calm() = 0;
  // A link's change as reported by the kernel or the NIC. `held`: it is up, but counts as down for
  // a while.
  virtual void set_link(const NetInterface& of, bool up, bool held) = 0;
  // The NIC rejects every request. False: there is no NIC.
  virtual bool set_nack_storm(const NetInterface& /*of*/, bool /*on*/) { return false; }

  [[nodiscard]] virtual std::uint64_t faults() const = 0;  // faults so far
  [[nodiscard]] virtual std::uint64_t connections_lost() const { return 0; }
  // Messages of peers that no correct node sends.
  [[nodiscard]] virtual std::uint64_t protocol_errors() const = 0;
  virtual void count_into(NetCounts& /*counts*/) const {}
};
[[nodiscard]] std::unique_ptr<NodeNet> make_node_net(NetKind kind, const NodeNetSetup& setup);

// Names a counter that must be 0 but is not; empty if there is none.
[[nodiscard]] std::string what_is_wrong(const NetCounts& counts);

}  // namespace plnet::sim
