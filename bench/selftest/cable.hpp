// SPDX-License-Identifier: BSD-3-Clause
// A network of two nodes on two cores whose wire is a pair of rings: the measurement then shows the
// layers above LNDs. Small messages only, copied into the ring and out of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::bench {

struct CableFrame {
  static constexpr std::size_t kPayloadBytes = 192;

  lnet::MessageHeader header;
  std::array<std::byte, kPayloadBytes> payload{};
};
using CableLane = SpscRing<CableFrame>;

class CableLnd final : public lnet::Lnd {
 public:
  CableLnd(CableLane& out, CableLane& in, const ArenaTable& arenas, lnet::LndUpcalls& core)
      : out_(out), in_(in), arenas_(arenas), core_(core) {}

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& /*transmit*/) override {}  // already sent
  void release_peer(lnet::PeerLink& link) override { core_.on_peer_released(link); }
  void shut_down() override {}
  [[nodiscard]] bool idle() const override { return done_count_ == 0; }
  [[nodiscard]] Instant next_deadline() const override { return Instant::min(); }
  [[nodiscard]] CounterView counters() const override { return {}; }

 private:
  static constexpr std::size_t kBurst = 64;

  void copy_out(const lnet::Transmit& transmit, CableFrame& frame) const;
  void copy_in(const lnet::RxDecision& decision) const;
  void report_sent();
  void take_frame();
  void carry_out(const lnet::RxDecision& decision);

  const lnet::LndTraits traits_{.name = "cable", .net_type = lnet::NetType::kTcp};
  CableLane& out_;
  CableLane& in_;
  const ArenaTable& arenas_;
  lnet::LndUpcalls& core_;
  std::array<lnet::Completion, kBurst> done_{};
  std::size_t done_count_ = 0;
  lnet::PeerLink* link_ = nullptr;  // of the other end
  CableFrame frame_;                // being received
  std::uint32_t generation_ = 0;
  bool parked_ = false;
  bool resumed_ = false;
  lnet::RxDecision decision_;
};

}  // namespace plnet::bench
