// SPDX-License-Identifier: BSD-3-Clause
// A node of LNet: its shards, what they share, and its coordinator. What a program or the simulator
// puts together; it knows no thread. Whoever owns it polls the shards, each from its own thread,
// and makes all other calls on the coordinator's thread (shard 0) unless they say otherwise.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/doorbell.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/node/shard.hpp"
#include "lib/lnet/paths/cpt_distances.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

// Makes the LNDs of an NI: one for each shard that serves it.
class LndMaker {
 public:
  virtual ~LndMaker() = default;
  // Constructed with `port` as its core. Called on the thread of that shard's start or, when an NI
  // is added to a running node, on the coordinator's while that shard is told later.
  [[nodiscard]] virtual std::unique_ptr<Lnd> make(NiPort& port, ShardId shard) = 0;
};

struct NiSpec {
  Nid nid;
  std::vector<std::string> interfaces;
  std::vector<std::uint16_t> cpts;  // restricted to these; empty: all
  std::uint16_t device_cpt = 0;
  NiTunables tunables;
  Duration lnd_timeout{};
};

struct NodeSetup {
  std::vector<std::uint16_t> cpt_of_shard{0};  // one for each shard
  ShardLimits limits;
  PeerLimits peers;
  CptHashRelease cpt_hash = CptHashRelease::kV217;
  std::uint64_t interface_cookie = 1;  // differs from that of every earlier run
  std::uint64_t seed = 1;
  std::uint32_t pid = kLustrePid;
  const ArenaTable* arenas = nullptr;
  // For pings and pushes: control_bytes() of some arena.
  BufferAddress control_memory;
  std::span<std::byte> control_bytes;
  const CptDistances* distances = nullptr;
  std::span<Doorbell* const> doorbells;  // one for each shard
  Instant start{};
};

class Node {
 public:
  // Everything is allocated here.
  explicit Node(const NodeSetup& setup);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // How much control memory a node needs.
  [[nodiscard]] static std::size_t control_bytes();

  [[nodiscard]] unsigned shards() const;
  // What each thread polls: begin_turn(), then the devices, then poll(), then quiescent().
  [[nodiscard]] Shard& shard(unsigned number);
  void quiescent(unsigned shard);
  // A thread that sleeps holds nothing.
  void offline(unsigned shard);
  void online(unsigned shard);

  [[nodiscard]] Parameters& parameters();
  [[nodiscard]] const LocalView& local() const;

  // Before the shards are polled, or on the coordinator's thread while they are: then its ports are
  // there a few turns later. kExists; kNoSpace.
  [[nodiscard]] Result<void> add_ni(const NiSpec& spec, LndMaker& maker);
  // Ends what uses it; gone when ni_gone() says so.
  [[nodiscard]] Result<void> delete_ni(const Nid& nid);
  // A portal on which PUTs wait for a match entry.
  void set_lazy(PortalId portal, bool lazy);

  // Nothing is under way or waits, on any shard.
  [[nodiscard]] bool idle() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace plnet::lnet
