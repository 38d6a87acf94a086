// SPDX-License-Identifier: BSD-3-Clause
// Figures computed from samples of counters: of nodes and groups over one measurement, and of the
// repeats of a point.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/lnet-selftest/lst/latency_json.hpp"
#include "apps/lnet-selftest/run/cpu_times.hpp"
#include "apps/lnet-selftest/run/plan.hpp"
#include "apps/lnet-selftest/run/poller_use.hpp"
#include "lib/selftest/console/transaction_result.hpp"

namespace plnet::run {

struct NodeFigures {
  std::string node;
  double rpc_rate = 0;  // begun as a client, a second
  // Messages and bytes counted by LNet, in both directions.
  double receive_rate = 0;
  double send_rate = 0;
  double receive_mibps = 0;
  double send_mibps = 0;
};

struct GroupFigures {
  std::vector<NodeFigures> nodes{};
  std::size_t silent = 0;  // nodes without an answer
  [[nodiscard]] NodeFigures sum() const;
};

// The growth of a node's counters. The node's have 32 bits; these do not wrap.
struct Growth {
  std::uint64_t running_ms = 0;
  std::uint64_t rpcs = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
};
class GroupGrowth {
 public:
  // From one answer of a group to the next, which must come before any counter has wrapped twice.
  void add(const selftest::TransactionResult& before, const selftest::TransactionResult& after);
  // As in `lst stat`: by each node's own time.
  [[nodiscard]] GroupFigures figures() const;
  // The longest time of all nodes.
  [[nodiscard]] double seconds() const;

 private:
  struct Node {
    lnet::ProcessId id;
    Growth growth;
    bool silent = false;  // at any time
  };
  std::vector<Node> nodes_;
};
[[nodiscard]] GroupFigures figures_between(const selftest::TransactionResult& before,
                                           const selftest::TransactionResult& after);

struct Errors {
  std::uint64_t brw = 0;
  std::uint64_t ping = 0;
  std::uint64_t rpc = 0;
  std::uint64_t dropped = 0;
  std::uint64_t expired = 0;
  std::map<std::string, std::uint64_t> by_node{};  // nodes with any value but dropped

  [[nodiscard]] std::uint64_t total() const { return brw + ping + rpc + expired; }
};
void add_errors(const selftest::TransactionResult& before, const selftest::TransactionResult& after,
                Errors& errors);

// Latencies of the RPCs whose client reports them.
using Latency = lst::LatencyFigures;

struct NodeLatency {
  std::string node{};
  Latency figures{};
};
// The latencies of a measurement from the clients that report them.
struct Latencies {
  std::optional<Latency> all{};
  std::vector<NodeLatency> nodes{};
  lst::PaceFigures pace{};
};

// The limits of this machine without LNet, between the same two CPUs: requests and replies of a
// point's sizes over a plain TCP connection, with as many under way; and copying memory.
struct Floor {
  double exchange_rate = 0;
  double throughput_mibps = 0;
  double copy_mibps = 0;
  // The share of the two CPUs' time that others took meanwhile: other programs, pollers of nodes,
  // the hypervisor. Above kDisturbedPercent the figures are no floor.
  double disturbed_percent = 0;
  static constexpr double kDisturbedPercent = 10;

  [[nodiscard]] bool is_disturbed() const { return disturbed_percent > kDisturbedPercent; }
};

struct Sample {
  selftest::TransactionResult from{};
  selftest::TransactionResult to{};
  CpuTimes cpus{};
};

// One repeat of one point.
struct Measurement {
  Point point{};
  unsigned repeat = 0;  // from 0
  bool cut_short = false;
  double seconds = 0;
  double throughput_mibps = 0;  // received by clients for reads, sent by them otherwise
  double rpc_rate = 0;
  GroupFigures from{};
  GroupFigures to{};
  Errors errors{};
  std::vector<double> series_mibps{};  // one value for each sample
  std::vector<CpuUse> cpus{};
  std::vector<PollerUse> pollers{};  // of nodes with known control sockets
  std::optional<Latency> latency{};
  std::vector<NodeLatency> latency_by_node{};
  lst::PaceFigures pace{};  // of an open loop
  std::optional<Floor> floor{};
};

// Sets the cycles of an RPC or a message of each node's pollers. RPCs are shared evenly by servers.
void set_cycles(Measurement& measurement);

[[nodiscard]] double throughput_of(const Point& point, const GroupFigures& from);

// Sums up one measurement, sample by sample, without storing the samples.
class Interval {
 public:
  Interval(const Point& point, const Sample& first) : point_(point), first_cpus_(first.cpus) {}
  // Adds the growth since `before`, the previous sample.
  void add(const Sample& before, const Sample& now);
  [[nodiscard]] bool empty() const { return series_mibps_.empty(); }
  // Requires a non-empty interval.
  [[nodiscard]] Measurement measure(unsigned repeat) const;

 private:
  Point point_;
  CpuTimes first_cpus_;
  CpuTimes last_cpus_;
  GroupGrowth from_;
  GroupGrowth to_;
  std::vector<double> series_mibps_;
};

struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;  // of complete repeats included
  // The range between lowest and highest, in per cent of the median.
  [[nodiscard]] double percent() const { return median > 0 ? (high - low) / median * 100 : 0; }
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

struct PointFigures {
  Point point{};
  std::vector<const Measurement*> repeats{};  // complete ones; if there are none, the incomplete
                                              // ones
  Spread throughput_mibps{};
  Spread rpc_rate{};
  std::optional<Spread> p50_us{};
  std::optional<Spread> p99_us{};
  // Each repeat relative to the floor measured just before it, if nothing disturbed that.
  std::optional<Spread> percent_of_floor{};
  std::uint64_t errors = 0;
};
// In the order of measurement. The measurements outlive the result.
[[nodiscard]] std::vector<PointFigures> figures_of(const std::vector<Measurement>& all);

}  // namespace plnet::run
