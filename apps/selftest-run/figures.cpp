// SPDX-License-Identifier: BSD-3-Clause
#include "apps/selftest-run/figures.hpp"

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

// Both answers are of the same group, which nobody changes meanwhile: node by node.
template <class Visit>
std::size_t for_both(const TransactionResult& before, const TransactionResult& after, Visit visit) {
  const std::size_t both = std::min(before.nodes.size(), after.nodes.size());
  std::size_t silent = after.nodes.size() - both;
  for (std::size_t i = 0; i < both; ++i) {
    const StatSeen* const then = stat_of(before.nodes[i]);
    const StatSeen* const now = stat_of(after.nodes[i]);
    const bool told = then != nullptr && now != nullptr && before.nodes[i].id == after.nodes[i].id;
    if (!told || !visit(lnet::text_of(after.nodes[i].id), *then, *now)) ++silent;
  }
  return silent;
}

// Counters of nodes have 32 bits and wrap.
double grown(std::uint32_t then, std::uint32_t now) {
  return static_cast<double>(now - then);
}
double grown(std::uint64_t then, std::uint64_t now) {
  return static_cast<double>(now - then);
}

double seconds_between(const StatSeen& then, const StatSeen& now) {
  return grown(then.framework.running_ms, now.framework.running_ms) / 1000.0;
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

GroupFigures figures_between(const TransactionResult& before, const TransactionResult& after) {
  GroupFigures group;
  group.silent = for_both(
      before, after, [&group](std::string name, const StatSeen& then, const StatSeen& now) {
        const double seconds = seconds_between(then, now);
        if (seconds <= 0) return false;
        const auto& was = then.lnet;
        const auto& is = now.lnet;
        group.nodes.push_back(
            {.node = std::move(name),
             .rpc_rate = grown(then.rpc.sent, now.rpc.sent) / seconds,
             .receive_rate = grown(was.receive_count, is.receive_count) / seconds,
             .send_rate = grown(was.send_count, is.send_count) / seconds,
             .receive_mibps = grown(was.receive_length, is.receive_length) / kMib / seconds,
             .send_mibps = grown(was.send_length, is.send_length) / kMib / seconds});
        return true;
      });
  return group;
}

void add_errors(const TransactionResult& before, const TransactionResult& after, Errors& errors) {
  (void)for_both(
      before, after, [&errors](std::string name, const StatSeen& then, const StatSeen& now) {
        const std::uint32_t brw = now.framework.brw_errors - then.framework.brw_errors;
        const std::uint32_t ping = now.framework.ping_errors - then.framework.ping_errors;
        const std::uint32_t rpc = now.rpc.errors - then.rpc.errors;
        const std::uint32_t expired = now.rpc.expired - then.rpc.expired;
        errors.brw += brw;
        errors.ping += ping;
        errors.rpc += rpc;
        errors.expired += expired;
        errors.dropped += now.rpc.dropped - then.rpc.dropped;
        const std::uint64_t all = std::uint64_t{brw} + ping + rpc + expired;
        if (all > 0) errors.by_node[std::move(name)] += all;
        return true;
      });
}

double throughput_of(const Point& point, const GroupFigures& from) {
  const NodeFigures sum = from.sum();
  return point.operation == Operation::kRead ? sum.receive_mibps : sum.send_mibps;
}

Measurement measure(const Point& point, unsigned repeat, const std::vector<Sample>& samples) {
  PLNET_CHECK(samples.size() >= 2, "an interval has two ends");
  const Sample& first = samples.front();
  const Sample& last = samples.back();
  Measurement result{.point = point, .repeat = repeat};
  result.from = figures_between(first.from, last.from);
  result.to = figures_between(first.to, last.to);
  result.throughput_mibps = throughput_of(point, result.from);
  result.rpc_rate = result.from.sum().rpc_rate;
  result.cpus = use_between(first.cpus, last.cpus);
  for (std::size_t i = 1; i < samples.size(); ++i) {
    result.series_mibps.push_back(
        throughput_of(point, figures_between(samples[i - 1].from, samples[i].from)));
  }
  (void)for_both(first.from, last.from,
                 [&result](const std::string&, const StatSeen& then, const StatSeen& now) {
                   result.seconds = std::max(result.seconds, seconds_between(then, now));
                   return true;
                 });
  return result;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
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
    if (!std::ranges::all_of(point.repeats, is_cut)) std::erase_if(point.repeats, is_cut);
    std::vector<double> throughput;
    std::vector<double> rate;
    std::vector<double> p50;
    std::vector<double> p99;
    std::vector<double> floor;
    for (const Measurement* const each : point.repeats) {
      throughput.push_back(each->throughput_mibps);
      rate.push_back(each->rpc_rate);
      if (each->floor && each->floor->exchange_rate > 0)
        floor.push_back(each->rpc_rate / each->floor->exchange_rate * 100);
      if (!each->latency) continue;
      p50.push_back(each->latency->p50_us);
      p99.push_back(each->latency->p99_us);
    }
    point.throughput_mibps = spread_of(std::move(throughput));
    point.rpc_rate = spread_of(std::move(rate));
    if (!floor.empty()) point.percent_of_floor = spread_of(std::move(floor));
    if (p99.empty()) continue;
    point.p50_us = spread_of(std::move(p50));
    point.p99_us = spread_of(std::move(p99));
  }
  return points;
}

}  // namespace plnet::run
