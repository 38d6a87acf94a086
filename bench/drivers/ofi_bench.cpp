// SPDX-License-Identifier: BSD-3-Clause
// The cost of the endpoint on libfabric above the provider shm: two processes on a CPU each, and
// the same processes without our endpoint as the floor.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/drivers/ofi_nodes.hpp"
#include "bench/harness/harness.hpp"

namespace plnet::bench {
namespace {

constexpr std::uint64_t kPatienceNs = 5'000'000'000;

class ShmPair {
 public:
  static ShmPair& get() {
    static ShmPair pair;
    return pair;
  }
  ~ShmPair() {
    near_.reset();
    bare_.reset();
    if (child_ <= 0) return;
    (void)::kill(child_, SIGKILL);
    (void)::waitpid(child_, nullptr, 0);
    for (const unsigned service : {kFar, kFarBare}) {
      ofi::Claim left;
      (void)left.take({nic_, service, 0}, 1);
    }
  }
  ShmPair(const ShmPair&) = delete;
  ShmPair& operator=(const ShmPair&) = delete;

  // Messages a second, as fast as possible; 0: some failed.
  double messages(std::uint64_t count) {
    *bare_turn_ = false;
    const std::uint64_t start_ns = near_->now_ns();
    const std::uint64_t end = near_->begun + count;
    const bool good = until([&] {
      // A burst, then a turn, as in a poller.
      for (unsigned i = 0; i < kBurst && near_->begun < end; ++i) {
        if (near_->begun - near_->ended >= kInFlight || !near_->send({}, 0)) break;
        ++near_->begun;
      }
      (void)near_->turn();
      return near_->ended == end;
    });
    return good && near_->bad == 0 ? rate(count, start_ns) : 0;
  }
  double bare_messages(std::uint64_t count) {
    *bare_turn_ = true;
    const std::uint64_t start_ns = near_->now_ns();
    std::uint64_t sent = 0;
    const bool good = until([&] {
      for (unsigned i = 0; i < kBurst && sent < count && bare_->send({}); ++i)
        ++sent;
      (void)bare_->turn();
      return sent == count;
    });
    return good && echo() ? rate(count, start_ns) : 0;
  }
  // Bytes a second that the far end reads from our tagged buffers.
  double bulk(std::uint64_t count, std::uint32_t length) {
    *bare_turn_ = false;
    const std::uint64_t start_ns = near_->now_ns();
    const std::uint64_t before = near_->bulk_done;
    std::uint64_t next = 0;
    const bool good = until([&] {
      while (next < count && next < near_->bulk_done - before + OfiMemory::kPlaces &&
             near_->begin_bulk(next, length))
        ++next;
      (void)near_->turn();
      return near_->bulk_done == before + count && near_->ended == near_->begun;
    });
    return good && near_->bad == 0 ? rate(count * length, start_ns) : 0;
  }
  double bare_bulk(std::uint64_t count, std::uint32_t length) {
    *bare_turn_ = true;
    if (!echo()) return 0;
    const std::uint64_t start_ns = near_->now_ns();
    const std::uint64_t before = bare_->read_done;
    std::uint64_t next = 0;
    const bool good = until([&] {
      while (next < count && next < bare_->read_done - before + OfiMemory::kPlaces &&
             bare_->read(next, length))
        ++next;
      (void)bare_->turn();
      return bare_->read_done == before + count;
    });
    return good ? rate(count * length, start_ns) : 0;
  }

  std::string why_not;

 private:
  static constexpr unsigned kNear = 0;
  static constexpr unsigned kFar = 1;
  static constexpr unsigned kNearBare = 2;
  static constexpr unsigned kFarBare = 3;
  static constexpr unsigned kBurst = 32;
  static constexpr std::uint64_t kInFlight = 512;

