// SPDX-License-Identifier: BSD-3-Clause
// The LNet core on this machine: builds a node from the plan, and puts it on the pollers and takes
// it off. Owned by the admin thread, except for LnetShard.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/move/message_tap.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/paths/cpt_distances.hpp"
#include "lib/lnet/peers/placement.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/config/settings.hpp"
#include "node/host/record_counts.hpp"

namespace plnet {
class ArenaTable;
class Doorbell;
}  // namespace plnet

namespace plnet::lnet {
class Node;
struct NodeSetup;
}  // namespace plnet::lnet

namespace plnet::node {

class LnetShard;
class Machine;
class NetworkFamily;
class NetworkMaker;
class OpenFamilies;
class Residents;
struct ResidentPlace;
struct ResolvedNi;

class LnetHost {
 public:
  struct Parts {
    const Machine& machine;
    const runtime::LnetLimits limits;
    const lnet::PlacementRule placement;
    const lnet::NodeConfig& configured;  // at start: options of modules are read once
    const Clock& clock;                  // the pollers'
    const runtime::WallClock& wall_clock;
    runtime::Metrics& metrics;
    OpenFamilies& families;  // outlive the host
    const Residents* residents = nullptr;
  };

  // kTooBig: more shards than LNet can have; kNoMemory: the arenas are too small.
  [[nodiscard]] static Outcome<std::unique_ptr<LnetHost>> create(const Parts& parts);
  // After the pollers have stopped.
  ~LnetHost();
  LnetHost(const LnetHost&) = delete;
  LnetHost& operator=(const LnetHost&) = delete;

  [[nodiscard]] LnetShard& place(unsigned shard) { return *places_[shard]; }
  // The part of its CPT's arena behind LNet's own: the memory that the residents of this shard
  // need, and an equal share of the rest.
  [[nodiscard]] ResidentPlace resident_place(unsigned shard);
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(places_.size()); }
  // Once the pollers are made; they outlive the host.
  void set_doorbells(std::vector<Doorbell*> doorbells);

  // Builds a node that is on no poller yet, and allocates all its memory. Parameters have the
  // core's defaults.
  lnet::Node& build();
  // The node is on no poller any more.
  void discard();
  // Null: LNet is down.
  [[nodiscard]] lnet::Node* node() { return node_.get(); }
  [[nodiscard]] const lnet::Node* node() const { return node_.get(); }

  // The slot of each shard's tap; slots stay when LNet goes down and up.
  [[nodiscard]] std::span<lnet::TapSlot> taps() { return {taps_.get(), places_.size()}; }
  [[nodiscard]] const ArenaTable& arenas() const;

  [[nodiscard]] std::size_t cpts() const;
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] runtime::Metrics& metrics() { return metrics_; }
  // The same for all NIs of a type and family; lives as long as the node.
  [[nodiscard]] NetworkMaker& maker(lnet::NetType type, const NetworkFamily& family);
  // An NI that would be added now.
  [[nodiscard]] Outcome<ResolvedNi> resolve(lnet::NetId net, const lnet::NiConfig& ni) const;
  [[nodiscard]] OpenFamilies& families() const { return families_; }

 private:
  explicit LnetHost(const Parts& parts);
  [[nodiscard]] Duration lnet_lnd_timeout() const;
  void add_metrics();

  const Machine& machine_;
  const Residents* const residents_;
  OpenFamilies& families_;
  const Clock& clock_;
  const runtime::WallClock& wall_clock_;
  runtime::Metrics& metrics_;
  const RecordCounts records_;  // of each shard
  std::unique_ptr<lnet::NodeSetup> setup_;
  lnet::CptDistances distances_;
  std::vector<Doorbell*> doorbells_;
  std::vector<std::unique_ptr<LnetShard>> places_;
  std::unique_ptr<lnet::TapSlot[]> taps_;
  std::map<std::pair<const NetworkFamily*, lnet::NetType>, std::unique_ptr<NetworkMaker>> makers_;
  std::unique_ptr<lnet::Node> node_;
  std::vector<runtime::Metrics::Id> metric_ids_;  // of the node
};

}  // namespace plnet::node
