// SPDX-License-Identifier: BSD-3-Clause
// How long the thread of a NIC sleeps when it has nothing to do. A CPU of its own: it polls, and
// sleeps only after a pause in traffic. On a CPU that it shares, usually with the very thread that
// polls for its events, each moment of polling delays that thread: the NIC sleeps at once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plnet::cassini::soft {

class NicPacing {
 public:
  // A sleep delays a command by at most this part of the pause before it.
  static constexpr std::uint64_t kPartOfPause = 50;
  // A shorter sleep takes the CPU for about as long as polling does.
  static constexpr std::uint64_t kSleepNsMin = 20'000;
  static constexpr std::uint64_t kSleepNsMax = 500'000;
  // A step that takes longer was probably interrupted by another thread.
  static constexpr std::uint64_t kInterruptedNs = 200'000;
  // Each trial of polling alone costs the other thread one time slice, some milliseconds.
  static constexpr std::uint64_t kSharedNsMin = 30'000'000;
  static constexpr std::uint64_t kSharedNsMax = 16 * kSharedNsMin;

  // After a step that did work.
  void on_work(std::uint64_t now_ns) { worked_ns_ = now_ns; }
  // Another thread has taken the CPU since the last call.
  void on_interrupted(std::uint64_t now_ns) {
    const bool again = now_ns < shared_until_ns_ + shared_ns_;
    shared_ns_ = again ? std::min(2 * shared_ns_, kSharedNsMax) : kSharedNsMin;
    shared_until_ns_ = now_ns + shared_ns_;
  }
  // A short sleep that ends late has waited for the thread that has the CPU. The end of a long one
  // says nothing: an idle CPU takes time to wake.
  void on_wake(std::uint64_t slept_ns, std::uint64_t sleep_ns, std::uint64_t now_ns) {
    if (sleep_ns < 2 * kSleepNsMin && now_ns - slept_ns > sleep_ns + kInterruptedNs)
      on_interrupted(now_ns);
  }
  [[nodiscard]] bool is_shared(std::uint64_t now_ns) const { return now_ns < shared_until_ns_; }
  // After a step without work; 0: the next step follows at once. `often`: pauses do not count.
  [[nodiscard]] std::uint64_t sleep_ns(std::uint64_t now_ns, bool often) const {
    const std::uint64_t pause_ns = now_ns - worked_ns_;
    const std::uint64_t part_ns = std::min(pause_ns / kPartOfPause, kSleepNsMax);
    if (part_ns >= kSleepNsMin && !often) return part_ns;
    return is_shared(now_ns) ? kSleepNsMin : 0;
  }

 private:
  std::uint64_t worked_ns_ = 0;
  std::uint64_t shared_ns_ = kSharedNsMin;
  std::uint64_t shared_until_ns_ = 0;
};

}  // namespace plnet::cassini::soft
