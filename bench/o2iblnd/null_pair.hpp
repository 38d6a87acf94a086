// SPDX-License-Identifier: BSD-3-Clause
// Two o2ib LNDs on queue pairs at almost no cost, one thread for both; each with a core that
// receives every message and only chooses its place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/o2iblnd/null_queue_pair.hpp"
#include "lib/o2iblnd/lnd.hpp"
#include "lib/o2iblnd/verbs_relay.hpp"

namespace plnet::bench {

class NullO2ibSide final : public lnet::LndUpcalls {
 public:
  static constexpr std::uint32_t kBulkBytes = 1U << 20U;
  static constexpr std::size_t kTransmits = 256;

  NullO2ibSide(std::uint32_t number, unsigned peer_credits) : transmits_(kTransmits) {
    o2iblnd::O2ibLndConfig config{.nid = nid_of(number),
                                  .incarnation = number + 1,
                                  .arenas = &arenas_,
                                  .peers_max = 4,
                                  .connections_max = 4};
    config.tunables.peer_credits = peer_credits;
    const std::uint64_t base = o2iblnd::message_memory_bytes(config);
    memory_.resize(base + 2ULL * kBulkBytes);
    PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
    config.message_memory = {0, 0};
    source_ = {{0, base}, kBulkBytes};
    sink_ = {{0, base + kBulkBytes}, kBulkBytes};
    driver_ = std::make_unique<NullVerbs>(arenas_, relay_);
    lnd_ = std::make_unique<o2iblnd::O2ibLnd>(config, *this, *driver_);
    relay_.attach(*lnd_);
    link_.nid = nid_of(1 - number);
    for (lnet::Transmit& transmit : transmits_) {
      transmit.next_hop = &link_;
      transmit.header = {.destination = nid_of(1 - number), .source = nid_of(number)};
      free_.push_back(&transmit);
    }
  }
  void join(NullO2ibSide& other) { driver_->join(*other.driver_); }

  // Sends up to `count` messages of this type and length; fewer if not enough are free.
  std::size_t send(std::size_t count, lnet::MessageType type, std::uint32_t length) {
    count = std::min(count, free_.size());
    const std::span<lnet::Transmit*> burst(free_.data() + free_.size() - count, count);
    for (lnet::Transmit* const transmit : burst) {
      transmit->header.type = type;
      transmit->source = transmit->sink = {};
      if (type == lnet::MessageType::kGet) {
        transmit->header.payload_length = 0;
        transmit->header.set_area(lnet::GetArea{.sink_length = length});
        transmit->sink = {{&sink_, 1}, 0, length};
      } else {
        transmit->header.payload_length = length;
        transmit->header.set_area(lnet::PutArea{});
        transmit->source = {{&source_, 1}, 0, length};
      }
    }
    const std::size_t taken = lnd_->send(burst);
    // The accepted ones are the front of the burst.
    std::ranges::rotate(burst, burst.begin() + static_cast<std::ptrdiff_t>(taken));
    free_.resize(free_.size() - taken);
    return taken;
  }
  unsigned turn(Instant now) {
    const unsigned work = driver_->poll();
    for (const lnet::RxHandle rx : parked_)
      lnd_->resume(rx, decision_);
    parked_.clear();
    return work + lnd_->flush(now);
  }

  lnet::RxDecision on_header(const lnet::RxOffer& offer) override {
    ++headers;
    decision_ = {.verdict = lnet::RxVerdict::kReceive,
                 .target = {{offer.reply_by_lnd ? &source_ : &sink_, 1}, 0, kBulkBytes},
                 .length = offer.reply_by_lnd ? offer.header.area<lnet::GetArea>().sink_length
                                              : offer.header.payload_length};
    if (drops) decision_ = {.verdict = lnet::RxVerdict::kDrop};
    if (!parks) return decision_;
    parked_.push_back(offer.rx);
    return {.verdict = lnet::RxVerdict::kPark};
  }
  void on_received(lnet::RxHandle /*rx*/, Result<void> status, Health /*health*/) override {
    (status ? received : failed) += 1;
  }
  void on_sent(std::span<const lnet::Completion> burst) override {
    for (const lnet::Completion& one : burst) {
      (one.status ? sent : failed) += 1;
      free_.push_back(one.transmit);
    }
  }
  void on_parked_gone(lnet::RxHandle, Errc) override {}
  void on_quarantine_over(lnet::Transmit&) override {}
  void on_lane(lnet::PeerLink&, lnet::LaneId, bool, bool) override {}
  void on_peer(const lnet::Nid&, lnet::PeerNotice, Instant) override {}
  void on_peer_released(lnet::PeerLink&) override {}
  void on_interface(lnet::InterfaceState, Errc) override {}

  [[nodiscard]] o2iblnd::O2ibLnd& lnd() { return *lnd_; }
  [[nodiscard]] NullVerbs& driver() { return *driver_; }
  [[nodiscard]] std::size_t free_transmits() const { return free_.size(); }
  void reserve() {
    parked_.reserve(1024);
    free_.reserve(kTransmits);
  }

  std::uint64_t headers = 0, received = 0, sent = 0, failed = 0;
  bool parks = false;
  bool drops = false;

 private:
  static lnet::Nid nid_of(std::uint32_t number) {
    return lnet::Nid::of(lnet::NetType::kO2ib, 0, 0x0a00'0001 + number);
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  o2iblnd::VerbsRelay relay_;
  std::unique_ptr<NullVerbs> driver_;
  std::unique_ptr<o2iblnd::O2ibLnd> lnd_;
  lnet::PeerLink link_;
  Fragment source_, sink_;
  std::vector<lnet::Transmit> transmits_;
  std::vector<lnet::Transmit*> free_;
  std::vector<lnet::RxHandle> parked_;
  lnet::RxDecision decision_;
};

class NullO2ibPair {
 public:
  explicit NullO2ibPair(unsigned peer_credits = 8) : a(0, peer_credits), b(1, peer_credits) {
    a.join(b);
    b.join(a);
    a.reserve();
    b.reserve();
  }
  unsigned turn() {
    now += std::chrono::microseconds(10);
    return a.turn(now) + b.turn(now);
  }
  // Turns until everything that was sent has ended on both sides.
  void settle() {
    for (unsigned i = 0; i < kTurnsMax; ++i) {
      if (turn() == 0 && a.lnd().idle() && b.lnd().idle()) return;
    }
    PLNET_CHECK(false, "what was sent ends");
  }

  NullO2ibSide a;
  NullO2ibSide b;
  Instant now{};

 private:
  static constexpr unsigned kTurnsMax = 1'000'000;
};

}  // namespace plnet::bench
