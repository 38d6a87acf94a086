// SPDX-License-Identifier: BSD-3-Clause
// Faults between kfilnd and a fabric endpoint. Messages have no order there, so they may be lost,
// duplicated, delayed and overtaken. The last message of a buffer must still come last, since
// kfilnd reuses the buffer behind it. The table is in plan.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "drivers/net/fault/judge.hpp"
#include "lib/base/pollable.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::drivers {

inline constexpr std::size_t kHeldEventsMax = 256;   // completions held back or made here at once
inline constexpr std::size_t kKnownBuffersMax = 64;  // multi-receive buffers that corrupt can find

class FaultEndpointDriver final : public kfilnd::EndpointDriver,
                                  public kfilnd::EndpointEvents,
                                  public Pollable {
 public:
  // `arenas` is needed by corrupt only.
  FaultEndpointDriver(kfilnd::EndpointEvents& up, Random random, const ArenaTable* arenas)
      : up_(up), arenas_(arenas), judge_(Seam::kEndpoint, random) {}
  void attach(kfilnd::EndpointDriver& lower) { lower_ = &lower; }

  [[nodiscard]] Outcome<void> set_plan(const FaultPlan& plan);
  [[nodiscard]] const FaultJudge& judge() const { return judge_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "fault-endpoint"; }
  [[nodiscard]] Instant next_deadline() const override;

  // EndpointDriver: called by kfilnd.
  [[nodiscard]] Result<void> send(const kfilnd::Target& to, std::span<const std::byte> header,
                                  const lnet::Payload& payload, std::uint64_t cookie) override;
  [[nodiscard]] Result<void> post_tagged(const kfilnd::Target& from, kfilnd::Tag tag,
                                         bool peer_reads, const lnet::Payload& buffer,
                                         std::uint64_t cookie) override;
  [[nodiscard]] Result<void> cancel_tagged(kfilnd::Tag tag) override;
  [[nodiscard]] Result<void> read_tagged(const kfilnd::Target& peer, kfilnd::Tag tag,
                                         const lnet::Payload& into, std::uint64_t cookie) override;
  [[nodiscard]] Result<void> write_tagged(const kfilnd::Target& peer, kfilnd::Tag tag,
                                          const lnet::Payload& from, std::uint64_t cookie) override;
  [[nodiscard]] Result<void> answer_tagged(const kfilnd::Target& peer, kfilnd::Tag tag,
                                           std::uint64_t data, std::uint64_t cookie) override;
  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer,
                                                std::uint64_t cookie) override;
  [[nodiscard]] Result<kfilnd::PeerAddress> resolve(std::uint64_t nic_address,
                                                    unsigned service) override;
  void forget(kfilnd::PeerAddress address) override;
  void shut_down() override;
  [[nodiscard]] bool quiet() const override { return held_count_ == 0 && lower_->quiet(); }
  [[nodiscard]] const kfilnd::EndpointLimits& limits() const override { return lower_->limits(); }
  [[nodiscard]] CounterView counters() const override { return judge_.counters(); }

  // EndpointEvents: called by the real driver.
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override;
  void on_link(bool usable, std::uint64_t nic_address) override;

 private:
  struct Held {
    kfilnd::FabricCompletion completion;
    Instant due;
    unsigned overtake_left = 0;
    bool counts_overtakers = false;
  };
  struct Buffer {
    Fragment fragment;
    std::uint64_t cookie = 0;
    bool live = false;
  };
  using Buffers = std::array<Buffer, kKnownBuffersMax>;

  // Decides about one call that posts an operation. Nothing: pass it on; else its result.
  std::optional<Result<void>> interfere(const kfilnd::Target& peer, kfilnd::FabricEvent ends_in,
                                        std::uint64_t cookie);
  void receive(const kfilnd::FabricCompletion& completion);
  void decide(const kfilnd::FabricCompletion& completion, bool last);
  void spoil(kfilnd::FabricCompletion completion, const FaultRule& rule);
  bool hold(const kfilnd::FabricCompletion& completion, Instant due, unsigned overtake_left,
            bool counts_overtakers);
  void deliver(const kfilnd::FabricCompletion& completion);
  void deliver_held_of(std::uint64_t cookie);
  bool corrupt(const kfilnd::FabricCompletion& completion);
  Buffers::iterator find_buffer(std::uint64_t cookie);
  void remove(std::size_t index);

  kfilnd::EndpointEvents& up_;
  kfilnd::EndpointDriver* lower_ = nullptr;
  const ArenaTable* arenas_;
  FaultJudge judge_;
  std::array<Held, kHeldEventsMax> held_{};
  std::size_t held_count_ = 0;
  Buffers buffers_{};
  Instant stalled_until_ = Instant::min();  // min: not stalled
  Instant no_buffers_until_ = Instant::min();
  Instant now_{};
  bool shut_down_ = false;
};

}  // namespace plnet::drivers
