// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/figures.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::run {
namespace {

using selftest::NodeResult;
using selftest::StatSeen;
using selftest::TransactionResult;

constexpr double kMib = 1024.0 * 1024.0;

const StatSeen* stat_of(const NodeResult& node) {
  return node.rpc_errno == 0 && !node.refused ? std::get_if<StatSeen>(&node.seen) : nullptr;
}

// Both answers are of the same unchanged group: visits node by node, with null for a missing
// answer.
template <class Visit>
void for_both(const TransactionResult& before, const TransactionResult& after, Visit visit) {
  for (std::size_t i = 0; i < after.nodes.size(); ++i) {
    const bool both = i < before.nodes.size() && before.nodes[i].id == after.nodes[i].id;
    visit(i, both ? stat_of(before.nodes[i]) : nullptr, stat_of(after.nodes[i]));
  }
}

// Counters of nodes have 32 bits and wrap.
void grow(std::uint64_t& sum, std::uint32_t then, std::uint32_t now) {
  sum += now - then;
}
void grow(std::uint64_t& sum, std::uint64_t then, std::uint64_t now) {
  sum += now - then;
}
void grow(Growth& sum, const StatSeen& then, const StatSeen& now) {
  grow(sum.running_ms, then.framework.running_ms, now.framework.running_ms);
  grow(sum.rpcs, then.rpc.sent, now.rpc.sent);
  grow(sum.received, then.lnet.receive_count, now.lnet.receive_count);
  grow(sum.sent, then.lnet.send_count, now.lnet.send_count);
  grow(sum.received_bytes, then.lnet.receive_length, now.lnet.receive_length);
  grow(sum.sent_bytes, then.lnet.send_length, now.lnet.send_length);
}

double seconds_of(const Growth& growth) {
  return static_cast<double>(growth.running_ms) / 1000;
}

NodeFigures figures_of(const lnet::ProcessId& id, const Growth& growth) {
  const double seconds = seconds_of(growth);
  const auto rate = [seconds](std::uint64_t count) { return static_cast<double>(count) / seconds; };
  return {.node = lnet::text_of(id),
          .rpc_rate = rate(growth.rpcs),
          .receive_rate = rate(growth.received),
          .send_rate = rate(growth.sent),
          .receive_mibps = rate(growth.received_bytes) / kMib,
          .send_mibps = rate(growth.sent_bytes) / kMib};
}

}  // namespace

NodeFigures GroupFigures::sum() const {
  NodeFigures all;
  for (const NodeFigures& node : nodes) {
    all.rpc_rate += node.rpc_rate;
    all.receive_rate += node.receive_rate;
    all.send_rate += node.send_rate;
    all.receive_mibps += node.receive_mibps;
    all.send_mibps += node.send_mibps;
  }
  return all;
}

void GroupGrowth::add(const TransactionResult& before, const TransactionResult& after) {
  nodes_.resize(std::max(nodes_.size(), after.nodes.size()));
  for_both(before, after, [&](std::size_t i, const StatSeen* then, const StatSeen* now) {
    Node& node = nodes_[i];
    node.id = after.nodes[i].id;
    if (then == nullptr || now == nullptr) {
      node.silent = true;
    } else {
      grow(node.growth, *then, *now);
    }
  });
}

GroupFigures GroupGrowth::figures() const {
  GroupFigures group;
  for (const Node& node : nodes_) {
    if (node.silent || node.growth.running_ms == 0) {
      ++group.silent;
    } else {
      group.nodes.push_back(figures_of(node.id, node.growth));
    }
  }
  return group;
}

double GroupGrowth::seconds() const {
  double longest = 0;
  for (const Node& node : nodes_) {
    if (!node.silent) longest = std::max(longest, seconds_of(node.growth));
  }
  return longest;
}

GroupFigures figures_between(const TransactionResult& before, const TransactionResult& after) {
  GroupGrowth growth;
  growth.add(before, after);
  return growth.figures();
}

