// SPDX-License-Identifier: BSD-3-Clause
// The cost of passing a pointer to another shard, relative to the machine's cost of moving one
// cache line between the same two cores.
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "bench/harness/harness.hpp"
#include "bench/harness/partner.hpp"
#include "lib/base/cache_line.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/duplex.hpp"
#include "lib/base/mailbox.hpp"
#include "lib/base/ring.hpp"

namespace plnet::bench {
namespace {

// There and back is two hops; a batch keeps the harness's overhead small.
constexpr int kTrips = 64;
constexpr auto kHops = benchmark::IterationCount{2} * kTrips;

void line_transfer(benchmark::State& state) {
  struct alignas(kNoSharing) Line {
    std::atomic<std::int64_t> turn{0};
  };
  Line line;  // even: ours to increment; odd: the partner's; negative: the end
  const Partner partner(state, [&line] {
    for (;;) {
      const std::int64_t turn = line.turn.load(std::memory_order_acquire);
      if (turn < 0) return;
      if ((turn & 1) != 0) line.turn.store(turn + 1, std::memory_order_release);
    }
  });
  if (!partner.ready()) return;
  while (state.KeepRunningBatch(kHops)) {
    std::int64_t turn = line.turn.load(std::memory_order_relaxed);
    for (int trip = 0; trip < kTrips; ++trip) {
      line.turn.store(turn + 1, std::memory_order_release);
      turn += 2;
      while (line.turn.load(std::memory_order_acquire) != turn) {
      }
    }
  }
  line.turn.store(-1, std::memory_order_release);
}

constexpr std::size_t kRingCapacity = 256;

// The common interface of both pairs of lanes.
struct TwoRings {
  explicit TwoRings(std::size_t capacity) : out(capacity), home(capacity) {}
  SpscRing<void*> out;
  SpscRing<void*> home;
};
struct TwoLanes {
  explicit TwoLanes(std::size_t capacity) : channel(capacity) {}
  Duplex<void> channel;
  DuplexLane<void>& out = channel.there();
  DuplexLane<void>& home = channel.back();
};

// `ahead`: the number of objects that came home before, beyond those that went out.
template <class Pair, std::size_t ahead = 0>
void hop(benchmark::State& state) {
  Pair pair(kRingCapacity);
  for (std::size_t i = 0; i < ahead; ++i) {
    void* object = nullptr;
    if (!pair.home.push(&pair) || !pair.home.pop(object)) return;
  }
  const Partner partner(state, [&pair] {
    for (;;) {
      void* object = nullptr;
      if (!pair.out.pop(object)) continue;
      if (object == nullptr) return;
      if (!pair.home.push(object)) return;
    }
  });
  if (!partner.ready()) return;
  int thing = 0;
  while (state.KeepRunningBatch(kHops)) {
    for (int trip = 0; trip < kTrips; ++trip) {
      (void)pair.out.push(&thing);
      void* object = nullptr;
      while (!pair.home.pop(object)) {
      }
      benchmark::DoNotOptimize(object);
    }
  }
  (void)pair.out.push(nullptr);
}

constexpr std::size_t kBurst = 32;

// A lane with the doorbell of a shard that is awake: the cost of a post beyond the push.
template <Doorbell::FencedBy fenced_by>
struct Posts {
  explicit Posts(std::size_t capacity) : channel(capacity) {}
  [[nodiscard]] bool push(void* object) { return box.post(object); }
  std::size_t push_burst(std::span<void* const> burst) { return box.post_burst(burst); }
  std::size_t pop_burst(std::span<void*> burst) { return box.collect(burst); }
  Duplex<void> channel;
  SilentDoorbell bell{fenced_by};
  Mailbox<void> box{channel.there(), bell};
};
template <Doorbell::FencedBy fenced_by>
struct OneBox {
  explicit OneBox(std::size_t capacity) : out(capacity) {}
  Posts<fenced_by> out;
};

// One side pushes bursts as fast as the other pops them; time per object.
template <class Pair>
void stream(benchmark::State& state) {
  Pair pair(kRingCapacity * 4);
  const Partner partner(state, [&pair] {
    std::array<void*, kBurst> burst{};
    for (;;) {
      const std::size_t count = pair.out.pop_burst(burst);
      for (std::size_t i = 0; i < count; ++i) {
        if (burst[i] == nullptr) return;
      }
    }
  });
  if (!partner.ready()) return;
  int thing = 0;
  std::array<void*, kBurst> burst{};
  burst.fill(&thing);
  while (state.KeepRunningBatch(kBurst)) {
    std::size_t sent = 0;
    while (sent < kBurst)
      sent += pair.out.push_burst(std::span<void* const>(burst).subspan(sent));
  }
  while (!pair.out.push(nullptr)) {
  }
}

// Both sides push bursts and pop; time per object of one direction, comparable with one-way
// streaming.
template <class Pair>
void duplex_stream(benchmark::State& state) {
  Pair pair(kRingCapacity * 4);
  int thing = 0;
  const Partner partner(state, [&pair, &thing] {
    std::array<void*, kBurst> things{};
    things.fill(&thing);
    std::array<void*, kBurst> burst{};
    std::size_t sent = 0;  // of this burst
    for (;;) {
      sent += pair.home.push_burst(std::span<void* const>(things).subspan(sent));
      if (sent == kBurst) sent = 0;
      const std::size_t count = pair.out.pop_burst(burst);
      for (std::size_t i = 0; i < count; ++i) {
        if (burst[i] == nullptr) return;
      }
    }
  });
  if (!partner.ready()) return;
  std::array<void*, kBurst> things{};
  things.fill(&thing);
  std::array<void*, kBurst> burst{};
  while (state.KeepRunningBatch(kBurst)) {
    std::size_t sent = 0;
    for (std::size_t taken = 0; sent < kBurst || taken < kBurst;) {
      sent += pair.out.push_burst(std::span<void* const>(things).subspan(sent));
      taken += pair.home.pop_burst(std::span<void*>(burst).subspan(taken));
    }
    benchmark::DoNotOptimize(burst.data());
  }
  while (!pair.out.push(nullptr)) {
    (void)pair.home.pop_burst(burst);
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  const auto add = [&suite](const char* name, const char* what, Body value, Body floor) {
    suite.push_back({.name = name,
                     .what = what,
                     .timing = Timing::kReal,
                     .round_seconds = 0.0005,
                     .value = std::move(value),
                     .floor = std::move(floor)});
  };
  suite.push_back({.name = "base.ring.hop",
                   .what = "one pointer from shard to shard and there alone: ping-pong over a "
                           "duplex, one way; floor: one cache line between the same two cores",
                   .timing = Timing::kReal,
                   .round_seconds = 0.0005,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 2},
                   .value = hop<TwoLanes>,
                   .floor = line_transfer});
  add("base.ring.hop_out_of_step", "the same with lanes that are half a lap apart",
      hop<TwoLanes, kRingCapacity / 2>, line_transfer);
  add("base.ring.one_way_hop", "the same over two separate one-way rings", hop<TwoRings>,
      line_transfer);
  add("base.ring.stream", "pointers streaming one way over a duplex in bursts of 32, per pointer",
      stream<TwoLanes>, {});
  add("base.mailbox.stream",
      "the same with a doorbell that a burst rings, the sleeper fencing for both sides",
      stream<OneBox<Doorbell::FencedBy::kSleeper>>, {});
  add("base.mailbox.fenced_stream", "the same where each side has to fence",
      stream<OneBox<Doorbell::FencedBy::kEachSide>>, {});
  add("base.ring.one_way_stream", "the same over a one-way ring", stream<TwoRings>, {});
  add("base.ring.duplex_stream",
      "pointers streaming both ways at once over a duplex, per pointer of one way",
      duplex_stream<TwoLanes>, {});
  add("base.ring.one_way_duplex_stream", "the same over two separate one-way rings",
      duplex_stream<TwoRings>, {});
}

}  // namespace plnet::bench
