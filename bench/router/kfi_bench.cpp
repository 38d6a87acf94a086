// SPDX-License-Identifier: BSD-3-Clause
// A router between TCP and kfi beside one between TCP and TCP: the same client, the same bytes. The
// far end of either is in the client's thread, and so are the NICs in software: of the router's
// core they take nothing, and what they take there is told apart.
#include <chrono>
#include <cstdint>
#include <string>

#include "bench/harness/harness.hpp"
#include "bench/kfilnd/soft_node.hpp"
#include "bench/router/relay_runs.hpp"

namespace plnet::bench {
namespace {

constexpr std::uint32_t kBulkBytes = std::uint32_t{1} << 20U;
constexpr std::uint32_t kPageBytes = 4096;
constexpr std::uint64_t kPatienceTurns = 10'000'000;  // some seconds

struct Shape {
  std::uint32_t payload_bytes = 0;
  std::uint64_t under_way = 1;
};
constexpr Shape kBulk{.payload_bytes = kBulkBytes, .under_way = 4};
constexpr Shape kManyPages{.payload_bytes = kPageBytes, .under_way = 64};

enum class Figure : std::uint8_t { kRate, kCpu };

// From a socket through the router to a node on kfi.
class FlowToKfi {
 public:
  explicit FlowToKfi(std::uint32_t payload_bytes)
      : other_{.nid = leg_.nid(),
               .make_lnd = [this](lnet::NiPort& port,
                                  ArenaTable& arenas) { return leg_.make_lnd(port, arenas); },
               .poll = [this](Instant now) { return leg_.poll(now); }},
        routed_(other_, sink_.nid()),
        source_({.from = routed_.ends.from,
                 .to = routed_.ends.to,
                 .source = std::move(routed_.ends.source),
                 .sink = {}},
                payload_bytes) {
    sink_.know(leg_.nid());
    sink_.lay_open(TcpNode::kPortal, payload_bytes);
  }
  [[nodiscard]] bool valid() const { return routed_.router != nullptr && source_.has_source(); }
  [[nodiscard]] TcpNode& router() { return *routed_.router; }

  void turn(std::uint64_t limit) {
    source_.send(limit);
    fabric_.step();
    sink_.turn();
    const std::uint64_t before = std::exchange(arrived_, sink_.puts());
    idle_turns_ = arrived_ == before ? idle_turns_ + 1 : 0;
  }
  [[nodiscard]] std::uint64_t begun() const { return source_.begun(); }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] bool settled() const { return arrived_ == begun() && source_.at_boundary(); }
  [[nodiscard]] bool broken() const { return source_.broken() || idle_turns_ > kPatienceTurns; }
  [[nodiscard]] double nic_seconds() const { return fabric_.busy_seconds(); }

 private:
  SoftFabric fabric_{2};
  SoftLeg leg_{fabric_, 0};
  SoftNode sink_{fabric_, {.nic = 1}};
  const OtherNet other_;
  RoutedFlow routed_;
  Flow source_;
  std::uint64_t arrived_ = 0;
  std::uint64_t idle_turns_ = 0;
};

double nic_seconds(const FlowToKfi& flow) {
  return flow.nic_seconds();
}
double nic_seconds(const Flow& /*without NICs*/) {
  return 0;
}

template <class SomeFlow>
void measure(benchmark::State& state, SomeFlow& flow, TcpNode& router, const Shape& shape,
             Figure figure) {
  RelayThread thread(state, relay_of(router));
  if (!thread.ready()) return;
  const auto turn = [&] { flow.turn(flow.arrived() + shape.under_way); };
  for (const std::uint64_t warm = flow.arrived() + 16; flow.arrived() < warm && !flow.broken();)
    turn();
  const std::uint64_t first = flow.arrived();
  const double cpu = thread.cpu_seconds();
  const double nics = nic_seconds(flow);
  for ([[maybe_unused]] auto _ : state)
    turn();
  const auto count = static_cast<double>(flow.arrived() - first);
  const double cpu_ns = (thread.cpu_seconds() - cpu) * 1e9 / count;
  using benchmark::Counter;
  state.counters["value"] =
      figure == Figure::kRate ? Counter(count, Counter::kIsRate) : Counter(cpu_ns);
  state.counters["relay_cpu_ns"] = cpu_ns;
  state.counters["nic_ns"] = (nic_seconds(flow) - nics) * 1e9 / count;
  while (!flow.settled() && !flow.broken())
    flow.turn(flow.begun());
  if (flow.broken()) state.SkipWithError("a connection broke");
}

void to_kfi(benchmark::State& state, const Shape& shape, Figure figure) {
  FlowToKfi flow(shape.payload_bytes);
  if (!flow.valid()) return state.SkipWithError(kNotReady);
  measure(state, flow, flow.router(), shape, figure);
}

void to_tcp(benchmark::State& state, const Shape& shape, Figure figure) {
  RoutedFlow routed;
  if (!routed.ends.valid()) return state.SkipWithError(kNotReady);
  Flow flow(std::move(routed.ends), shape.payload_bytes);
  measure(state, flow, *routed.router, shape, figure);
}

void add(Suite& suite, const std::string& name, const std::string& what, const Shape& shape,
         Figure figure) {
  const bool rate = figure == Figure::kRate;
  suite.push_back({.name = name,
                   .what = what + (rate ? "" : ": CPU time of the router for each message") +
                           "; floor: from TCP to TCP",
                   .unit = rate ? "msg/s" : "ns",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = Bar{.of = Bar::Of::kRatio,
                              .limit = 1.0,
                              .side = rate ? Bar::Side::kAtLeast : Bar::Side::kAtMost},
                   .value = [=](benchmark::State& state) { to_kfi(state, shape, figure); },
                   .floor = [=](benchmark::State& state) { to_tcp(state, shape, figure); }});
}

}  // namespace

void add_benchmarks(Suite& suite) {
  const std::string bulk = "PUTs of 1 MiB through a router from TCP to kfi";
  const std::string pages = "PUTs of 4 KiB, 64 under way, through a router from TCP to kfi";
  add(suite, "router.kfi.bulk", bulk, kBulk, Figure::kRate);
  add(suite, "router.kfi.bulk.cpu", bulk, kBulk, Figure::kCpu);
  add(suite, "router.kfi.4k", pages, kManyPages, Figure::kRate);
  add(suite, "router.kfi.4k.cpu", pages, kManyPages, Figure::kCpu);
}

}  // namespace plnet::bench
