// SPDX-License-Identifier: BSD-3-Clause
// lnet-traffic on all shards of a node: a Target and a Source on each.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "apps/lnet-traffic/seen.hpp"
#include "apps/lnet-traffic/source.hpp"
#include "apps/lnet-traffic/target.hpp"
#include "node/host/residents.hpp"
#include "node/run/node.hpp"

namespace plnet::traffic {

struct TrafficConfig {
  std::vector<lnet::Nid> targets;  // none: only the passive half
  std::uint64_t operations = 0;    // of all shards; 0: until the node stops
  unsigned window = 8;  // under way on each shard; also the limit of simultaneous incoming PUTs
  std::uint32_t bytes_max = 0;
  unsigned get_percent = 50;
};

class Traffic final : public node::Residents {
 public:
  explicit Traffic(TrafficConfig config);
  ~Traffic() override;

  // Ends the node when all operations have ended. Any thread; call once.
  void stop_when_done(node::Node& node);
  [[nodiscard]] std::uint64_t count(TrafficId id) const;
  // Call after the node has stopped.
  [[nodiscard]] Pace::Report pace() const;

  [[nodiscard]] node::ResidentNeeds needs(unsigned shard) const override;
  Outcome<void> move_in(std::span<const node::ResidentPlace> places, std::uint64_t cookie,
                        runtime::Metrics& metrics) override;
  Pollable& on_shard(unsigned shard) override;
  // Removes our objects from the node, which is destroyed before us.
  void move_out();

 private:
  class OnShard;

  void one_done();

  const TrafficConfig config_;
  std::atomic<node::Node*> to_stop_{nullptr};
  Seen seen_;
  std::vector<std::unique_ptr<OnShard>> shards_;
  std::atomic<std::size_t> working_{0};  // shards whose Source is not done
  std::atomic<bool> all_done_{false};
  runtime::Metrics* metrics_ = nullptr;
  std::vector<runtime::Metrics::Id> metric_ids_;
};

}  // namespace plnet::traffic
