// SPDX-License-Identifier: BSD-3-Clause
// Messages in and out, connections that are opened and closed, parked messages, acknowledgements
// and kept payloads allocate nothing.
#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd {
namespace {

using lnet::Nid;
using testrig::heap_calls_of;
using testrig::HeapCalls;

// Parks every third message, drops every fourth, and counts.
class PlainCore final : public lnet::LndUpcalls {
 public:
  explicit PlainCore(const lnet::Payload& target) : target_(target) {}

  lnet::RxDecision on_header(const lnet::RxOffer& offer) override {
    ++offered;
    if (offered % 3 == 0) {
      parked = offer.rx;
      parked_length = offer.header.payload_length;
      has_parked = true;
      return {.verdict = lnet::RxVerdict::kPark};
    }
    if (offered % 4 == 0) return {.verdict = lnet::RxVerdict::kDrop};
    return receive(offer.header.payload_length);
  }
  [[nodiscard]] lnet::RxDecision receive(std::uint32_t length) const {
    return {.verdict = lnet::RxVerdict::kReceive,
            .target = target_,
            .length = length,
            .may_keep = may_keep};
  }
  // Fetches the first, and leaves the others to the LND.
  void on_kept(lnet::RxHandle rx, lnet::PayloadKeeper& keeper) override {
    if (kept++ == 0) (void)keeper.bring(rx);
  }
  void on_received(lnet::RxHandle, Result<void>, Health) override { ++received; }
  void on_sent(std::span<const lnet::Completion> burst) override { sent += burst.size(); }
  void on_parked_gone(lnet::RxHandle, Errc) override { has_parked = false; }
  void on_quarantine_over(lnet::Transmit&) override {}
  void on_lane(lnet::PeerLink&, lnet::LaneId, bool, bool) override {}
  void on_peer(const Nid&, lnet::PeerNotice, Instant) override {}
  void on_peer_released(lnet::PeerLink&) override {}
  void on_interface(lnet::InterfaceState, Errc) override {}

  std::uint64_t offered = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  lnet::RxHandle parked;
  std::uint32_t parked_length = 0;
  bool has_parked = false;
  bool may_keep = false;
  std::uint64_t kept = 0;

 private:
  const lnet::Payload target_;
};

class SocklndNoAllocation : public testing::Test {
 protected:
  static constexpr std::uint32_t kLength = 2000;

  SocklndNoAllocation() : memory_(2 * std::size_t{kLength}), switch_(64), driver(switch_) {
    const auto arena = arenas_.add({.base = memory_.data(), .size = memory_.size()});
    fragments_[0] = {{arena.value(), 0}, kLength};
    fragments_[1] = {{arena.value(), kLength}, kLength};
    switch_.set_driver(driver);
    core = std::make_unique<PlainCore>(
        lnet::Payload{.fragments = std::span(fragments_).first(1), .length = kLength});
    SockLndConfig config{.nid = ours, .arenas = &arenas_, .relay_bytes_min = 1};
    config.tunables.enable_csum = 1;
    lnd = std::make_unique<SockLnd>(config, *core, switch_);
    link.nid = peer;
    driver.streams.reserve(1000);
    for (auto& transmit : transmits) {
      transmit.header = {.destination = peer,
                         .source = ours,
                         .type = lnet::MessageType::kPut,
                         .payload_length = kLength};
      transmit.next_hop = &link;
      transmit.source = {.fragments = std::span(fragments_).subspan(1), .length = kLength};
    }
    const lnet::MessageHeader header{.destination = ours,
                                     .source = peer,
                                     .type = lnet::MessageType::kPut,
                                     .payload_length = kLength};
    encode_frame({.type = kFrameLnet, .cookies = {42, 0}}, std::span(in).first<kFrameBytes>());
    EXPECT_TRUE(
        encode_header_nid4(header, std::span(in).subspan<kFrameBytes, lnet::kHeaderNid4Bytes>()));
  }
  void turn() {
    now += std::chrono::milliseconds(1);
    lnd->flush(now);
  }
  // Returns the stream's index.
  std::uint32_t arrive(ConnectionType type, Protocol protocol) {
    Arrival arrival{.local = ours, .peer = {peer}, .type = type};
    arrival.hello = {.protocol = protocol, .source = peer, .source_incarnation = 7};
    lnd->accept(arrival);
    turn();
    return static_cast<std::uint32_t>(driver.streams.size() - 1);
  }
  void converse(std::uint32_t control, std::uint32_t bulk) {
    std::array<lnet::Transmit*, 8> burst{};
    for (std::size_t i = 0; i < burst.size(); ++i)
      burst[i] = &transmits[i];
    EXPECT_EQ(lnd->send(burst), burst.size());
    for (const auto stream : {control, bulk}) {
      const std::size_t used = driver.say(stream, in);
      turn();
      if (core->has_parked) {
        core->has_parked = false;
        lnd->resume(core->parked, core->receive(core->parked_length));
        turn();
      }
      if (used < in.size()) driver.say(stream, std::span(in).subspan(used));
      turn();
    }
    for (const auto stream : {control, bulk})
      driver.at(stream).written.clear();
  }

