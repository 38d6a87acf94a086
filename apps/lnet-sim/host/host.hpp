// SPDX-License-Identifier: BSD-3-Clause
// A simulated node: the real LNet, its shards run by simulated lcores, LNDs over the simulator's
// drivers, and a program on each shard. It can lose power and come back as another incarnation.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "apps/lnet-sim/books/drain_watch.hpp"
#include "apps/lnet-sim/books/rpc_book.hpp"
#include "apps/lnet-sim/host/after.hpp"
#include "apps/lnet-sim/host/memory_slots.hpp"
#include "apps/lnet-sim/host/program.hpp"
#include "apps/lnet-sim/host/tap.hpp"
#include "apps/lnet-sim/net/network.hpp"
#include "apps/lnet-sim/plan/layout.hpp"
#include "apps/lnet-sim/plan/site_config.hpp"
#include "drivers/net/sim/lazy_memory.hpp"
#include "lib/base/link_hold.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::sim {

class Host;

// Room for one payload.
[[nodiscard]] std::uint32_t slot_bytes_of(const TrafficPlan& plan);

// State shared by all hosts.
struct World {
  const SiteConfig& config;
  const Layout& layout;
  drivers::EventLoop& loop;
  Wires wires;
  std::vector<std::unique_ptr<Network>> networks;
  Ledger& ledger;
  DrainWatch drains;
  Trails trails;
  std::vector<std::unique_ptr<Host>> hosts;
  std::uint64_t next_cookie = 1000;
  bool stopping = false;           // no new operation begins
  std::unique_ptr<After> after{};  // null: not healed yet
  RpcBook* rpcs = nullptr;         // null: not kept
  WireTally wire;
  NetCounts counts;       // of destroyed devices
  unsigned troubles = 0;  // moved cables and present storms
};

