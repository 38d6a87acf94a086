// SPDX-License-Identifier: BSD-3-Clause
// Two LNDs of a router on one scripted driver, and a core that keeps messages received by one and
// forwards them by the other on request of the test.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd {

inline Bytes pattern(std::size_t number, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>(1 + (i * 31 + i / 251 + number * 17) % 250);  // never 0
  return bytes;
}

// Receives messages in buffers of three fragments that are not adjacent.
class KeepingCore final : public lnet::LndUpcalls {
 public:
  static constexpr std::uint32_t kSlots = 8;
  static constexpr std::uint32_t kSlotBytes = 32U << 10U;
  static constexpr std::uint32_t kFirst = 5000;

  struct In {
    lnet::MessageHeader header;
    lnet::RxHandle rx;
    lnet::Payload target;
    lnet::PayloadKeeper* keeper = nullptr;
    unsigned kept = 0;
    unsigned received = 0;
    bool failed = false;
    bool lost = false;
  };
  struct Out {
    lnet::Transmit transmit;
    std::size_t in = 0;
    unsigned ended = 0;
    Result<void> status;
  };

  KeepingCore() : memory_(std::size_t{kSlots} * kSlotBytes) {
    const auto arena = arenas.add({.base = memory_.data(), .size = memory_.size()}).value();
    for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t at = slot * kSlotBytes;
      fragments_[slot] = {Fragment{{arena, at + 16384}, kFirst}, Fragment{{arena, at + 100}, 1},
                          Fragment{{arena, at + 200}, 16000}};
    }
  }
  // The buffer of the n-th message.
  [[nodiscard]] Bytes target_of(std::size_t number) const {
    Bytes bytes;
    lnet::for_each_piece(in[number].target, [&](const Fragment& piece) {
      const auto here = arenas.bytes(piece);
      bytes.insert(bytes.end(), here.begin(), here.end());
    });
    return bytes;
  }
  Out& make_forward(std::size_t number, lnet::PeerLink& next_hop) {
    Out& made = out.emplace_back();
    made.in = number;
    made.transmit.header = in[number].header;
    made.transmit.next_hop = &next_hop;
    made.transmit.routed = true;
    made.transmit.kept = in[number].keeper != nullptr;
    made.transmit.core_state = static_cast<std::uint32_t>(out.size() - 1);
    made.transmit.source = in[number].target;
    return made;
  }
  [[nodiscard]] lnet::RxDecision decision_of(std::size_t number) const {
    const lnet::Payload& target = in[number].target;
    return {.verdict = lnet::RxVerdict::kReceive,
            .target = target,
            .length = target.length,
            .may_keep = may_keep};
  }

  lnet::RxDecision on_header(const lnet::RxOffer& offer) override {
    const std::size_t number = in.size();
    auto& fragments = fragments_[number % kSlots];
    for (const Fragment& fragment : fragments)
      std::ranges::fill(arenas.bytes(fragment), std::byte{});
    const std::uint32_t length =
        offer.header.payload_length - std::min(slop, offer.header.payload_length);
    in.push_back({.header = offer.header,
                  .rx = offer.rx,
                  .target = {.fragments = fragments, .length = length}});
    if (park) return {.verdict = lnet::RxVerdict::kPark};
    return decision_of(number);
  }
  void on_received(lnet::RxHandle rx, Result<void> status, Health) override {
    In& message = find(rx);
    ++message.received;
    message.failed = !status;
  }
  void on_kept(lnet::RxHandle rx, lnet::PayloadKeeper& keeper) override {
    In& message = find(rx);
    EXPECT_EQ(message.received + message.kept, 0U);
    ++message.kept;
    message.keeper = &keeper;
    if (bring_at_once) (void)keeper.bring(rx);
  }
  void on_kept_lost(lnet::RxHandle rx) override { find(rx).lost = true; }
  lnet::KeptPayload kept_payload(const lnet::Transmit& transmit) const override {
    const In& message = in[out[transmit.core_state].in];
    return {.keeper = stranger != nullptr ? stranger : message.keeper,
            .rx = message.rx,
            .lost = message.lost};
  }
  // Like a router's core: all kept payload is fetched before the buffer is reused.
  void on_sent(std::span<const lnet::Completion> burst) override {
    for (const lnet::Completion& completion : burst) {
      Out& message = out[completion.transmit->core_state];
      ++message.ended;
      message.status = completion.status;
      const In& source = in[message.in];
      if (source.keeper != nullptr) (void)source.keeper->bring(source.rx);
    }
  }
  void on_parked_gone(lnet::RxHandle, Errc) override {}
  void on_quarantine_over(lnet::Transmit&) override {}
  void on_lane(lnet::PeerLink&, lnet::LaneId, bool, bool) override {}
  void on_peer(const lnet::Nid&, lnet::PeerNotice, Instant) override {}
  void on_peer_released(lnet::PeerLink&) override { ++released; }
  void on_interface(lnet::InterfaceState, Errc) override {}

  ArenaTable arenas;
  std::deque<In> in;
  std::deque<Out> out;
  bool may_keep = true;
  bool bring_at_once = false;
  bool park = false;
  std::uint32_t slop = 0;
  unsigned released = 0;
  lnet::PayloadKeeper* stranger = nullptr;  // the keeper that kept_payload() returns instead

 private:
  In& find(lnet::RxHandle rx) {
    const auto at = std::ranges::find(in.rbegin(), in.rend(), rx, &In::rx);
    PLNET_CHECK(at != in.rend(), "only of what was offered");
    return *at;
  }

  std::vector<std::byte> memory_;
  std::array<std::array<Fragment, 3>, kSlots> fragments_{};
};

