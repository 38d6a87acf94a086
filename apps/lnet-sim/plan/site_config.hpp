// SPDX-License-Identifier: BSD-3-Clause
// What a site consists of and what shall happen there. Plain values: read from YAML or made up
// from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/lnet-sim/net/plan.hpp"
#include "apps/lnet-sim/plan/mishap.hpp"
#include "drivers/net/sim/shape.hpp"
#include "lib/base/clock.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/paths/route_table.hpp"

namespace plnet::sim {

enum class Weather : std::uint8_t { kCalm, kRough, kHostile };

// Percentages are weights: they need not add up to a hundred.
struct TrafficPlan {
  unsigned operations = 100;  // of each node
  unsigned window = 4;        // of each shard: under way at a time
  std::uint32_t size_min = 0;
  std::uint32_t size_max = 65536;
  Duration pause = std::chrono::microseconds(20);  // before the next one, at most
  unsigned burst = 1;                              // operations begun together
  unsigned put_wildcard = 30;
  unsigned put_unique = 30;
  unsigned put_lazy = 10;
  unsigned put_managed = 15;
  unsigned get = 30;
  unsigned ack_percent = 60;
  unsigned truncate_percent = 20;  // of unique PUT: the descriptor is shorter
  unsigned unlink_percent = 10;    // of unique and lazy PUT: unlinked at a drawn moment
  unsigned abandon_percent = 3;    // of all: the initiator unlinks its own descriptor
  unsigned loopback_percent = 2;
  unsigned partners = 0;  // nodes that a node talks to; 0: all
  // Of slots given back: filled with poison, to see who writes there afterwards.
  unsigned poison_percent = 100;
  bool scattered = true;  // descriptors of several fragments
};

// What befalls one router, all of it at about the same time.
struct EpisodePlan {
  std::vector<Mishap> mishaps{};  // not kExhaustion: that is a matter of buffers and traffic
  unsigned count = 1;             // of such episodes, one after another, each of some router

  friend bool operator==(const EpisodePlan&, const EpisodePlan&) = default;
};

struct FaultPlan {
  unsigned kills = 0;         // nodes that lose power and come back
  unsigned partitions = 0;    // pairs that lose sight of each other for a while
  unsigned one_way = 0;       // of them, one alone loses sight of the other
  unsigned peer_deletes = 0;  // a peer is deleted while traffic runs
  // The cable of a NIC goes to another port, in turn where nobody was or into that of another node,
  // whose cable comes here; and back.
  unsigned moves = 0;
  unsigned nack_storms = 0;   // a NIC turns every request away
  unsigned router_kills = 0;  // nodes that route lose power and come back
  unsigned flaps = 0;         // an interface of a node that routes goes down and up again
  unsigned slow = 0;          // pairs between which everything takes long for a while
  unsigned drains = 0;        // of a router, if there is another; then it is restarted or goes on
  // Of them: soon after their begin the router and a neighbour lose sight of each other, one of
  // them does, or what is between them is slow, in turn.
  unsigned drains_in_trouble = 0;
  std::vector<EpisodePlan> episodes{};
  // How long each lasts: from `outage` to `outage_max`, if that is longer.
  Duration outage = std::chrono::seconds(3);
  Duration outage_max{};

  [[nodiscard]] Duration longest_outage() const { return std::max(outage, outage_max); }

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

// A route of each node of a group by each node of another.
struct RoutePlan {
  unsigned net = 0;  // where it leads
  unsigned via = 0;  // group
  std::uint32_t hops = lnet::kRouteHopsUndefined;
  std::uint32_t priority = 0;
};

// Nodes that are alike.
struct GroupPlan {
  std::string name{};
  unsigned nodes = 1;
  std::vector<unsigned> shards{1};   // of its first node, the second, …, and again
  std::vector<unsigned> nets{};      // that it is on
  std::vector<unsigned> talks_to{};  // groups whose nodes its own begin operations with
  std::vector<RoutePlan> routes{};
  bool router = false;
  lnet::BufferCounts buffers{{64, 64, 16}};  // of each node, if it routes
  unsigned peer_buffer_credits = 0;          // 0: as many as peer credits
};

// How nodes look after their gateways; much faster than the kernel's 60 s and 50 s.
struct GatewayPlan {
  unsigned check_interval_s = 2;
  unsigned ping_timeout_s = 10;  // longer than a stalled next hop holds up what is behind it
  bool check_before_use = false;
};

struct SiteConfig {
  std::string name = "site";
  std::uint64_t seed = 1;
  unsigned nodes = 4;
  std::vector<unsigned> shards{1};  // of node 0, 1, …, and again
  std::vector<NetPlan> nets{NetPlan{}};
  // Of different nodes, numbered group by group. Empty: all are on all nets and talk to all.
  std::vector<GroupPlan> groups{};
  GatewayPlan gateways;
  Weather weather = Weather::kCalm;
  TrafficPlan traffic;
  FaultPlan faults;
  Duration time = std::chrono::seconds(10);  // in which faults are spread; traffic may end earlier
  bool discovery = true;
  unsigned transaction_timeout_s = 20;
  unsigned lnd_timeout_s = 5;
  // Where no network has NICs that copy.
  bool lazy_memory = true;
  // For tests: verbs devices report a queue pair as drained before it has drained.
  bool drains_early = false;

  [[nodiscard]] drivers::SimShape shape() const;
  [[nodiscard]] bool is_lazy() const;
  // What another seed makes of this site: the same site with that seed.
  [[nodiscard]] SiteConfig with_seed(std::uint64_t another) const;
};

// A small site all of which comes from the seed: what `./check` runs.
[[nodiscard]] SiteConfig site_of_seed(std::uint64_t seed);

}  // namespace plnet::sim