void add_errors(const TransactionResult& before, const TransactionResult& after, Errors& errors) {
  for_both(before, after, [&](std::size_t i, const StatSeen* then, const StatSeen* now) {
    if (then == nullptr || now == nullptr) return;
    const std::uint32_t brw = now->framework.brw_errors - then->framework.brw_errors;
    const std::uint32_t ping = now->framework.ping_errors - then->framework.ping_errors;
    const std::uint32_t rpc = now->rpc.errors - then->rpc.errors;
    const std::uint32_t expired = now->rpc.expired - then->rpc.expired;
    errors.brw += brw;
    errors.ping += ping;
    errors.rpc += rpc;
    errors.expired += expired;
    errors.dropped += now->rpc.dropped - then->rpc.dropped;
    const std::uint64_t all = std::uint64_t{brw} + ping + rpc + expired;
    if (all > 0) errors.by_node[lnet::text_of(after.nodes[i].id)] += all;
  });
}

double throughput_of(const Point& point, const GroupFigures& from) {
  const NodeFigures sum = from.sum();
  return point.operation == Operation::kRead ? sum.receive_mibps : sum.send_mibps;
}

void Interval::add(const Sample& before, const Sample& now) {
  from_.add(before.from, now.from);
  to_.add(before.to, now.to);
  last_cpus_ = now.cpus;
  series_mibps_.push_back(throughput_of(point_, figures_between(before.from, now.from)));
}

Measurement Interval::measure(unsigned repeat) const {
  PLNET_CHECK(!empty(), "an interval has two ends");
  Measurement result{.point = point_, .repeat = repeat};
  result.from = from_.figures();
  result.to = to_.figures();
  result.seconds = from_.seconds();
  result.throughput_mibps = throughput_of(point_, result.from);
  result.rpc_rate = result.from.sum().rpc_rate;
  result.cpus = use_between(first_cpus_, last_cpus_);
  result.series_mibps = series_mibps_;
  return result;
}

void set_cycles(Measurement& measurement) {
  const double rpcs = measurement.from.sum().rpc_rate;
  const std::size_t servers = measurement.to.nodes.size() + measurement.to.silent;
  for (PollerUse& use : measurement.pollers) {
    double rate = use.forward_rate;
    if (use.role == Role::kServer) rate = servers > 0 ? rpcs / static_cast<double>(servers) : 0;
    if (use.role == Role::kClient) {
      const auto node = std::ranges::find(measurement.from.nodes, use.node, &NodeFigures::node);
      rate = node == measurement.from.nodes.end() ? 0 : node->rpc_rate;
    }
    if (rate > 0 && use.cycle_rate > 0) use.cycles_each = use.cycle_rate / rate;
  }
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back(), values.size()};
}

std::vector<PointFigures> figures_of(const std::vector<Measurement>& all) {
  std::vector<PointFigures> points;
  for (const Measurement& each : all) {
    auto found = std::ranges::find(points, each.point, &PointFigures::point);
    if (found == points.end()) {
      points.push_back({.point = each.point});
      found = points.end() - 1;
    }
    found->repeats.push_back(&each);
    found->errors += each.errors.total();
  }
  for (PointFigures& point : points) {
    const auto is_cut = [](const Measurement* each) { return each->cut_short; };
    const bool cut_short = std::ranges::all_of(point.repeats, is_cut);
    if (!cut_short) std::erase_if(point.repeats, is_cut);
    std::vector<double> throughput;
    std::vector<double> rate;
    std::vector<double> p50;
    std::vector<double> p99;
    std::vector<double> floor;
    for (const Measurement* const each : point.repeats) {
      throughput.push_back(each->throughput_mibps);
      rate.push_back(each->rpc_rate);
      if (each->floor && each->floor->exchange_rate > 0 && !each->floor->is_disturbed())
        floor.push_back(each->rpc_rate / each->floor->exchange_rate * 100);
      if (!each->latency) continue;
      p50.push_back(each->latency->p50_us);
      p99.push_back(each->latency->p99_us);
    }
    point.throughput_mibps = spread_of(std::move(throughput));
    point.rpc_rate = spread_of(std::move(rate));
    if (cut_short) point.throughput_mibps.count = point.rpc_rate.count = 0;
    if (!floor.empty()) point.percent_of_floor = spread_of(std::move(floor));
    if (p99.empty()) continue;
    point.p50_us = spread_of(std::move(p50));
    point.p99_us = spread_of(std::move(p99));
    if (cut_short) point.p50_us->count = point.p99_us->count = 0;
  }
  return points;
}

}  // namespace plnet::run