class KeepingSite : public testing::Test {
 protected:
  using Id = SockLndCounters::Id;
  static constexpr std::uint32_t kLength = 20'000;
  static constexpr std::uint32_t kLeast = 4096;
  static constexpr std::size_t kRead = 1000;
  static constexpr std::uint64_t kCookie = 0x4711;
  static constexpr std::size_t kHead = kFrameBytes + lnet::kHeaderNid4Bytes;

  KeepingSite() : switch_(64), driver(switch_) {
    switch_.set_driver(driver);
    driver.relays = true;
    driver.read_bytes_max = kRead;
    near = make_lnd(near_nid);
    far = make_lnd(far_nid);
    sender_link.nid = sender;
    hop_link.nid = hop;
  }
  // Everything is returned except messages that a test left kept or queued, which end here.
  ~KeepingSite() override {
    near->shut_down();
    far->shut_down();
    for (unsigned i = 0; i < 3; ++i)
      turn();
    EXPECT_TRUE(near->idle());
    EXPECT_TRUE(far->idle());
    for (const KeepingCore::Out& message : core.out)
      EXPECT_EQ(message.ended, 1U);
    for (const KeepingCore::In& message : core.in)
      EXPECT_EQ(message.kept + message.received, 1U);
  }
  [[nodiscard]] std::unique_ptr<SockLnd> make_lnd(const lnet::Nid& nid,
                                                  std::uint32_t least = kLeast,
                                                  const Tunables& tunables = {}) {
    SockLndConfig config{.nid = nid,
                         .arenas = &core.arenas,
                         .tunables = tunables,
                         .peers_max = 4,
                         .connections_max = 4,
                         .relay_bytes_min = least};
    config.start = now;
    return std::make_unique<SockLnd>(config, core, switch_);
  }
  void flush() {
    now += std::chrono::milliseconds(1);
    (far_first ? far : near)->flush(now);
    (far_first ? near : far)->flush(now);
  }
  void turn() {
    driver.serve_all();
    flush();
  }
  std::uint32_t arrive(SockLnd& lnd, ConnectionType type, Protocol protocol = Protocol::kV3) {
    const bool is_near = &lnd == near.get();
    Arrival arrival{
        .local = is_near ? near_nid : far_nid, .peer = {is_near ? sender : hop}, .type = type};
    arrival.hello = {.protocol = protocol, .source = arrival.peer.nid, .source_incarnation = 7};
    lnd.accept(arrival);
    flush();
    const auto index = static_cast<std::uint32_t>(driver.streams.size() - 1);
    EXPECT_EQ(driver.at(index).written.size(), hello_bytes(protocol));
    driver.at(index).written.clear();
    return index;
  }
  // A message to a node behind this one.
  [[nodiscard]] Bytes message(std::size_t number, std::uint32_t length,
                              std::uint64_t cookie = 0) const {
    Bytes out = head(length, cookie);
    const Bytes payload = pattern(number, length);
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
  }
  [[nodiscard]] Bytes head(std::uint32_t length, std::uint64_t cookie = 0) const {
    const lnet::MessageHeader header{.destination = hop,
                                     .source = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000009),
                                     .type = lnet::MessageType::kPut,
                                     .payload_length = length};
    Bytes out(kHead);
    encode_frame({.type = kFrameLnet, .cookies = {cookie, 0}}, std::span(out).first<kFrameBytes>());
    EXPECT_TRUE(
        encode_header_nid4(header, std::span(out).subspan<kFrameBytes, lnet::kHeaderNid4Bytes>()));
    return out;
  }
  [[nodiscard]] static Bytes noop(std::uint64_t cookie) {
    Bytes out(kFrameBytes);
    encode_frame({.type = kFrameNoop, .cookies = {0, cookie}}, std::span(out).first<kFrameBytes>());
    return out;
  }
  // The usual preparation: both peers are connected, and a message has arrived completely and is
  // kept.
  void keep_one(std::uint64_t cookie = 0) {
    connect();
    driver.bring(from, message(core.in.size(), kLength, cookie));
    ASSERT_EQ(core.in.back().kept, 1U);
    EXPECT_EQ(near->idle(), core.bring_at_once);
  }
  void connect() {
    if (!driver.streams.empty()) return;
    from = arrive(*near, ConnectionType::kBulkIn);
    to = arrive(*far, ConnectionType::kBulkOut);
  }
  KeepingCore::Out& forward(std::size_t number) {
    KeepingCore::Out& made = core.make_forward(number, hop_link);
    lnet::Transmit* const transmit = &made.transmit;
    EXPECT_EQ(far->send({&transmit, 1}), 1U);
    return made;
  }
  // The bytes read before it was kept are there, and not one more.
  [[nodiscard]] bool is_still_away(std::size_t number) const {
    Bytes expected = pattern(number, kLength);
    std::ranges::fill(expected.begin() + (kRead - kHead), expected.end(), std::byte{});
    return core.target_of(number) == expected;
  }
  [[nodiscard]] bool is_there(std::size_t number) const {
    return core.target_of(number) == pattern(number, core.in[number].target.length);
  }
  // The connection that received it continues at the right byte, and no message is pending.
  void expect_goes_on() {
    expect_goes_on_here();
    EXPECT_TRUE(far->idle());
  }
  void expect_goes_on_here() {
    const std::size_t number = core.in.size();
    driver.bring(from, message(number, 300));
    turn();
    ASSERT_EQ(core.in.size(), number + 1);
    EXPECT_EQ(core.in.back().received, 1U);
    EXPECT_TRUE(is_there(number));
    EXPECT_TRUE(near->idle());
    EXPECT_NE(near->next_deadline(), Instant::min());
  }
  // The kept second message was sent after these bytes, from its buffer.
  void expect_brought_behind(Bytes expected) {
    const Bytes second = message(1, kLength);
    expected.insert(expected.end(), second.begin(), second.end());
    EXPECT_EQ(driver.at(to).written, expected);
    expect_goes_on();
    expect_counts(0, 1);
  }
  void expect_counts(std::uint64_t relayed, std::uint64_t brought) const {
    EXPECT_EQ(far->count(Id::kRelayed), relayed);
    EXPECT_EQ(near->count(Id::kBrought), brought);
    EXPECT_EQ(near->count(Id::kRelayed) + far->count(Id::kBrought), 0U);
  }

  const lnet::Nid near_nid = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000001);
  const lnet::Nid sender = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000002);
  const lnet::Nid far_nid = lnet::Nid::of(lnet::NetType::kTcp, 1, 0x0a010001);
  const lnet::Nid hop = lnet::Nid::of(lnet::NetType::kTcp, 1, 0x0a010002);
  Instant now = Instant{} + std::chrono::hours(1);
  bool far_first = false;
  std::uint32_t from = 0;  // the stream of incoming messages
  std::uint32_t to = 0;    // the stream to the next hop
  KeepingCore core;
  lnet::PeerLink sender_link;
  lnet::PeerLink hop_link;

 private:
  StreamSwitch switch_;

 protected:
  ScriptedStreams driver;
  std::unique_ptr<SockLnd> near;
  std::unique_ptr<SockLnd> far;
};

}  // namespace plnet::socklnd
