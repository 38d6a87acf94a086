// SPDX-License-Identifier: BSD-3-Clause
// Stacks on any wire and disturbs its traffic, from a seed: packets lost, repeated, late, the fibre
// cut. For tests and measurements; no wire contains such code itself. Damage is not included: a
// Wire never delivers changed packets (link/fault_frames.hpp disturbs frames below).
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
  // Shares of the sent packets.
  double drop = 0;
  double duplicate = 0;
  double late = 0;  // held back until some others have overtaken it
};

#define PLNET_CASSINI_FAULT_WIRE_COUNTERS(X)                    \
  X(kPassed, "passed", "packets", kCount, "passed unchanged")   \
  X(kDropped, "dropped", "packets", kCount, "lost on purpose")  \
  X(kDuplicated, "duplicated", "packets", kCount, "sent twice") \
  X(kLate, "late", "packets", kCount, "delayed")
PLNET_COUNTERS(FaultWireCounters, PLNET_CASSINI_FAULT_WIRE_COUNTERS);

class FaultWire final : public Wire {
 public:
  // `below` outlives it. Allocates all its memory here.
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
  // Nothing is sent; received packets are discarded. Nobody is notified, as with a broken fibre.
  bool cut = false;

 private:
  static constexpr std::size_t kKept = 8;
  static constexpr unsigned kPollsLate = 4;  // limit of the delay
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
  std::vector<std::byte> memory_;  // of the packets held back
  std::array<Kept, kKept> kept_{};
  Counters<FaultWireCounters> stats_;
};

}  // namespace plnet::cassini::soft
