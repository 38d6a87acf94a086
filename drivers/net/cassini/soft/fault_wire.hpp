// SPDX-License-Identifier: BSD-3-Clause
// Stacks on any wire and spoils what goes through it, from a seed: packets lost, repeated, late,
// the fibre cut. For tests and measurements; no wire carries such code itself. Damage is not among
// them: a Wire never hands up what was changed (link/fault_frames.hpp spoils what is below).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

struct FaultWireOptions {
  std::uint64_t seed = 0;
  // Shares of the packets sent.
  double drop = 0;
  double duplicate = 0;
  double late = 0;  // kept back until some others have overtaken it
};

#define PLNET_CASSINI_FAULT_WIRE_COUNTERS(X)                      \
  X(kPassed, "passed", "packets", kCount, "went on as they were") \
  X(kDropped, "dropped", "packets", kCount, "lost on purpose")    \
  X(kDuplicated, "duplicated", "packets", kCount, "sent twice")   \
  X(kLate, "late", "packets", kCount, "kept back for a while")
PLNET_COUNTERS(FaultWireCounters, PLNET_CASSINI_FAULT_WIRE_COUNTERS);

class FaultWire final : public Wire {
 public:
  // `below` outlives it. Takes all its memory now.
  FaultWire(Wire& below, const FaultWireOptions& options);

  [[nodiscard]] std::size_t packet_bytes_max() const override { return below_.packet_bytes_max(); }
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const override {
    return below_.packet_bytes_max_to(to);
  }
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override;
  unsigned poll(std::uint64_t now_ns, WireEvents& events) override;
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }
  [[nodiscard]] std::uint64_t count(FaultWireCounters::Id id) const { return stats_.get(id); }

  FaultWireOptions options;  // may be changed at any time
  // Nothing goes out; what came in is thrown away. Nobody is told, as with a broken fibre.
  bool cut = false;

 private:
  static constexpr std::size_t kKept = 8;
  static constexpr unsigned kPollsLate = 4;  // at most so long
  struct Kept {
    std::size_t bytes = 0;  // 0: free
    NicAddress to = 0;
    unsigned polls = 0;
  };
  [[nodiscard]] std::span<std::byte> place(std::size_t at) {
    return std::span(memory_).subspan(at * bytes_max_, bytes_max_);
  }
  [[nodiscard]] bool keep(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload);

  Wire& below_;
  Random random_;
  const std::size_t bytes_max_;
  std::vector<std::byte> memory_;  // of those kept
  std::array<Kept, kKept> kept_{};
  Counters<FaultWireCounters> stats_;
};

}  // namespace plnet::cassini::soft
