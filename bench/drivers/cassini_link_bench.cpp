// SPDX-License-Identifier: BSD-3-Clause
// The link layer under the software Cassini, without the model: its cost per packet, and the
// throughput of two processes on a memif, with and without losses.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/drivers/cassini_link_node.hpp"
#include "bench/harness/harness.hpp"
#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {
namespace {

using cassini::soft::NicAddress;
using cassini::soft::WireEvents;
using cassini::soft::link::FramePort;
using cassini::soft::link::LinkLayer;
using cassini::soft::link::LinkOptions;

// --- One thread, both ends: frames are passed in memory, time is a number. ---

class FrameTray final : public FramePort {
 public:
  std::span<std::byte> begin_frame(std::size_t bytes) override {
    if (count_ == kFrames) return {};
    sizes_[count_] = bytes;
    return frames_[count_];
  }
  void end_frame() override { ++count_; }
  void hand_to(LinkLayer& layer, std::uint64_t now_ns, WireEvents& events) {
    for (std::size_t i = 0; i < count_; ++i)
      layer.receive(std::span(frames_[i]).first(sizes_[i]), now_ns, events);
    count_ = 0;
  }

 private:
  static constexpr std::size_t kFrames = 128;
  std::array<std::array<std::byte, 2048>, kFrames> frames_{};
  std::array<std::size_t, kFrames> sizes_{};
  std::size_t count_ = 0;
};

class PacketCount final : public WireEvents {
 public:
  void on_packet(NicAddress, std::span<const std::byte>) override { ++packets; }
  void on_link(bool, NicAddress) override {}
  std::uint64_t packets = 0;
};

enum class Part : std::uint8_t { kOut, kIn };

void packet_cost(benchmark::State& state, Part part, std::size_t bytes) {
  constexpr unsigned kBurst = 32;
  const runtime::TscClock clock;
  LinkLayer near(LinkOptions{}, 1, {{2, 0, 0, 0, 0, 1}});
  LinkLayer far(LinkOptions{}, 2, {{2, 0, 0, 0, 0, 2}});
  const auto near_tray = std::make_unique<FrameTray>();
  const auto far_tray = std::make_unique<FrameTray>();
  PacketCount events;
  std::uint64_t now_ns = 1'000'000'000;
  near.set_link(true, now_ns);
  far.set_link(true, now_ns);
  const std::vector<std::byte> payload(bytes);
  std::uint64_t cycles = 0;
  const auto measured = [&](Part which, const auto& work) {
    const std::uint64_t start = clock.cycles();
    work();
    if (which == part) cycles += clock.cycles() - start;
  };
  const auto exchange = [&](unsigned packets) {
    measured(Part::kOut, [&] {
      for (unsigned i = 0; i < packets; ++i)
        (void)near.send(2, {}, payload);
      (void)near.transmit(now_ns, *near_tray);
    });
    now_ns += 5'000;
    measured(Part::kIn, [&] {
      near_tray->hand_to(far, now_ns, events);
      (void)far.transmit(now_ns, *far_tray);  // the acknowledgement
    });
    now_ns += 5'000;
    far_tray->hand_to(near, now_ns, events);
  };
  for (int i = 0; i < 100; ++i)
    exchange(1);  // finds the peer, measures the round trip
  cycles = 0;
  const std::uint64_t before = events.packets;
  while (state.KeepRunning())
    exchange(kBurst);
  const std::uint64_t packets = events.packets - before;
  if (packets * 2 < static_cast<std::uint64_t>(state.iterations()) * kBurst)
    return state.SkipWithError("packets did not arrive");
  state.counters["value"] = static_cast<double>(cycles) / static_cast<double>(packets);
}

// --- Two processes on a memif. ---

constexpr NicAddress kNear = 1;
constexpr NicAddress kFar = 2;
// Flags of a number that request something of the far end.
constexpr std::uint64_t kAnswer = std::uint64_t{1} << 62;
// the low bits: frames to lose of ten thousand
constexpr std::uint64_t kLose = std::uint64_t{1} << 63;

class MemifPair {
 public:
  static MemifPair& get() {
    static MemifPair pair;
    return pair;
  }
  ~MemifPair() {
    node.reset();
    if (child_ > 0) {
      (void)::kill(child_, SIGKILL);
      (void)::waitpid(child_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  MemifPair(const MemifPair&) = delete;
  MemifPair& operator=(const MemifPair&) = delete;

  // On both sides.
  void set_loss(double share) {
    (void)node->send(kFar, kLose | static_cast<std::uint64_t>(share * 10'000), 8);
    settle();
    node->set_loss(share);
  }
  // Until everything is acknowledged. False: it takes too long.
  bool settle() {
    const std::uint64_t end_ns = node->now_ns() + kPatienceNs;
    const auto* peer = node->wire().layer().find_peer(kFar);
    while (peer != nullptr && !peer->send.empty()) {
      (void)node->turn();
      if (node->now_ns() > end_ns) return false;
    }
    return peer != nullptr;
  }
  // As fast as possible; packets a second.
  double stream(std::uint64_t packets, std::size_t bytes) {
    const std::uint64_t start_ns = node->now_ns();
    for (std::uint64_t i = 0; i < packets; ++i) {
      while (!node->send(kFar, i, bytes)) {
        (void)node->turn();
        if (node->now_ns() > start_ns + kPatienceNs) return 0;
      }
      if (i % 16 == 15) (void)node->turn();
    }
    if (!settle()) return 0;
    return static_cast<double>(packets) * 1e9 / static_cast<double>(node->now_ns() - start_ns);
  }
  // There and back, in ns; 0: never.
  std::uint64_t ping() {
    const std::uint64_t start_ns = node->now_ns();
    const std::uint64_t before = answers_;
    (void)node->send(kFar, kAnswer, 64);
    while (answers_ == before) {
      (void)node->turn();
      if (node->now_ns() > start_ns + kPatienceNs) return 0;
    }
    return node->now_ns() - start_ns;
  }

  std::unique_ptr<LinkNode> node;  // nullptr: not available on this machine
  std::string why_not;

 private:
  static constexpr std::uint64_t kPatienceNs = 5'000'000'000;

  MemifPair() {
    const auto near_cpu = nth_usable_cpu(0);
    const auto far_cpu = nth_usable_cpu(1);
    std::string pattern = (std::filesystem::temp_directory_path() / "plnet-memif-XXXXXX").string();
    if (!near_cpu || !far_cpu || ::mkdtemp(pattern.data()) == nullptr) {
      why_not = "needs two CPUs and a place for a socket";
      return;
    }
    folder_ = pattern;
    // Before this process starts an EAL: each process needs its own.
    child_ = ::fork();
    if (child_ == 0) serve(static_cast<unsigned>(*far_cpu));
    auto started = start("client", kNear, static_cast<unsigned>(*near_cpu));
    if (!started) {
      why_not = started.error().what;
      return;
    }
    node = std::move(*started);
    node->checks = false;
    node->on_number = [this](NicAddress, std::uint64_t) { ++answers_; };
    const std::uint64_t end_ns = node->now_ns() + 2 * kPatienceNs;
    while (!node->is_up && node->now_ns() < end_ns)
      (void)node->turn();
    if (node->is_up && ping() > 0) return;
    node.reset();
    why_not = "the far end of the memif does not answer";
  }
  Outcome<std::unique_ptr<LinkNode>> start(const std::string& role, NicAddress own, unsigned cpu) {
    // DPDK derives MAC addresses from a seed of before the fork.
    LinkNodeOptions options{.vdev = "net_memif0,mac=02:00:00:00:00:0" + std::to_string(own) +
                                    ",role=" + role + ",id=0,socket-abstract=no,socket=" + folder_ +
                                    "/memif.sock",
                            .cpu = cpu};
    options.wire.address = own;
    return LinkNode::start(options);
  }
  [[noreturn]] void serve(unsigned cpu) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto started = start("server", kFar, cpu);
    if (!started) ::_exit(1);
    LinkNode& far = **started;
    far.checks = false;
    far.on_number = [&far](NicAddress from, std::uint64_t number) {
      if ((number & kLose) != 0)
        far.set_loss(static_cast<double>(number & 0xffff) / 10'000);
      else if ((number & kAnswer) != 0)
        (void)far.send(from, number, 64);
    };
    for (;;)
      (void)far.turn();
  }

  std::string folder_;
  pid_t child_ = -1;
  std::uint64_t answers_ = 0;
};

// The pair with this loss; nullptr: the state is skipped.
MemifPair* pair_for(benchmark::State& state, double loss) {
  MemifPair& pair = MemifPair::get();
  if (pair.node == nullptr) {
    state.SkipWithError(pair.why_not.c_str());
    return nullptr;
  }
  (void)pin_to_nth_cpu(0);
  pair.set_loss(loss);
  return &pair;
}

void memif_stream(benchmark::State& state, std::uint64_t packets, std::size_t bytes, double loss) {
  MemifPair* pair = pair_for(state, loss);
  if (pair == nullptr) return;
  double rate = 0;
  const auto resent = pair->node->count(cassini::soft::link::LinkCount::kResent);
  while (state.KeepRunning())
    rate = pair->stream(packets, bytes);
  pair->set_loss(0);
  if (rate == 0) return state.SkipWithError("packets did not arrive");
  state.counters["value"] = rate;
  state.counters["resent_share"] =
      static_cast<double>(pair->node->count(cassini::soft::link::LinkCount::kResent) - resent) /
      static_cast<double>(packets * static_cast<std::uint64_t>(state.iterations()));
}

void memif_ping(benchmark::State& state, double loss, double percentile) {
  constexpr std::size_t kPings = 2000;
  MemifPair* pair = pair_for(state, loss);
  if (pair == nullptr) return;
  std::vector<std::uint64_t> times;
  times.reserve(kPings);
  while (state.KeepRunning()) {
    times.clear();
    for (std::size_t i = 0; i < kPings; ++i)
      times.push_back(pair->ping());
  }
  pair->set_loss(0);
  std::ranges::sort(times);
  if (times.front() == 0) return state.SkipWithError("an answer did not come");
  const auto at = static_cast<std::size_t>(percentile * (kPings - 1));
  state.counters["value"] = static_cast<double>(times[at]) / 1000;
  state.counters["worst_us"] = static_cast<double>(times.back()) / 1000;
}

constexpr std::size_t kSmall = 64;
constexpr std::size_t kFull = 1452;
constexpr std::uint64_t kSmallPackets = 200'000;
constexpr std::uint64_t kFullPackets = 20'000;

void add_costs(Suite& suite) {
  for (const auto& [name, part, bytes] :
       {std::tuple{"out.small", Part::kOut, kSmall}, std::tuple{"out.full", Part::kOut, kFull},
        std::tuple{"in.small", Part::kIn, kSmall}, std::tuple{"in.full", Part::kIn, kFull}}) {
    suite.push_back(
        {.name = std::string("cassini.link.") + name,
         .what = "a packet of " + std::to_string(bytes) + " bytes through the link layer alone, " +
                 (part == Part::kOut ? "send() to a frame" : "a frame to on_packet()"),
         .unit = "cycles",
         .value = [part, bytes](benchmark::State& state) { packet_cost(state, part, bytes); }});
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  add_costs(suite);
  suite.push_back({.name = "cassini.link.memif.ping",
                   .what = "64 bytes there and back between two processes on a memif, median",
                   .unit = "us",
                   .timing = Timing::kReal,
                   .once = true,
                   .value = [](benchmark::State& state) { memif_ping(state, 0, 0.5); }});
  suite.push_back(
      {.name = "cassini.link.memif.rate",
       .what = "packets of 64 bytes between two processes on a memif",
       .unit = "packets/s",
       .timing = Timing::kReal,
       .once = true,
       .value = [](benchmark::State& state) { memif_stream(state, kSmallPackets, kSmall, 0); }});
  suite.push_back(
      {.name = "cassini.link.loss",
       .what = "packets of 1452 bytes on a memif of which 1 % get lost, floor: none",
       .unit = "packets/s",
       .timing = Timing::kReal,
       .round_seconds = 0.2,
       .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.8, .side = Bar::Side::kAtLeast},
       .value = [](benchmark::State& state) { memif_stream(state, kFullPackets, kFull, 0.01); },
       .floor = [](benchmark::State& state) { memif_stream(state, kFullPackets, kFull, 0); }});
  suite.push_back({.name = "cassini.link.loss.p99",
                   .what = "64 bytes there and back, 1 % of frames lost each way, 99 of 100",
                   .unit = "us",
                   .timing = Timing::kReal,
                   .once = true,
                   .bar = Bar{.of = Bar::Of::kValue, .limit = 1000, .side = Bar::Side::kAtMost},
                   .value = [](benchmark::State& state) { memif_ping(state, 0.01, 0.99); }});
}

}  // namespace plnet::bench
