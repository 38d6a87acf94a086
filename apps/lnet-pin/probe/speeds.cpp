// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/probe/speeds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/random.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {
namespace {

constexpr double kNano = 1e9;
constexpr double kMicro = 1e6;
constexpr std::size_t kLine = 64;
constexpr double kMebibyte = 1048576;
constexpr unsigned kRoundTrips = 200;     // of a cache line, in a round
constexpr unsigned kWaitSpins = 100'000;  // then yield: both threads may share a CPU
constexpr double kInterruption = 10e-6;  // a longer time between two readings of the clock: another
                                         // thread ran

struct alignas(2 * kLine) SharedLine {
  std::atomic<std::uint64_t> turn{0};
};

void await(const SharedLine& line, std::uint64_t wanted) {
  for (unsigned spins = 0; line.turn.load(std::memory_order_acquire) != wanted;) {
    if (++spins == kWaitSpins) {
      spins = 0;
      (void)::sched_yield();
    }
  }
}

// Memory on one node, released at the end.
class NodeMemory {
 public:
  NodeMemory(std::size_t bytes, unsigned node, Pages pages) : bytes_(bytes) {
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return;
    base_ = mapped;
    (void)::madvise(base_, bytes, pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::array<unsigned long, 16> mask{};
    constexpr unsigned kBits = 8 * sizeof(unsigned long);
    if (node / kBits >= mask.size()) return;
    mask[node / kBits] = 1UL << (node % kBits);
    // A kernel without NUMA has one node, and binding is unnecessary.
    const long done =
        ::syscall(SYS_mbind, base_, bytes, MPOL_BIND, mask.data(), mask.size() * kBits, 0);
    bound_ = done == 0 || (errno == ENOSYS && node == 0);
  }
  ~NodeMemory() {
    if (base_ != nullptr) (void)::munmap(base_, bytes_);
  }
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  [[nodiscard]] bool good() const { return base_ != nullptr && bound_; }
  [[nodiscard]] std::span<std::uint64_t> words() const {
    return {static_cast<std::uint64_t*>(base_), bytes_ / sizeof(std::uint64_t)};
  }

 private:
  std::size_t bytes_;
  void* base_ = nullptr;
  bool bound_ = false;
};

// Each line points to the next one, in one cycle through all of them.
void lay_chain(std::span<std::uint64_t> words) {
  constexpr std::size_t kStep = kLine / sizeof(std::uint64_t);
  std::vector<std::uint32_t> order(words.size() / kStep);
  std::iota(order.begin(), order.end(), 0U);
  Random random(1);
  random.shuffle(std::span(order));
  for (std::size_t i = 0; i < order.size(); ++i)
    words[order[i] * kStep] = order[(i + 1) % order.size()] * kStep;
}

double chase(std::span<const std::uint64_t> words, Seconds time) {
  constexpr unsigned kLoads = 2000;
  std::uint64_t at = 0;
  double best = 0;
  for (const double end = now_seconds() + time.count(); now_seconds() < end;) {
    const double begin = now_seconds();
    for (unsigned i = 0; i < kLoads; ++i)
      at = words[at];
    const double each = (now_seconds() - begin) / kLoads;
    if (best == 0 || each < best) best = each;
  }
  asm volatile("" : : "r"(at));
  return best * kNano;
}

// Block by block, so that an interruption affects only one of them.
double stream(std::span<const std::uint64_t> words, Seconds time) {
  constexpr std::size_t kBlock = (std::size_t{1} << 20U) / sizeof(std::uint64_t);
  double best = 0;
  std::size_t at = 0;
  for (const double end = now_seconds() + time.count(); now_seconds() < end;) {
    const auto block = words.subspan(at, std::min(kBlock, words.size() - at));
    at = (at + block.size()) % words.size();
    const double begin = now_seconds();
    std::array<std::uint64_t, 8> sums{};
    for (std::size_t i = 0; i + sums.size() <= block.size(); i += sums.size()) {
      for (std::size_t j = 0; j < sums.size(); ++j)
        sums[j] += block[i + j];
    }
    asm volatile("" : : "r"(sums[0] + sums[3] + sums[7]));
    const double took = now_seconds() - begin;
    if (took > 0) best = std::max(best, static_cast<double>(block.size_bytes()) / kMebibyte / took);
  }
  return best;
}

}  // namespace

std::optional<double> line_latency_ns(unsigned one, unsigned other, Seconds time) {
  SharedLine line;
  std::atomic<bool> over{false};
  double best = 0;
  const auto lead = [&] {
    std::uint64_t turn = 0;
    for (const double end = now_seconds() + time.count(); now_seconds() < end;) {
      const double begin = now_seconds();
      for (unsigned i = 0; i < kRoundTrips; ++i) {
        line.turn.store(++turn, std::memory_order_release);
        await(line, ++turn);
      }
      const double each = (now_seconds() - begin) / (2.0 * kRoundTrips);
      if (best == 0 || each < best) best = each;
    }
    over = true;
    line.turn.store(turn + 1, std::memory_order_release);
  };
  const auto follow = [&] {
    for (std::uint64_t turn = 1;; turn += 2) {
      await(line, turn);
      if (over) return;
      line.turn.store(turn + 1, std::memory_order_release);
    }
  };
  if (!run_on_both(one, lead, other, follow)) return std::nullopt;
  return best * kNano;
}

std::optional<MemorySpeed> memory_speed(unsigned cpu, unsigned node, Pages pages, std::size_t bytes,
                                        Seconds time) {
  std::optional<MemorySpeed> speed;
  const auto measure = [&] {
    const NodeMemory memory(bytes, node, pages);
    if (!memory.good()) return;
    lay_chain(memory.words());
    speed = MemorySpeed{.latency_ns = chase(memory.words(), time / 2),
                        .read_mibps = stream(memory.words(), time / 2)};
  };
  if (!run_on(cpu, measure)) return std::nullopt;
  return speed;
}

std::optional<double> system_call_ns(unsigned cpu, Seconds time) {
  constexpr unsigned kCalls = 1000;
  double best = 0;
  const auto measure = [&] {
    for (const double end = now_seconds() + time.count(); now_seconds() < end;) {
      const double begin = now_seconds();
      for (unsigned i = 0; i < kCalls; ++i)
        (void)::syscall(SYS_getppid);
      const double each = (now_seconds() - begin) / kCalls;
      if (best == 0 || each < best) best = each;
    }
  };
  if (!run_on(cpu, measure)) return std::nullopt;
  return best * kNano;
}

std::optional<double> wake_up_ns(unsigned one, unsigned other, Seconds time) {
  const runtime::Descriptor there(::eventfd(0, EFD_CLOEXEC));
  const runtime::Descriptor back(::eventfd(0, EFD_CLOEXEC));
  if (!there.valid() || !back.valid()) return std::nullopt;
  constexpr std::uint64_t kLast = 1000;
  std::vector<double> trips;
  const auto ring = [](const runtime::Descriptor& bell, std::uint64_t value) {
    (void)!::write(bell.get(), &value, sizeof value);
  };
  const auto hear = [](const runtime::Descriptor& bell) {
    std::uint64_t value = 0;
    (void)!::read(bell.get(), &value, sizeof value);
    return value;
  };
  const auto lead = [&] {
    for (const double end = now_seconds() + time.count(); now_seconds() < end;) {
      const double begin = now_seconds();
      ring(there, 1);
      (void)hear(back);
      trips.push_back((now_seconds() - begin) / 2);
    }
    ring(there, kLast);
  };
  const auto follow = [&] {
    while (hear(there) < kLast)
      ring(back, 1);
  };
  if (!run_on_both(one, lead, other, follow) || trips.empty()) return std::nullopt;
  const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2);
  std::ranges::nth_element(trips, middle);
  return *middle * kNano;
}

