// SPDX-License-Identifier: BSD-3-Clause
// A router between TCP and kfi beside one between TCP and TCP: the same client, the same bytes, and
// a whole node at the far end of either, in the client's thread. The software NICs are in that
// thread, too: they take nothing from the router's core, and their time is reported separately.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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

// From a socket through the router to a node in the client's thread.
class FlowToNode {
 public:
  virtual ~FlowToNode() = default;
  [[nodiscard]] bool valid() const {
    return far_end_is_there_ && routed_->router != nullptr && source_->has_source();
  }
  [[nodiscard]] TcpNode& router() { return *routed_->router; }

  void turn(std::uint64_t limit) {
    source_->send(limit);
    const std::uint64_t before = std::exchange(arrived_, turn_far_end());
    idle_turns_ = arrived_ == before ? idle_turns_ + 1 : 0;
  }
  [[nodiscard]] std::uint64_t begun() const { return source_->begun(); }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] bool settled() const { return arrived_ == begun() && source_->at_boundary(); }
  [[nodiscard]] bool broken() const { return source_->broken() || idle_turns_ > kPatienceTurns; }
  [[nodiscard]] virtual double nic_seconds() const { return 0; }

 protected:
  FlowToNode() = default;
  FlowToNode(const FlowToNode&) = delete;
  FlowToNode& operator=(const FlowToNode&) = delete;
  void begin(std::unique_ptr<RoutedFlow> routed, std::uint32_t payload_bytes) {
    routed_ = std::move(routed);
    FlowEnds& ends = routed_->ends;
    source_.emplace(
        FlowEnds{.from = ends.from, .to = ends.to, .source = std::move(ends.source), .sink = {}},
        payload_bytes);
  }
  // Call before destroying the router's parts.
  void end() {
    source_.reset();
    routed_.reset();
  }
  bool far_end_is_there_ = true;
  // Returns the number of messages received so far.
  virtual std::uint64_t turn_far_end() = 0;

 private:
  std::unique_ptr<RoutedFlow> routed_;
  std::optional<Flow> source_;
  std::uint64_t arrived_ = 0;
  std::uint64_t idle_turns_ = 0;
};

class FlowToKfi final : public FlowToNode {
 public:
  explicit FlowToKfi(std::uint32_t payload_bytes)
      : other_{.nid = leg_.nid(),
               .make_lnd = [this](lnet::NiPort& port,
                                  ArenaTable& arenas) { return leg_.make_lnd(port, arenas); },
               .poll = [this](Instant now) { return leg_.poll(now); }} {
    begin(std::make_unique<RoutedFlow>(other_, sink_.nid()), payload_bytes);
    sink_.know(leg_.nid());
    sink_.attach_memory(TcpNode::kPortal, payload_bytes);
  }
  ~FlowToKfi() override { end(); }
  [[nodiscard]] double nic_seconds() const override { return fabric_.busy_seconds(); }

 private:
  std::uint64_t turn_far_end() override {
    fabric_.step();
    sink_.turn();
    return sink_.puts();
  }

  SoftFabric fabric_{2};
  SoftLeg leg_{fabric_, 0};
  SoftNode sink_{fabric_, {.nic = 1}};
  const OtherNet other_;
};

class FlowToTcp final : public FlowToNode {
 public:
  explicit FlowToTcp(std::uint32_t payload_bytes) {
    auto routed = std::make_unique<RoutedFlow>(nid_of(kAddress, 1));
    if (routed->router == nullptr) {
      begin(std::move(routed), payload_bytes);
      return;
    }
    sink_ = std::make_unique<TcpNode>(TcpNodeSetup{.address = kAddress,
                                                   .first_net = 1,
                                                   .port = routed->router->port(),
                                                   .reserved_ports = false,
                                                   .clock = &clock_});
    far_end_is_there_ = sink_->listen();
    sink_->know(routed->router->nids()[1]);
    sink_->turn();  // sets its clock
    sink_->attach_memory(payload_bytes);
    begin(std::move(routed), payload_bytes);
  }

 private:
  static constexpr std::uint32_t kAddress = 0x7f000009;  // 127.0.0.9
  std::uint64_t turn_far_end() override {
    (void)sink_->turn();
    return sink_->events.puts;
  }

  runtime::TscClock clock_;
  std::unique_ptr<TcpNode> sink_;
};

template <class SomeFlow>
void measure(benchmark::State& state, const Shape& shape, Figure figure) {
  SomeFlow flow(shape.payload_bytes);
  if (!flow.valid()) return state.SkipWithError(kNotReady);
  const runtime::TscClock clock;
  RelayThread thread(state, relay_of(flow.router()));
  if (!thread.ready()) return;
  const auto turn = [&] { flow.turn(flow.arrived() + shape.under_way); };
  for (const std::uint64_t warm = flow.arrived() + 16; flow.arrived() < warm && !flow.broken();)
    turn();
  const std::uint64_t first = flow.arrived();
  const double cpu = thread.cpu_seconds();
  const double nics = flow.nic_seconds();
  const Instant begun = clock.now();
  for ([[maybe_unused]] auto _ : state)
    turn();
  const auto count = static_cast<double>(flow.arrived() - first);
  const double nic_s = flow.nic_seconds() - nics;
  const double whole_s = std::chrono::duration<double>(clock.now() - begun).count();
  const double cpu_ns = (thread.cpu_seconds() - cpu) * 1e9 / count;
  state.counters["value"] = figure == Figure::kRate ? count / (whole_s - nic_s) : cpu_ns;
  state.counters["rate_with_nics"] = count / whole_s;
  state.counters["relay_cpu_ns"] = cpu_ns;
  state.counters["nic_ns"] = nic_s * 1e9 / count;
  while (!flow.settled() && !flow.broken())
    flow.turn(flow.begun());
  if (flow.broken()) state.SkipWithError("a connection broke");
}

void add(Suite& suite, const std::string& name, const std::string& what, const Shape& shape,
         Figure figure) {
  const bool rate = figure == Figure::kRate;
  suite.push_back(
      {.name = name,
       .what = what + (rate ? "" : ": CPU time of the router for each message") +
               "; floor: from TCP to TCP",
       .unit = rate ? "msg/s" : "ns",
       .timing = Timing::kReal,
       .round_seconds = 0.2,
       .bar = Bar{.of = Bar::Of::kRatio,
                  .limit = 1.0,
                  .side = rate ? Bar::Side::kAtLeast : Bar::Side::kAtMost},
       .value = [=](benchmark::State& state) { measure<FlowToKfi>(state, shape, figure); },
       .floor = [=](benchmark::State& state) { measure<FlowToTcp>(state, shape, figure); }});
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