  ShmPair() : nic_(static_cast<std::uint64_t>(::getpid())) {
    const auto near_cpu = nth_usable_cpu(0);
    const auto far_cpu = nth_usable_cpu(1);
    void* const shared = ::mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!near_cpu || !far_cpu || shared == MAP_FAILED) {
      why_not = "needs two CPUs";
      return;
    }
    bare_turn_ = new (shared) std::atomic<bool>(false);
    child_ = ::fork();
    if (child_ == 0) serve();
    auto near = OfiNode::start(nic_, kNear, kFar);
    auto bare = BareNode::start(nic_, kNearBare, kFarBare);
    if (!near || !bare) {
      why_not = near ? bare.error().what : near.error().what;
      return;
    }
    near_ = std::move(*near);
    bare_ = std::move(*bare);
    if (messages(1) == 0 || bare_messages(1) == 0) why_not = "the far end does not answer";
  }
  [[noreturn]] void serve() {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)pin_to_nth_cpu(1);
    auto far = OfiNode::start(nic_, kFar, kNear);
    auto bare = BareNode::start(nic_, kFarBare, kNearBare);
    if (!far || !bare) ::_exit(1);
    for (;;) {
      if (bare_turn_->load(std::memory_order_relaxed))
        (void)(*bare)->turn();
      else
        (void)(*far)->turn();
    }
  }
  // Waits for all earlier messages, since shm keeps order.
  bool echo() {
    const std::uint64_t before = bare_->answers;
    if (!until([&] {
          (void)bare_->turn();
          return bare_->send({.ask = OfiWords::Ask::kEcho});
        }))
      return false;
    return until([&] {
      (void)bare_->turn();
      return bare_->answers > before;
    });
  }
  template <class Step>
  bool until(const Step& step) {
    const std::uint64_t end_ns = near_->now_ns() + kPatienceNs;
    while (!step()) {
      if (near_->now_ns() > end_ns) return false;
    }
    return true;
  }
  [[nodiscard]] double rate(std::uint64_t count, std::uint64_t start_ns) const {
    return static_cast<double>(count) * 1e9 / static_cast<double>(near_->now_ns() - start_ns);
  }

  std::uint64_t nic_;
  pid_t child_ = -1;
  std::atomic<bool>* bare_turn_ = nullptr;  // the far end serves one of its two nodes at a time
  std::unique_ptr<OfiNode> near_;
  std::unique_ptr<BareNode> bare_;
};

template <class Measure>
void measure(benchmark::State& state, const Measure& measured) {
  ShmPair& pair = ShmPair::get();
  if (!pair.why_not.empty()) return state.SkipWithError(pair.why_not.c_str());
  (void)pin_to_nth_cpu(0);
  double value = 0;
  while (state.KeepRunning())
    value = measured(pair);
  if (value == 0)
    return state.SkipWithError("it was not over in 5 s: do the two pollers have a CPU each?");
  state.counters["value"] = value;
}

constexpr std::uint64_t kMessages = 200'000;
constexpr std::uint64_t kBulkBytes = 100U << 20U;

Benchmark bulk_of(const std::string& name, std::uint32_t length) {
  return {.name = "ofi.shm.bulk." + name,
          .what = name + " read from a tagged buffer over and over, floor: fi_read() of the same",
          .unit = "MB/s",
          .timing = Timing::kReal,
          .round_seconds = 0.1,
          .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.8, .side = Bar::Side::kAtLeast},
          .value =
              [length](benchmark::State& state) {
                measure(state, [length](ShmPair& pair) {
                  return pair.bulk(kBulkBytes / length, length) / 1e6;
                });
              },
          .floor =
              [length](benchmark::State& state) {
                measure(state, [length](ShmPair& pair) {
                  return pair.bare_bulk(kBulkBytes / length, length) / 1e6;
                });
              }};
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "ofi.shm.rate",
       .what = "messages of 24 bytes with their acknowledgement, two processes over libfabric's "
               "shm, floor: fi_inject() of the same with none",
       .unit = "messages/s",
       .timing = Timing::kReal,
       .round_seconds = 0.1,
       .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.4, .side = Bar::Side::kAtLeast},
       .value =
           [](benchmark::State& state) {
             measure(state, [](ShmPair& pair) { return pair.messages(kMessages); });
           },
       .floor =
           [](benchmark::State& state) {
             measure(state, [](ShmPair& pair) { return pair.bare_messages(kMessages); });
           }});
  suite.push_back(bulk_of("64KiB", 1U << 16U));
  suite.push_back(bulk_of("1MiB", 1U << 20U));
}

}  // namespace plnet::bench