std::optional<double> clock_ghz(unsigned cpu, Seconds time) {
  constexpr unsigned kAdditions = 200'000;
  double best = 0;
  const auto measure = [&] {
    for (const double end = now_seconds() + time.count(); now_seconds() < end;) {
      std::uint64_t value = 1;  // NOLINT(misc-const-correctness): the assembly changes it
      const double begin = now_seconds();
      for (unsigned i = 0; i < kAdditions; i += 8) {
        // A dependency chain that no compiler can shorten; the loop's counter runs in parallel.
        asm volatile(
#if defined(__x86_64__)
            "add %0, %0\n add %0, %0\n add %0, %0\n add %0, %0\n"
            "add %0, %0\n add %0, %0\n add %0, %0\n add %0, %0\n"
#elif defined(__aarch64__)
            "add %0, %0, %0\n add %0, %0, %0\n add %0, %0, %0\n add %0, %0, %0\n"
            "add %0, %0, %0\n add %0, %0, %0\n add %0, %0, %0\n add %0, %0, %0\n"
#endif
            : "+r"(value));
      }
      const double took = now_seconds() - begin;
      if (took > 0) best = std::max(best, kAdditions / took / kNano);
    }
  };
  if (!run_on(cpu, measure)) return std::nullopt;
  return best;
}

std::optional<Noise> noise_of(unsigned cpu, Seconds time) {
  Noise noise;
  const auto measure = [&] {
    const double begin = now_seconds();
    double lost = 0;
    double before = begin;
    while (before - begin < time.count()) {
      const double now = now_seconds();
      const double gap = now - before;
      if (gap > kInterruption) {
        lost += gap;
        noise.longest_us = std::max(noise.longest_us, gap * kMicro);
      }
      before = now;
    }
    noise.lost_percent = lost / (before - begin) * 100;
  };
  if (!run_on(cpu, measure)) return std::nullopt;
  return noise;
}

}  // namespace plnet::pin
