// SPDX-License-Identifier: BSD-3-Clause
// Faults between o2iblnd and a verbs driver. A reliable connection delivers everything in order or
// breaks, so the faults are delay, back-pressure and breaking. The table is in plan.hpp.
#pragma once

#include <array>
#include <cstddef>

#include "drivers/net/fault/judge.hpp"
#include "lib/base/pollable.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::drivers {

inline constexpr std::size_t kHeldWorkMax =
    1024;  // completions held back; further ones pass at once
inline constexpr std::size_t kFailedPairsMax = 64;  // failed here and not drained yet

class FaultVerbsDriver final : public o2iblnd::VerbsDriver,
                               public o2iblnd::VerbsEvents,
                               public Pollable {
 public:
  using QueuePairId = o2iblnd::QueuePairId;
  FaultVerbsDriver(o2iblnd::VerbsEvents& up, Random random)
      : up_(up), judge_(Seam::kVerbs, random) {}
  void attach(o2iblnd::VerbsDriver& lower) { lower_ = &lower; }

  [[nodiscard]] Outcome<void> set_plan(const FaultPlan& plan) { return judge_.set_plan(plan); }
  [[nodiscard]] const FaultJudge& judge() const { return judge_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "fault-verbs"; }
  [[nodiscard]] Instant next_deadline() const override;

  // VerbsDriver: called by o2iblnd.
  [[nodiscard]] bool post_chain(QueuePairId queue_pair,
                                std::span<const o2iblnd::WorkRequest> chain) override;
  std::size_t post_receives(QueuePairId queue_pair,
                            std::span<const o2iblnd::ReceiveRequest> burst) override;
  [[nodiscard]] Result<o2iblnd::RemoteKey> remote_key(const Fragment& fragment) override {
    return lower_->remote_key(fragment);
  }
  void release(std::uint32_t mapping) override { lower_->release(mapping); }
  void set_mapping(const MapRules& rules) override { lower_->set_mapping(rules); }
  [[nodiscard]] CounterView mapping_counters() const override { return lower_->mapping_counters(); }
  [[nodiscard]] Result<QueuePairId> connect(const o2iblnd::Ipv4Endpoint& local,
                                            const o2iblnd::Ipv4Endpoint& remote,
                                            const o2iblnd::QueuePairSize& size,
                                            const o2iblnd::ConnectParameters& parameters,
                                            std::span<const std::byte> data) override;
  [[nodiscard]] Result<void> listen(const o2iblnd::Ipv4Endpoint& local) override;
  void stop_listening(const o2iblnd::Ipv4Endpoint& local) override;
  [[nodiscard]] Result<void> prepare(QueuePairId request,
                                     const o2iblnd::QueuePairSize& size) override;
  [[nodiscard]] Result<void> accept(QueuePairId request,
                                    const o2iblnd::ConnectParameters& parameters,
                                    std::span<const std::byte> data) override;
  void reject(QueuePairId request, std::span<const std::byte> data) override;
  [[nodiscard]] std::optional<o2iblnd::HandedRequest> give_away(QueuePairId request) override {
    return lower_->give_away(request);
  }
  [[nodiscard]] Result<QueuePairId> take_over(const o2iblnd::HandedRequest& request) override {
    return lower_->take_over(request);
  }
  void turn_down(const o2iblnd::HandedRequest& request) override { lower_->turn_down(request); }
  void to_error(QueuePairId queue_pair) override;
  [[nodiscard]] const o2iblnd::DeviceLimits& limits() const override { return lower_->limits(); }
  [[nodiscard]] CounterView counters() const override { return judge_.counters(); }

  // VerbsEvents: called by the real driver.
  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override;
  void on_connect_request(QueuePairId request, const o2iblnd::Ipv4Endpoint& from,
                          const o2iblnd::Ipv4Endpoint& to,
                          std::span<const std::byte> data) override;
  void on_established(QueuePairId queue_pair, std::span<const std::byte> accept_data) override;
  void on_rejected(QueuePairId queue_pair, o2iblnd::RejectKind kind,
                   std::span<const std::byte> data) override;
  void on_disconnected(QueuePairId queue_pair, Errc cause) override;
  void on_drained(QueuePairId queue_pair) override;
  void on_device(bool usable, Errc cause) override;

 private:
  struct Held {
    o2iblnd::WorkCompletion completion;
    Instant due;
  };
  void deliver(o2iblnd::WorkCompletion completion);
  void deliver_all_held();
  void push(const o2iblnd::WorkCompletion& completion, Instant due);
  [[nodiscard]] bool failed(QueuePairId queue_pair) const;

  o2iblnd::VerbsEvents& up_;
  o2iblnd::VerbsDriver* lower_ = nullptr;
  FaultJudge judge_;
  // One queue for the whole device: completions behind a delayed one wait as well, so the order of
  // each queue pair is kept. A ring.
  std::array<Held, kHeldWorkMax> held_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  Instant stalled_until_ = Instant::min();  // min: not stalled
  std::array<QueuePairId, kFailedPairsMax> failed_{};
  std::size_t failed_count_ = 0;
  Instant now_{};
};

}  // namespace plnet::drivers
