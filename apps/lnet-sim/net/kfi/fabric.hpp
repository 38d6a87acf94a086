// SPDX-License-Identifier: BSD-3-Clause
// The fabric between software NICs: packets on the simulated network. Packets of one NIC to another
// stay in order unless a fault reorders them; cables may be moved to other ports.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "apps/lnet-sim/net/network.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "drivers/net/fault/judge.hpp"
#include "drivers/net/sim/network.hpp"
#include "lib/base/doorbell.hpp"

namespace plnet::sim {

using cassini::soft::NicAddress;

class KfiFabric;

#define PLNET_SIM_KFI_WIRE_COUNTERS(X)                                     \
  X(kSent, "sent", "packets", kCount, "given to the fabric")               \
  X(kReceived, "received", "packets", kCount, "delivered upwards")         \
  X(kLost, "lost", "packets", kCount, "by a fault, or without a receiver") \
  X(kDuplicated, "duplicated", "packets", kCount, "delivered twice")       \
  X(kReordered, "reordered", "packets", kCount, "overtaken by later ones")
PLNET_COUNTERS(KfiWireCounters, PLNET_SIM_KFI_WIRE_COUNTERS);

// The end of the fabric at one NIC.
class KfiWire final : public cassini::soft::Wire {
 public:
  struct Place {
    drivers::HostId host = 0;
    Doorbell& bell;       // of the shard that polls it
    NicAddress home = 0;  // the address, unless the cable is moved
    Random random;        // for the faults
  };

  // Faults of packets: `drop` in both directions; `duplicate` and `reorder` of arriving ones.
  KfiWire(KfiFabric& fabric, const Place& place, const drivers::FaultPlan& faults);
  ~KfiWire() override;
  KfiWire(const KfiWire&) = delete;
  KfiWire& operator=(const KfiWire&) = delete;

  [[nodiscard]] std::size_t packet_bytes_max() const override;
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress /*to*/) const override {
    return packet_bytes_max();
  }
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override;
  unsigned poll(std::uint64_t now_ns, cassini::soft::WireEvents& events) override;
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }

  void calm();
  [[nodiscard]] std::uint64_t faults() const { return judge_.applied(); }

 private:
  friend class KfiFabric;
  using Id = KfiWireCounters::Id;

  static constexpr unsigned kBurst = 32;

  KfiFabric& fabric_;
  const drivers::HostId host_;
  Doorbell& bell_;
  const NicAddress home_;
  NicAddress address_;  // the present one
  bool changed_ = true;
  bool link_up_ = true;
  drivers::FaultJudge judge_;
  std::unordered_map<NicAddress, Instant> last_arrival_;  // used by key only
  std::deque<std::uint32_t> coming_;
  Counters<KfiWireCounters> stats_;
};

class KfiFabric final : public Network, drivers::EventSink {
 public:
  static constexpr std::size_t kPacketBytesMax = 2200;
  // Added to the address of a cable that is moved to a free port.
  static constexpr NicAddress kAway = 1U << 19U;

  explicit KfiFabric(drivers::SimNetwork& network) : network_(network) {}

  // A NIC's home is the address in its NID.
  bool move(const lnet::Nid& nid) override;
  bool swap(const lnet::Nid& a, const lnet::Nid& b) override;
  void put_back(const lnet::Nid& nid) override { put_home(nid.address32()); }
  // The state of the cable as the NIC sees it. The network is not touched.
  void set_link(NicAddress home, bool up);

 private:
  friend class KfiWire;
  struct Packet {
    NicAddress from = 0;
    NicAddress to = 0;
    bool late = false;  // already reordered
    std::vector<std::byte> bytes;
  };

  void on_event(std::uint64_t word) override;
  void put_home(NicAddress home);
  void plug_in(KfiWire& wire);
  void unplug(KfiWire& wire);
  void set_address(KfiWire& wire, NicAddress address);
  [[nodiscard]] KfiWire* at(NicAddress address) const;
  [[nodiscard]] KfiWire* of_home(NicAddress home) const;
  [[nodiscard]] std::uint32_t take();
  void give(std::uint32_t packet) { free_.push_back(packet); }
  void carry(KfiWire& from, NicAddress to, std::span<const std::byte> header,
             std::span<const std::byte> payload);
  // False: the packet arrives later.
  [[nodiscard]] bool suffers(KfiWire& to, std::uint32_t number, bool& lost);

  drivers::SimNetwork& network_;
  std::unordered_map<NicAddress, KfiWire*> by_home_;
  std::unordered_map<NicAddress, KfiWire*> by_address_;
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_;
};

}  // namespace plnet::sim
