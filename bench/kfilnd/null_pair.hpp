// SPDX-License-Identifier: BSD-3-Clause
// Two kfi LNDs on a fabric at almost no cost, one thread for both; each with a core that receives
// every message and only chooses its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/kfilnd/null_fabric.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"

namespace plnet::bench {

class NullSide final : public lnet::LndUpcalls {
 public:
  static constexpr std::uint32_t kNic = 0x100;
  static constexpr std::uint32_t kReceiveBytes = 2U << 20U;  // of each receive buffer
  static constexpr std::uint32_t kBulkBytes = 1U << 16U;
  static constexpr std::size_t kTransmits = 256;

  explicit NullSide(std::uint32_t number)
      : memory_(std::uint64_t{kReceiveBytes} * kBuffers + 2ULL * kBulkBytes),
        transmits_(kTransmits) {
    PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
    const std::uint64_t base = std::uint64_t{kReceiveBytes} * kBuffers;
    source_ = {{0, base}, kBulkBytes};
    sink_ = {{0, base + kBulkBytes}, kBulkBytes};
    endpoint_ = std::make_unique<NullEndpoint>(arenas_, relay_);
    lnd_ = std::make_unique<kfilnd::KfiLnd>(
        kfilnd::KfiLndConfig{.nid = nid_of(number),
                             .arenas = &arenas_,
                             .receive_memory = {{0, 0}, kReceiveBytes * kBuffers}},
        *this, *endpoint_);
    relay_.attach(*lnd_);
    link_.nid = nid_of(1 - number);
    for (lnet::Transmit& transmit : transmits_) {
      transmit.next_hop = &link_;
      transmit.header = {.destination = nid_of(1 - number), .source = nid_of(number)};
      free_.push_back(&transmit);
    }
  }
  void connect(NullSide& other) { endpoint_->connect(*other.endpoint_); }

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
    const unsigned work = endpoint_->poll();
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

  [[nodiscard]] kfilnd::KfiLnd& lnd() { return *lnd_; }
  [[nodiscard]] NullEndpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] std::size_t free_transmits() const { return free_.size(); }
  void reserve() {
    parked_.reserve(1024);
    free_.reserve(kTransmits);
  }

  std::uint64_t headers = 0, received = 0, sent = 0, failed = 0;
  bool parks = false;
  bool drops = false;

 private:
  static constexpr std::uint32_t kBuffers = 8;

  static lnet::Nid nid_of(std::uint32_t number) {
    return lnet::Nid::of(lnet::NetType::kKfi, 0, kNic + number);
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  kfilnd::EndpointRelay relay_;
  std::unique_ptr<NullEndpoint> endpoint_;
  std::unique_ptr<kfilnd::KfiLnd> lnd_;
  lnet::PeerLink link_;
  Fragment source_, sink_;
  std::vector<lnet::Transmit> transmits_;
  std::vector<lnet::Transmit*> free_;
  std::vector<lnet::RxHandle> parked_;
  lnet::RxDecision decision_;
};

class NullPair {
 public:
  NullPair() {
    a.connect(b);
    b.connect(a);
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

  NullSide a{0};
  NullSide b{1};
  Instant now{};

 private:
  static constexpr unsigned kTurnsMax = 1'000'000;
};

}  // namespace plnet::bench
