// SPDX-License-Identifier: BSD-3-Clause
// The parts of a site and its faults. Plain values: read from YAML or generated from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/lnet-sim/net/plan.hpp"
#include "apps/lnet-sim/plan/mishap.hpp"
#include "apps/lnet-sim/plan/planned_event.hpp"
#include "apps/lnet-sim/plan/rpc_timeouts.hpp"
#include "drivers/net/sim/shape.hpp"
#include "lib/base/clock.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/paths/route_table.hpp"

namespace plnet::sim {

enum class Weather : std::uint8_t { kCalm, kRough, kHostile };

// Percentages are weights: their sum need not be a hundred.
struct TrafficPlan {
  unsigned operations = 100;  // of each node
  unsigned window = 4;        // of each shard, at the same time
  std::uint32_t size_min = 0;
  std::uint32_t size_max = 65536;
  Duration pause = std::chrono::microseconds(20);  // longest time before the next one
  unsigned burst = 1;                              // operations that begin together
  unsigned put_wildcard = 30;
  unsigned put_unique = 30;
  unsigned put_lazy = 10;
  unsigned put_managed = 15;
  unsigned get = 30;
  unsigned ack_percent = 60;
  unsigned truncate_percent = 20;  // of unique PUT: the descriptor is shorter
  unsigned unlink_percent = 10;    // of unique and lazy PUT: unlinked at a random moment
  unsigned abandon_percent = 3;    // of all: the initiator unlinks its own descriptor
  unsigned loopback_percent = 2;
  unsigned partners = 0;  // nodes that a node talks to; 0: all
  // The share of released slots that is filled with poison, to detect later writes.
  unsigned poison_percent = 100;
  bool scattered = true;  // descriptors of several fragments
};

// Faults of one router at about the same time.
struct EpisodePlan {
  std::vector<Mishap> mishaps{};  // without kExhaustion, which follows from buffers and traffic
  unsigned count = 1;             // number of such episodes, one after another, each at some router

  friend bool operator==(const EpisodePlan&, const EpisodePlan&) = default;
};

struct FaultPlan {
  unsigned kills = 0;         // nodes that lose power and come back
  unsigned partitions = 0;    // pairs that cannot reach each other for a while
  unsigned one_way = 0;       // pairs of which one cannot reach the other
  unsigned peer_deletes = 0;  // deletions of a peer under traffic
  // The cable of a NIC moves to another port and back, alternately to a free one and to that of
  // another node, whose cable comes here.
  unsigned moves = 0;
  unsigned nack_storms = 0;   // times that a NIC rejects every request
  unsigned router_kills = 0;  // routers that lose power and come back
  unsigned flaps = 0;         // times that an interface of a router goes down and up again
  unsigned slow = 0;          // pairs with a slow path for a while
  unsigned drains = 0;        // of a router, if there is another; then it is restarted or continues
  // The drains with a fault soon after their begin: partition, one-way partition, or a slow path
  // to a neighbour, in rotation.
  unsigned drains_in_trouble = 0;
  std::vector<EpisodePlan> episodes{};
  std::vector<PlannedEvent> events{};  // at given times, of given nodes
  // Duration of each fault: from `outage` to `outage_max`, if that is longer.
  Duration outage = std::chrono::seconds(3);
  Duration outage_max{};

  [[nodiscard]] Duration longest_outage() const {
    Duration longest = std::max(outage, outage_max);
    for (const PlannedEvent& event : events)
      longest = std::max(longest, event.lasting);
    return longest;
  }

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

// A route of each node of a group by each node of another group.
struct RoutePlan {
  unsigned net = 0;  // destination network
  unsigned via = 0;  // group of gateways
  std::uint32_t hops = lnet::kRouteHopsUndefined;
  std::uint32_t priority = 0;
};

// A set of equal nodes.
struct GroupPlan {
  std::string name{};
  unsigned nodes = 1;
  std::vector<unsigned> shards{1};   // of its first node, the second, …, cyclically
  std::vector<unsigned> nets{};      // networks of its nodes
  std::vector<unsigned> talks_to{};  // groups of targets of its nodes' operations
  std::vector<RoutePlan> routes{};
  bool router = false;
  lnet::BufferCounts buffers{{64, 64, 16}};  // of each node, if it routes
  unsigned peer_buffer_credits = 0;          // 0: the same as peer credits
  // NIDs of the nodes of an existing network, for reports: those of its first node, the second, ….
  std::vector<std::string> nids{};
};

// Parameters of gateway checks; much faster than the kernel's 60 s and 50 s.
struct GatewayPlan {
  unsigned check_interval_s = 2;
  unsigned ping_timeout_s = 10;  // longer than a stalled next hop holds up messages behind it
  bool check_before_use = false;
};

// LNet's parameters about failed messages, with its defaults.
struct HealthPlan {
  unsigned retry_count = 2;
  unsigned health_sensitivity = 100;
  unsigned router_sensitivity = 100;
  unsigned recovery_interval_s = 1;
};

struct SiteConfig {
  std::string name = "site";
  std::uint64_t seed = 1;
  unsigned nodes = 4;
  std::vector<unsigned> shards{1};  // of node 0, 1, …, cyclically
  std::vector<NetPlan> nets{NetPlan{}};
  // Groups of different nodes, numbered group by group. Empty: all nodes are on all networks and
  // talk to all.
  std::vector<GroupPlan> groups{};
  GatewayPlan gateways;
  HealthPlan health;
  RpcTimeouts lustre;  // for what-if only
  Weather weather = Weather::kCalm;
  TrafficPlan traffic;
  FaultPlan faults;
  Duration time = std::chrono::seconds(10);  // period of faults; traffic may end earlier
  bool discovery = true;
  unsigned transaction_timeout_s = 20;
  unsigned lnd_timeout_s = 5;
  // Only without networks whose NICs copy.
  bool lazy_memory = true;
  // For tests: verbs devices report a queue pair as drained before it has drained.
  bool drains_early = false;

  [[nodiscard]] drivers::SimShape shape() const;
  [[nodiscard]] bool is_lazy() const;
  // The same site with another seed.
  [[nodiscard]] SiteConfig with_seed(std::uint64_t another) const;
};

// A small site generated from the seed alone, for `./check`.
[[nodiscard]] SiteConfig site_of_seed(std::uint64_t seed);

}  // namespace plnet::sim
