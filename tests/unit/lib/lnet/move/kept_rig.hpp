// SPDX-License-Identifier: BSD-3-Clause
// A router whose clients' LND keeps payloads on request of the test, and whose servers' LND relays
// them.
#pragma once

#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::kept {

inline constexpr std::uint32_t kLength = 5000;
inline const Nid kClient = ForwardRig::client(10);
inline const Nid kServer = ForwardRig::server(20);
inline const Nid kBackup = ForwardRig::server(21);

// The LND's part: a kept payload is not in its target before it is fetched.
class Keeper final : public PayloadKeeper {
 public:
  explicit Keeper(const ArenaTable& arenas) : arenas_(arenas) {}

  void keep(RxHandle rx, const Payload& target) {
    fill(target, [](std::uint32_t) { return std::byte{0xee}; });
    kept_[key(rx)] = target;
  }
  Result<void> bring(RxHandle rx) override {
    EXPECT_FALSE(gone) << "its interface was removed";
    const auto found = kept_.find(key(rx));
    if (found == kept_.end()) return {};
    if (loses) {
      kept_.erase(found);
      return std::unexpected(Errc::kIo);
    }
    fill(found->second, [rx](std::uint32_t at) { return pattern(rx, at); });
    kept_.erase(found);
    ++brought;
    return {};
  }
  [[nodiscard]] const void* family() const override { return this; }
  // Another LND relays it past the buffer.
  void take(RxHandle rx) { EXPECT_EQ(kept_.erase(key(rx)), 1U); }

  [[nodiscard]] bool keeps(RxHandle rx) const { return kept_.contains(key(rx)); }
  // The source contains the payload of that message.
  [[nodiscard]] bool is_whole(const Transmit& transmit, RxHandle rx) const {
    std::uint32_t at = 0;
    bool whole = true;
    for_each_piece(transmit.source, [&](const Fragment& piece) {
      for (const std::byte byte : arenas_.bytes(piece))
        whole = whole && byte == pattern(rx, at++);
    });
    return whole && at == transmit.header.payload_length;
  }

  bool gone = false;
  bool loses = false;
  unsigned brought = 0;

 private:
  static std::uint64_t key(RxHandle rx) {
    return static_cast<std::uint64_t>(rx.index) << 32U | rx.generation;
  }
  static std::byte pattern(RxHandle rx, std::uint32_t at) {
    return static_cast<std::byte>((rx.index * 37 + rx.generation * 101 + at * 7 + (at >> 8U)) &
                                  0xffU);
  }
  template <class ByteAt>
  void fill(const Payload& target, ByteAt&& byte_at) {
    std::uint32_t at = 0;
    for_each_piece(target, [&](const Fragment& piece) {
      for (std::byte& byte : arenas_.bytes(piece))
        byte = byte_at(at++);
    });
  }

  const ArenaTable& arenas_;
  std::map<std::uint64_t, Payload> kept_;
};

struct KeptRig : ForwardRig {
  explicit KeptRig(const ForwardSetup& setup = {}, ShardId home = 0) : ForwardRig(setup) {
    for (const Nid& nid : {kClient, kServer, kBackup})
      node.add_peer(nid, home);
    for (unsigned i = 0; i < node.shards(); ++i) {
      if (core(i).ports[2] != nullptr) out(i).take_kept(true);
    }
    settle();
  }

  // A message arrives that may be kept, and is kept.
  void offer_to_keep(const Nid& to, RxHandle rx) {
    const RxDecision decision = offer(kClient, to, kLength, rx);
    ASSERT_EQ(decision.verdict, RxVerdict::kReceive);
    ASSERT_TRUE(decision.may_keep);
    keeper.keep(rx, decision.target);
  }
  void kept(RxHandle rx) {
    port(kClient).on_kept(rx, keeper);
    settle();
  }
  void keep(const Nid& to, RxHandle rx) {
    offer_to_keep(to, rx);
    kept(rx);
  }
  void expect_kept(std::size_t index, RxHandle rx) {
    ASSERT_GT(out().held.size(), index);
    const Transmit& sent = *out().held[index];
    EXPECT_TRUE(sent.kept);
    const KeptPayload named = port(kServer).kept_payload(sent);
    EXPECT_EQ(named.keeper, &keeper);
    EXPECT_EQ(named.rx, rx);
  }
  void expect_brought(const HeldLnd& lnd, RxHandle rx) {
    ASSERT_EQ(lnd.held.size(), 1U);
    EXPECT_FALSE(lnd.held[0]->kept);
    EXPECT_FALSE(keeper.keeps(rx));
    EXPECT_TRUE(keeper.is_whole(*lnd.held[0], rx));
  }
  void rule(const FaultSpec& spec) {
    ASSERT_TRUE(node.faults().add(spec, now).has_value());
    node.publish_faults();
  }

  Keeper keeper{arenas()};
};

inline constexpr FaultSpec kDelayed{.kind = FaultKind::kDelay, .rate = 1, .latency_s = 3};
inline constexpr FaultSpec kStruck{
    .rate = 1, .health_errors = 1U << static_cast<unsigned>(Health::kLocalDropped)};
inline constexpr Completion kReset{.status = std::unexpected(Errc::kReset),
                                   .health = Health::kRemoteDropped};

}  // namespace plnet::lnet::kept
