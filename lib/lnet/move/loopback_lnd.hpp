// SPDX-License-Identifier: BSD-3-Clause
// The network `lo`: a message to 0@lo arrives on the same shard in the same turn, copied. An Lnd
// without connections. (lustre-release lnet/lnet/lo.c)
#pragma once

#include <memory>

#include "lib/base/arena.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::lnet {

class LoopbackLnd final : public Lnd {
 public:
  // At most `in_flight_max` messages at a time, parked ones included; more is back-pressure.
  LoopbackLnd(LndUpcalls& core, const ArenaTable& arenas, std::size_t in_flight_max);

  [[nodiscard]] const LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<Transmit* const> burst) override;
  void resume(RxHandle rx, const RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(Transmit& transmit) override;
  void release_peer(PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override { return used_ == 0; }
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return {}; }

 private:
  enum class State : std::uint8_t { kFree, kQueued, kOffering, kParked, kResumed };

  struct Slot {
    State state = State::kFree;
    bool cancelled = false;
    std::uint32_t generation = 0;
    std::uint32_t next = kNone;
    Transmit* transmit = nullptr;
    RxDecision decision;
  };
  static constexpr std::uint32_t kNone = ~0U;

  unsigned end_parked();
  void offer(std::uint32_t index);
  void carry_out(std::uint32_t index);
  void end(std::uint32_t index, Result<void> status);
  void copy(const Payload& from, const Payload& to);
  void queue(std::uint32_t index);

  const LndTraits traits_;
  LndUpcalls& core_;
  const ArenaTable& arenas_;
  const std::size_t capacity_;
  const std::unique_ptr<Slot[]> slots_;
  std::uint32_t free_ = kNone;
  std::uint32_t first_ = kNone;  // queued or resumed messages, in order
  std::uint32_t last_ = kNone;
  std::size_t used_ = 0;
  PeerLink* releasing_ = nullptr;
  bool parked_must_end_ = false;  // some parked messages must end
  bool shutting_down_ = false;
};

}  // namespace plnet::lnet