class Host final : lnet::LndMaker, ConnectionWatch {
 public:
  enum class State : std::uint8_t { kOff, kUp, kDying };
  Host(World& world, std::uint32_t number);
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void start();
  // Power off: it exchanges nothing any more. Its objects are being ended; gone() is true when all
  // have ended, and destroy() removes it.
  void kill();
  // Begins nothing new and ends all peers and descriptors. The network stays.
  void retire();
  [[nodiscard]] bool quiet() const;  // nothing is under way or waiting
  [[nodiscard]] bool gone() const;   // nothing is left
  void destroy();
  // Deletes the peer while messages for it may be under way. False: the peer was unknown.
  bool forget(const Host& peer);
  // Ends all faults of the devices and brings their links up.
  void calm();
  // Reports the link of one of its interfaces to the node itself. The network is not touched.
  void set_link(const lnet::Nid& nid, bool up);
  [[nodiscard]] bool has_link(const lnet::Nid& nid) const;
  // The link is up but has flapped, and counts as down for a while (LinkHold).
  [[nodiscard]] bool is_link_held(const lnet::Nid& nid) const;
  // `routing drain` with its default time limit, which it returns.
  Duration drain();
  void undrain();
  [[nodiscard]] lnet::StandingReport standing() const;
  // Messages that had to wait for a buffer, in this incarnation.
  [[nodiscard]] std::uint64_t waited_for_buffers() const;
  // Messages that waited for their sender's share of the buffers, in all incarnations; and whether
  // one waits now.
  [[nodiscard]] std::uint64_t held_up() const;
  [[nodiscard]] bool holds_up_anybody() const;
  // The node is up, and peers know that they may route through it.
  [[nodiscard]] bool is_forwarding() const;
  // Its interfaces with cables, and the network of an interface.
  [[nodiscard]] std::vector<std::uint32_t> cabled() const;
  [[nodiscard]] Network& network_of(std::uint32_t interface) const {
    return *interfaces_[interface].network;
  }
  // The NIC rejects every request. False: the node has no power.
  bool set_nack_storm(std::uint32_t interface, bool on);
  // Adds the counts of the devices since the node's start.
  void count_into(NetCounts& counts) const;
  // Leaks everything: after a violation no destructor may assert.
  void abandon();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] lnet::Node& node() { return *node_; }
  [[nodiscard]] const lnet::Node& node() const { return *node_; }
  [[nodiscard]] unsigned shards() const { return shards_count_; }
  [[nodiscard]] Program& program(unsigned shard) { return *programs_[shard]; }
  [[nodiscard]] MemorySlots& slots() { return *slots_; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] std::span<const lnet::Nid> nids() const { return nids_; }
  [[nodiscard]] bool has(const lnet::Nid& nid) const;
  [[nodiscard]] bool is_router() const { return group_.router; }
  // The routes that it is started with.
  [[nodiscard]] std::span<const lnet::RouteSetup> routes() const { return routes_; }
  // One of its NIDs, on a network that `from` can send to.
  [[nodiscard]] const lnet::Nid& nid_for(const Host& from, Random& random) const;
  // Unique over all incarnations of all nodes.
  [[nodiscard]] std::uint64_t cookie() const { return cookie_; }
  // Wakes the shard for work that was given to it from outside.
  void ring(unsigned shard) { lcores_[shard]->ring(); }
  [[nodiscard]] drivers::HostId id() const { return id_; }
  // The first object that has not returned, or empty. For a node that is gone().
  [[nodiscard]] std::string what_is_missing() const;
  // The first interface, own or of a peer, that has not recovered to full health, or empty.
  [[nodiscard]] std::string unhealthy_interface() const;
  // Buffers and credits that forwarding still holds; also while the node runs.
  [[nodiscard]] std::string what_routing_holds() const;
  [[nodiscard]] std::uint64_t counted(lnet::Cause cause) const;
  [[nodiscard]] std::uint64_t counted(lnet::Statistic statistic) const;
  // The messages that it has forwarded, and their payload.
  struct Relayed {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Relayed relayed() const;
  [[nodiscard]] std::uint64_t matched_by_other_nid() const;
  // Messages of peers that no correct node sends, in all incarnations.
  [[nodiscard]] std::uint64_t protocol_errors() const;
  // Mismatched counts of this incarnation, or empty. For a node that is gone().
  [[nodiscard]] std::string what_is_unbalanced() const;
  // The longest series of turns without work although a deadline was due, in all incarnations.
  [[nodiscard]] std::uint64_t vain_turns_max() const;
  [[nodiscard]] std::uint64_t connections_lost() const;
  [[nodiscard]] std::uint64_t wire_faults() const;
  [[nodiscard]] std::uint64_t routes_changed() const;

 private:
  // The pollable of an lcore of this host.
  class Turn final : public Pollable {
   public:
    Turn(Host& host, unsigned shard) : host_(host), shard_(shard) {}
    unsigned poll(Instant now) override;
    [[nodiscard]] std::string_view name() const override { return "node"; }
    [[nodiscard]] Instant next_deadline() const override;

   private:
    unsigned work_on(Instant now);
    Host& host_;
    const unsigned shard_;
  };
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard) override;
  void on_connection_over(const lnet::Nid& peer) override;
  void make_interfaces();
  void add_interfaces();
  void make_nets();
  [[nodiscard]] NetLimits net_limits() const;
  [[nodiscard]] NodeNet& net_of(std::size_t interface) const;
  [[nodiscard]] std::size_t remote_nis() const;
  [[nodiscard]] std::size_t recovering_max() const;
  [[nodiscard]] std::size_t slot_count() const;
  void make_memory();
  [[nodiscard]] std::size_t neighbour_credits() const;
  [[nodiscard]] std::size_t forwarded_max() const;  // on a shard, at the same time
  void report_link(const lnet::Nid& nid, bool up);
  void ring_all();
  unsigned look_at_held_links(Instant now);
  [[nodiscard]] Instant next_link_look() const;
  void begin_routing();
  void add_routes();
  void keep_counters();

  World& world_;
  const std::uint32_t number_;
  const GroupPlan& group_;
  const unsigned shards_count_;
  const drivers::HostId id_;
  std::vector<lnet::Nid> nids_;
  std::vector<NetInterface> interfaces_;  // of all networks
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> plain_;  // zeros, which cost no memory until they are touched
  ArenaTable arenas_;
  std::uint64_t ping_bytes_ = 0;
  std::uint64_t slots_at_ = 0;
  std::vector<lnet::RouterMemory> router_memory_;  // indexed by shard; empty: no router
  RelayMemory relays_{group_.router};
  RelayTally life_;
  const std::vector<lnet::RouteSetup> routes_;
  std::vector<lnet::Nid> links_down_;
  std::vector<LinkHold> link_holds_;  // indexed by interface, of this incarnation
  std::vector<std::unique_ptr<drivers::SimShard>> lcores_;
  std::vector<Doorbell*> bells_;
  std::vector<std::unique_ptr<Turn>> turns_;

  State state_ = State::kOff;
  bool retired_ = false;
  std::uint64_t cookie_ = 0;
  std::unique_ptr<MemorySlots> slots_;
  std::unique_ptr<lnet::Node> node_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<Tap>> taps_;
  std::array<std::unique_ptr<NodeNet>, kNetKinds.size()> nets_;  // indexed by kind; null: none

  // Counts of earlier incarnations.
  Counters<lnet::LnetCauses> causes_;
  Counters<lnet::LnetStatistics> statistics_;
  Relayed relayed_;
  std::uint64_t other_nid_ = 0;
  std::uint64_t connections_lost_ = 0;
  std::uint64_t wire_faults_ = 0;
  std::uint64_t routes_changed_ = 0;
  std::uint64_t protocol_errors_ = 0;
};

}  // namespace plnet::sim
