// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/traffic.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-traffic/pattern.hpp"
#include "apps/lnet-traffic/protocol.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_shard.hpp"
#include "node/host/residents.hpp"

namespace plnet::traffic {

using node::ResidentPlace;

class Traffic::OnShard final : public Pollable {
 public:
  OnShard(Traffic& traffic, const node::ResidentPlace& place, SourceConfig source)
      : traffic_(traffic),
        place_(place),
        rooms_(rooms(place, traffic.config_.window)),
        works_(!source.targets.empty()),
        target_(*place.arenas, std::span(rooms_).subspan(1, traffic.config_.window), rooms_[0],
                traffic.seen_, counters_),
        source_(with_end(std::move(source)), *place.arenas,
                std::span(rooms_).subspan(1 + traffic.config_.window),
                place.arenas->bytes(rooms_[0]), counters_) {}

  // The data for GETs, then room for each incoming PUT and each own operation.
  [[nodiscard]] static std::uint64_t rooms_needed(unsigned window) { return 1 + 2ULL * window; }

  unsigned poll(Instant now) override {
    lnet::Node* const node = place_.lnet->node_owner();
    if (node != node_) meet(node);
    if (node_ == nullptr || !is_connected()) return 0;
    const unsigned begun = source_.step(node_->shard(place_.shard), now);
    if (works_ && !done_ && source_.done()) {
      done_ = true;
      traffic_.one_done();
    }
    return begun;
  }
  [[nodiscard]] std::string_view name() const override { return "traffic"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  [[nodiscard]] Instant next_deadline() const override {
    return node_ == nullptr || !is_connected() ? Instant::max() : source_.next_deadline();
  }
  [[nodiscard]] const TrafficCounters& counters() const { return counters_; }
  [[nodiscard]] const Source& source() const { return source_; }

 private:
  static std::vector<Fragment> rooms(const node::ResidentPlace& place, unsigned window) {
    std::vector<Fragment> all;
    all.reserve(rooms_needed(window));
    for (std::uint64_t i = 0; i < rooms_needed(window); ++i)
      all.push_back({{place.memory.at.arena, place.memory.at.offset + i * kBytesMax}, kBytesMax});
    return all;
  }

  // Failures without a network have this reason only.
  [[nodiscard]] SourceConfig with_end(SourceConfig source) {
    source.is_cut_off = [this] { return node_ == nullptr || !is_connected(); };
    return source;
  }

  // LNet has started, or stopped with everything under way.
  void meet(lnet::Node* node) {
    if (node_ != nullptr) {
      source_.let_go();
      target_.let_go();
    }
    node_ = node;
    if (node == nullptr) return;
    // A PUT without a free buffer waits instead of being dropped.
    node->set_lazy(kPutPortal, true);
    const auto open = target_.attach_memory(node->shard(place_.shard));
    PLNET_CHECK(open.has_value(), "a new node has descriptors for us");
  }

  // Without a network there are no peers.
  [[nodiscard]] bool is_connected() const {
    return std::ranges::any_of(node_->coordinator().local().nis, [](const lnet::Ni* ni) {
      return !ni->nid.is_loopback() && ni->plugged.get();
    });
  }

  Traffic& traffic_;
  const node::ResidentPlace place_;
  const std::vector<Fragment> rooms_;
  const bool works_;
  TrafficCounters counters_;
  Target target_;
  Source source_;
  lnet::Node* node_ = nullptr;
  bool done_ = false;
};

Traffic::Traffic(TrafficConfig config) : config_(std::move(config)) {}
Traffic::~Traffic() = default;

Pollable& Traffic::on_shard(unsigned shard) {
  return *shards_[shard];
}

// A descriptor for each room. The rooms themselves are in the arena, whose size is configured.
node::ResidentNeeds Traffic::needs(unsigned /*shard*/) const {
  return {.descriptors = OnShard::rooms_needed(config_.window)};
}

// The last shard and stop_when_done() may run at the same time; the later one sees the other.
void Traffic::one_done() {
  if (working_.fetch_sub(1) != 1) return;
  all_done_.store(true);
  if (node::Node* const node = to_stop_.load()) node->stop();
}

void Traffic::stop_when_done(node::Node& node) {
  to_stop_.store(&node);
  if (all_done_.load()) node.stop();
}

Outcome<void> Traffic::move_in(std::span<const node::ResidentPlace> places, std::uint64_t cookie,
                               runtime::Metrics& metrics) {
  metrics_ = &metrics;
  Random names(cookie);
  for (const node::ResidentPlace& place : places) {
    const std::uint64_t needed = OnShard::rooms_needed(config_.window) * kBytesMax;
    if (place.memory.length < needed) {
      return failure(
          Errc::kNoMemory,
          fmt::format("shard {} has {} MiB for traffic, expected {}: a smaller --window, "
                      "or `memory: arena_mib` in the configuration",
                      place.shard, place.memory.length >> 20U, needed >> 20U));
    }
    SourceConfig source{.targets = config_.targets,
                        .bytes_max = config_.bytes_max,
                        .get_percent = config_.get_percent,
                        .run = names.next() | 1U};
    // Evenly; with fewer operations than shards some get none.
    if (config_.operations != 0) {
      source.operations = config_.operations / places.size() +
                          (place.shard < config_.operations % places.size() ? 1 : 0);
      if (source.operations == 0) source.targets.clear();
    }
    if (!source.targets.empty()) working_.fetch_add(1);
    shards_.push_back(std::make_unique<OnShard>(*this, place, std::move(source)));
    metric_ids_.push_back(metrics.add("traffic", {{"shard", std::to_string(place.shard)}},
                                      shards_.back()->counters().view()));
  }
  return {};
}

void Traffic::move_out() {
  for (const auto id : std::exchange(metric_ids_, {}))
    metrics_->remove(id);
}

std::uint64_t Traffic::count(TrafficId id) const {
  std::uint64_t sum = 0;
  for (const auto& shard : shards_)
    sum += shard->counters().get(id);
  return sum;
}

Pace::Report Traffic::pace() const {
  Pace::Report all;
  for (const auto& shard : shards_)
    all.merge(shard->source().pace().report());
  return all;
}

}  // namespace plnet::traffic
