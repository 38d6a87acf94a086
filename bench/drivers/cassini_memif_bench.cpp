// SPDX-License-Identifier: BSD-3-Clause
// Whole kfi nodes: two processes on a memif, each with its software NIC inline on its poller.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/drivers/cassini_kfi_node.hpp"
#include "bench/harness/harness.hpp"

namespace plnet::bench {
namespace {

using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;

constexpr std::uint32_t kNearNic = 1;
constexpr std::uint32_t kFarNic = 2;
constexpr std::uint64_t kPatienceNs = 5'000'000'000;
static_assert(sizeof(KfiWords) == 24);  // a small message

class MemifPair {
 public:
  static MemifPair& get() {
    static MemifPair pair;
    return pair;
  }
  ~MemifPair() {
    near.reset();
    if (child_ > 0) {
      (void)::kill(child_, SIGKILL);
      (void)::waitpid(child_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  MemifPair(const MemifPair&) = delete;
  MemifPair& operator=(const MemifPair&) = delete;

  // The share of frames that each side loses on receive.
  void set_loss(double share) {
    ask(KfiAsk::kSpoil, static_cast<std::uint32_t>(share * 1e6));
    (void)until([this] { return ended_ == begun_; });
    near->faults().set({.seed = 2, .drop = share});
  }
  // Messages a second, as fast as possible; 0: some failed.
  double messages(std::uint64_t count) {
    const std::uint64_t start_ns = near->now_ns();
    const std::uint64_t bad = bad_;
    const std::uint64_t end = begun_ + count;
    while (begun_ < end) {
      // A burst, then a turn, as in a poller.
      for (unsigned i = 0; i < kBurst && begun_ < end && begun_ - ended_ < kInFlight; ++i) {
        if (!ask(KfiAsk::kNothing, 0)) break;
      }
      (void)near->turn();
      if (near->now_ns() > start_ns + kPatienceNs) return 0;
    }
    if (!until([this] { return ended_ == begun_; }) || bad_ != bad) return 0;
    return rate(count, start_ns);
  }
  // Bytes a second that the far end reads from our tagged buffers.
  double bulk(std::uint64_t count, std::uint32_t length) {
    const std::uint64_t start_ns = near->now_ns();
    const std::uint64_t bad = bad_;
    std::uint64_t done = 0;
    std::uint64_t next = 0;
    bulk_done_ = &done;
    const bool good = until([&] {
      while (next < count && next < done + KfiNode::kBulkPlaces && begin_bulk(next, length))
        ++next;
      return done == count;
    });
    bulk_done_ = nullptr;
    if (!good || bad_ != bad || !until([this] { return ended_ == begun_; })) return 0;
    return rate(count * length, start_ns);
  }
  // There and back, in ns; 0: never.
  std::uint64_t ping() {
    const std::uint64_t start_ns = near->now_ns();
    const std::uint64_t before = answers_;
    if (!ask(KfiAsk::kEcho, 0) || !until([&] { return answers_ > before; })) return 0;
    return near->now_ns() - start_ns;
  }

  std::unique_ptr<KfiNode> near;  // nullptr: not available on this machine
  std::string why_not;

 private:
  static constexpr unsigned kBurst = 32;
  static constexpr std::uint64_t kInFlight = 512;

  MemifPair() {
    const auto near_cpu = nth_usable_cpu(0);
    const auto far_cpu = nth_usable_cpu(1);
    std::string pattern = (std::filesystem::temp_directory_path() / "plnet-kfi-XXXXXX").string();
    if (!near_cpu || !far_cpu || ::mkdtemp(pattern.data()) == nullptr) {
      why_not = "needs two CPUs and a place for a socket";
      return;
    }
    folder_ = pattern;
    // Before this process starts an EAL: each process needs its own.
    child_ = ::fork();
    if (child_ == 0) serve(static_cast<unsigned>(*far_cpu));
    auto started = start("client", kNearNic, static_cast<unsigned>(*near_cpu));
    if (!started) {
      why_not = started.error().what;
      return;
    }
    near = std::move(*started);
    near->on_end = [this](const FabricCompletion& one) {
      if (!one.status) ++bad_;
      if (one.cookie == 0) ++ended_;
      if (one.event == FabricEvent::kTaggedRead && bulk_done_ != nullptr) ++*bulk_done_;
    };
    near->on_words = [this](const KfiWords&) { ++answers_; };
    if (until([this] { return near->node().wire().status().link_up; }, 2) && ping() > 0) return;
    near.reset();
    why_not = "the far end of the memif does not answer";
  }
  Outcome<std::unique_ptr<KfiNode>> start(const std::string& role, std::uint32_t own,
                                          unsigned cpu) {
    KfiNodeOptions options{.vdev = "net_memif0,mac=02:00:00:00:00:0" + std::to_string(own) +
                                   ",role=" + role + ",id=0,socket-abstract=no,socket=" + folder_ +
                                   "/memif.sock",
                           .cpu = cpu};
    options.wire.address = own;
    auto made = KfiNode::start(options);
    if (made) (*made)->verifies = false;
    return made;
  }
  [[noreturn]] void serve(unsigned cpu) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto started = start("server", kFarNic, cpu);
    if (!started) ::_exit(1);
    for (;;)
      (void)(*started)->turn();
  }
  bool ask(KfiAsk what, std::uint32_t length, std::uint32_t tag = 0) {
    const KfiWords words{.ask = what, .nic = kNearNic, .tag = tag, .length = length};
    const bool taken = near->send(near->peer(kFarNic), words, 0).has_value();
    begun_ += taken ? 1 : 0;
    return taken;
  }
  bool begin_bulk(std::uint64_t number, std::uint32_t length) {
    const Fragment fragment =
        KfiNode::place(static_cast<unsigned>(number % KfiNode::kBulkPlaces), length);
    const lnet::Payload payload{{&fragment, 1}, 0, length};
    const kfilnd::Tag tag = ++tag_;
    if (!near->endpoint().post_tagged(near->peer(kFarNic), tag, true, payload, tag)) return false;
    while (!ask(KfiAsk::kPut, length, tag))
      (void)near->turn();
    return true;
  }
  template <class Condition>
  bool until(const Condition& is_met, unsigned times = 1) {
    const std::uint64_t end_ns = near->now_ns() + times * kPatienceNs;
    while (!is_met()) {
      (void)near->turn();
      if (near->now_ns() > end_ns) return false;
    }
    return true;
  }
  [[nodiscard]] double rate(std::uint64_t count, std::uint64_t start_ns) const {
    return static_cast<double>(count) * 1e9 / static_cast<double>(near->now_ns() - start_ns);
  }

  std::string folder_;
  pid_t child_ = -1;
  std::uint64_t begun_ = 0, ended_ = 0, bad_ = 0, answers_ = 0;
  std::uint64_t* bulk_done_ = nullptr;
  kfilnd::Tag tag_ = 0;
};

// nullptr: the state is skipped.
MemifPair* pair_for(benchmark::State& state, double loss) {
  MemifPair& pair = MemifPair::get();
  if (pair.near == nullptr) {
    state.SkipWithError(pair.why_not.c_str());
    return nullptr;
  }
  (void)pin_to_nth_cpu(0);
  pair.set_loss(loss);
  return &pair;
}

void memif_rate(benchmark::State& state) {
  MemifPair* const pair = pair_for(state, 0);
  if (pair == nullptr) return;
  double rate = 0;
  while (state.KeepRunning())
    rate = pair->messages(400'000);
  if (rate == 0)
    return state.SkipWithError(
        "400 000 messages were not over in 5 s: do the two pollers have a CPU each?");
  state.counters["value"] = rate;
}

void memif_bulk(benchmark::State& state, double loss) {
  MemifPair* const pair = pair_for(state, loss);
  if (pair == nullptr) return;
  double rate = 0;
  const std::uint64_t lost = pair->near->faults().counts().dropped;
  while (state.KeepRunning())
    rate = pair->bulk(200, 1U << 18U);
  pair->set_loss(0);
  if (loss > 0 && pair->near->faults().counts().dropped == lost)
    return state.SkipWithError("no frame was lost");
  if (rate == 0)
    return state.SkipWithError("50 MiB were not over in 5 s: do the two pollers have a CPU each?");
  state.counters["value"] = rate / 1e6;
}

void memif_tail(benchmark::State& state) {
  constexpr std::size_t kPings = 2000;
  MemifPair* const pair = pair_for(state, 0.01);
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
  state.counters["value"] = static_cast<double>(times[kPings * 99 / 100]) / 1000;
  state.counters["median_us"] = static_cast<double>(times[kPings / 2]) / 1000;
  state.counters["worst_us"] = static_cast<double>(times.back()) / 1000;
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "cassini.memif.rate",
                   .what =
                       "messages of 24 bytes between endpoints of two processes on a memif, the "
                       "software NIC inline on each poller",
                   .unit = "messages/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.1,
                   .bar = Bar{.of = Bar::Of::kValue, .limit = 1e6, .side = Bar::Side::kAtLeast},
                   .value = memif_rate});
  suite.push_back({.name = "cassini.loss",
                   .what = "bulk of 256 KiB on the same memif of which 1 % of frames get lost, "
                           "floor: none",
                   .unit = "MB/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.8, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) { memif_bulk(state, 0.01); },
                   .floor = [](benchmark::State& state) { memif_bulk(state, 0); }});
  suite.push_back({.name = "cassini.loss.tail",
                   .what = "a small message there and back, 1 % of frames lost each way, 99 of 100",
                   .unit = "us",
                   .timing = Timing::kReal,
                   .round_seconds = 0.1,
                   .bar = Bar{.of = Bar::Of::kValue, .limit = 1000, .side = Bar::Side::kAtMost},
                   .value = memif_tail});
}

}  // namespace plnet::bench
