// SPDX-License-Identifier: BSD-3-Clause
// A wire within one process, with faults: packets lost, repeated, late, reordered, a cable pulled,
// an address changed; all drawn from a seed, on the given time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

struct WireFaults {
  std::uint64_t seed = 0;
  double drop = 0;
  double duplicate = 0;
  double reorder = 0;  // share of packets that take up to ten times as long
  std::uint64_t delay_ns = 0;
  std::size_t packet_bytes_max = 2300;
  unsigned packets_max = 1024;  // under way to one end
  bool keeps_all = false;       // the wire says that it loses and repeats nothing
};

#define PLNET_CASSINI_INPROC_COUNTERS(X)                                                        \
  X(kSent, "sent", "packets", kCount, "given to the wire")                                      \
  X(kReceived, "received", "packets", kCount, "delivered upwards")                              \
  X(kDropped, "dropped", "packets", kCount, "lost on purpose, too long, or without a receiver") \
  X(kDuplicated, "duplicated", "packets", kCount, "delivered twice")                            \
  X(kFull, "full", "packets", kCount, "refused for lack of room")
PLNET_COUNTERS(InprocCounters, PLNET_CASSINI_INPROC_COUNTERS);

class InprocCable;

class InprocWire final : public Wire {
 public:
  InprocWire(InprocCable& cable, NicAddress address);
  ~InprocWire() override;
  InprocWire(const InprocWire&) = delete;
  InprocWire& operator=(const InprocWire&) = delete;

  [[nodiscard]] std::size_t packet_bytes_max() const override;
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const override;
  [[nodiscard]] bool keeps_all() const override;
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override;
  unsigned poll(std::uint64_t now_ns, WireEvents& events) override;
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }

  void set_link(bool up);
  void change_address(NicAddress address);
  // This end has less room than the cable; longer packets are lost.
  void set_packet_bytes_max(std::size_t bytes) { packet_bytes_max_ = bytes; }
  [[nodiscard]] bool empty() const { return coming_.empty(); }

 private:
  friend class InprocCable;
  struct Coming {
    std::uint64_t at_ns = 0;
    std::uint64_t order = 0;
    NicAddress from = 0;
    std::vector<std::byte> bytes;
    bool operator>(const Coming& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  [[nodiscard]] std::vector<std::byte> spare();

  InprocCable& cable_;
  NicAddress address_;
  std::size_t packet_bytes_max_ = SIZE_MAX;
  bool up_ = true;
  bool changed_ = true;
  std::uint64_t now_ns_ = 0;
  Counters<InprocCounters> stats_;
  std::vector<Coming> coming_;                 // a heap, the next to arrive on top
  std::vector<std::vector<std::byte>> spare_;  // memory for reuse
};

// All connected ends.
class InprocCable {
 public:
  explicit InprocCable(const WireFaults& wanted) : faults(wanted), random_(wanted.seed) {}
  WireFaults faults;
  std::size_t longest = 0;  // longest packet sent

 private:
  friend class InprocWire;
  [[nodiscard]] InprocWire* find(NicAddress address);
  Random random_;
  std::uint64_t order_ = 0;
  std::vector<InprocWire*> ends_;
};

}  // namespace plnet::cassini::soft