  const Nid ours = Nid::of(lnet::NetType::kTcp, 0, 0x0a000001);
  const Nid peer = Nid::of(lnet::NetType::kTcp, 0, 0x0a000002);
  Instant now{};

 private:
  std::vector<std::byte> memory_;
  std::array<Fragment, 2> fragments_{};
  ArenaTable arenas_;
  StreamSwitch switch_;

 protected:
  ScriptedStreams driver;
  std::unique_ptr<PlainCore> core;
  std::unique_ptr<SockLnd> lnd;
  lnet::PeerLink link;
  std::array<lnet::Transmit, 8> transmits{};
  std::array<std::byte, kFrameBytes + lnet::kHeaderNid4Bytes + kLength> in{};
};

TEST_F(SocklndNoAllocation, TheOperatorsAreCounted) {
  std::unique_ptr<Bytes> kept;  // a compiler may remove an unused allocation
  EXPECT_GT(heap_calls_of([&] { kept = std::make_unique<Bytes>(10); }).news, 0U);
}

TEST_F(SocklndNoAllocation, MessagesBothWaysCostNoHeap) {
  for (const Protocol protocol : {Protocol::kV3, Protocol::kV2}) {
    const auto control = arrive(ConnectionType::kControl, protocol);
    const auto bulk = arrive(ConnectionType::kBulkOut, protocol);
    for (const auto stream : {control, bulk})
      driver.at(stream).written.reserve(1U << 20U);
    const std::uint64_t before = core->received;
    const HeapCalls calls = heap_calls_of([&] {
      for (unsigned i = 0; i < 300; ++i)
        converse(control, bulk);
    });
    EXPECT_EQ(calls, HeapCalls{});
    EXPECT_GT(core->received - before, 400U);
    driver.end(control, Errc::kReset);
    turn();
    driver.report_closed();
    turn();
  }
  EXPECT_EQ(core->sent, 2U * 300 * 8);
}

TEST_F(SocklndNoAllocation, PayloadsThatAreKeptCostNoHeap) {
  const auto stream = arrive(ConnectionType::kBulkIn, Protocol::kV3);
  driver.relays = true;
  driver.read_bytes_max = 0;  // the script stages bytes, which would allocate
  driver.at(stream).written.reserve(1U << 20U);
  driver.at(stream).inbox.reserve(2 * in.size());
  constexpr std::size_t kHead = kFrameBytes + lnet::kHeaderNid4Bytes;
  core->may_keep = true;
  const HeapCalls calls = heap_calls_of([&] {
    for (unsigned i = 0; i < 1000; ++i) {  // fewer in a turn than acknowledgements that may wait
      core->offered = 0;                   // neither parked nor dropped
      driver.say(stream, std::span(in).first(kHead));
      core->kept = i % 20 == 0 ? 1 : 0;
      driver.bring(stream, std::span(in).subspan(kHead));
      if (i % 20 > 0) continue;
      turn();
      turn();
    }
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_EQ(lnd->count(SockLndCounters::Id::kBrought), 1000U);
  EXPECT_TRUE(lnd->idle());
}

TEST_F(SocklndNoAllocation, ConnectionsThatComeAndGoCostNoHeap) {
  (void)arrive(ConnectionType::kControl, Protocol::kV3);
  driver.end(0, Errc::kClosed);
  turn();
  // The script's own records of a stream do not count.
  driver.keep_nothing = true;
  const HeapCalls calls = heap_calls_of([&] {
    for (unsigned i = 0; i < 300; ++i) {
      const auto stream = arrive(ConnectionType::kControl, Protocol::kV3);
      driver.end(stream, Errc::kClosed);
      turn();
    }
  });
  EXPECT_EQ(calls, HeapCalls{});
}

}  // namespace
}  // namespace plnet::socklnd
