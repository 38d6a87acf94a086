// SPDX-License-Identifier: BSD-3-Clause
// A router under random events: each message ends once, and all credits return.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_random_test {
namespace {

constexpr std::uint32_t kClients = 3;
constexpr std::uint32_t kServers = 4;
constexpr unsigned kSteps = 1500;

class Chaos {
 public:
  Chaos(std::uint64_t seed, unsigned shards)
      : random_(seed),
        rig_({.shards = shards,
              .buffers = {{3, 4, 2}},
              .tunables = {.peer_credits = 2, .peer_buffer_credits = 3},
              .messages = 8,
              .receives = 32}) {}

  void run() {
    for (unsigned i = 0; i < kSteps; ++i) {
      step();
      rig_.node.turn(rig_.now += std::chrono::microseconds(1));
      collect();
      check_shares();
    }
    drain();
    EXPECT_GT(rig_.statistic(Statistic::kRouteCount), 0U);
    for (const Cause each : {Cause::kHeldClientCredit, Cause::kHeldHopShare, Cause::kDroppedHopDown,
                             Cause::kForwardFailed, Cause::kDroppedConnectionLost}) {
      EXPECT_GT(rig_.cause(each), 0U) << "nothing was tried: " << static_cast<int>(each);
    }
    EXPECT_EQ(rig_.statistic(Statistic::kRouteCount) + rig_.cause(Cause::kForwardFailed), stored_);
    rig_.expect_conserved();
  }

 private:
  enum class State { kParked, kReceiving };
  struct Offered {
    RxHandle rx;
    State state;
    unsigned shard;
    Nid from;
  };

  std::uint32_t draw(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  Nid any_server() { return ForwardRig::server(20 + draw(kServers)); }
  Nid any_client() { return ForwardRig::client(10 + draw(kClients)); }
  unsigned any_shard() { return draw(rig_.node.shards()); }

  void step() {
    switch (draw(16)) {
      case 0: return lose_one();
      case 1: return notice();
      case 2:
        if (draw(8) == 0) rig_.node.delete_peer(any_server());
        return;
      case 3:
        if (draw(8) == 0) rig_.node.delete_peer(any_client());
        return;
      case 4:
        if (draw(8) == 0) rig_.pass(std::chrono::seconds(3));
        return collect();
      case 5:
      case 6:
      case 7: return finish_one();
      case 8:
      case 9:
      case 10: return send_one();
      default: return offer_one();
    }
  }

  void offer_one() {
    constexpr std::array<std::uint32_t, 4> kLengths{0, 1, 4096, 5000};
    if (offered_.size() >= 24) return;
    const RxHandle rx{next_++ % 32, ++generation_};
    for (const Offered& each : offered_) {
      if (each.rx.index == rx.index) return;
    }
    const unsigned shard = any_shard();
    const Nid from = any_client();
    const RxDecision decision =
        rig_.offer(from, any_server(), kLengths[draw(4)], rx, MessageType::kPut, shard);
    if (decision.verdict == RxVerdict::kPark) {
      offered_.push_back({rx, State::kParked, shard, from});
    } else if (decision.verdict == RxVerdict::kReceive) {
      offered_.push_back({rx, State::kReceiving, shard, from});
    }
  }
  // Collects decisions about parked messages.
  void collect() {
    for (unsigned shard = 0; shard < rig_.node.shards(); ++shard) {
      for (const auto& [rx, decision] : std::exchange(rig_.in(shard).resumed, {})) {
        const auto found = std::ranges::find(offered_, rx, &Offered::rx);
        ASSERT_NE(found, offered_.end()) << "decided twice, or after it was gone";
        ASSERT_EQ(found->state, State::kParked);
        if (decision.verdict == RxVerdict::kReceive) {
          found->state = State::kReceiving;
        } else {
          offered_.erase(found);
        }
      }
    }
  }
  void finish_one() {
    if (offered_.empty()) return;
    const auto one = offered_.begin() + draw(static_cast<std::uint32_t>(offered_.size()));
    if (one->state != State::kReceiving) return;
    const bool fails = draw(10) == 0;
    const Offered done = *one;
    offered_.erase(one);
    if (!fails) ++stored_;
    rig_.received(done.from, done.rx,
                  fails ? Result<void>(std::unexpected(Errc::kReset)) : Result<void>(), done.shard);
  }
  void lose_one() {
    if (offered_.empty()) return;
    const auto one = offered_.begin() + draw(static_cast<std::uint32_t>(offered_.size()));
    if (one->state != State::kParked) return;
    const Offered lost = *one;
    offered_.erase(one);
    rig_.port(lost.from, lost.shard).on_parked_gone(lost.rx, Errc::kReset);
  }
  void send_one() {
    HeldLnd& out = rig_.out(any_shard());
    if (out.held.empty()) return;
    const std::size_t index = draw(static_cast<std::uint32_t>(out.held.size()));
    if (draw(6) == 0) {
      out.end(index, {.status = std::unexpected(Errc::kReset), .health = Health::kRemoteDropped});
    } else {
      out.end(index);
    }
  }
  void notice() {
    const Nid server = any_server();
    const auto what = draw(3) == 0 ? PeerNotice::kDown : PeerNotice::kAlive;
    rig_.port(server, any_shard()).on_peer(server, what, rig_.now);
  }
  // No hop has more than its share: fewer buffers than were free when it took the last one.
  void check_shares() {
    for (unsigned shard = 0; shard < rig_.node.shards(); ++shard) {
      ShardCore& core = rig_.core(shard);
      BufferCounts held;
      core.peers.for_each([&](PeerPort& peer) {
        for (const BufferClass each : kAllBufferClasses)
          held[each] += peer.hop.queues[each].held;
        EXPECT_LE(peer.client.credits, peer.client.credits_max);
      });
      for (const BufferClass each : kAllBufferClasses)
        EXPECT_LE(held[each], core.buffers.total(each) - core.buffers.free_count(each));
    }
  }
  void drain() {
    for (std::uint32_t i = 0; i < kServers; ++i) {
      const Nid server = ForwardRig::server(20 + i);
      rig_.port(server).on_peer(server, PeerNotice::kAlive, rig_.now);
    }
    for (unsigned round = 0; round < 400; ++round) {
      rig_.settle();
      collect();
      for (unsigned shard = 0; shard < rig_.node.shards(); ++shard) {
        while (!rig_.out(shard).held.empty())
          rig_.out(shard).end(0);
      }
      for (std::size_t i = 0; i < offered_.size();) {
        if (offered_[i].state != State::kReceiving) {
          ++i;
          continue;
        }
        const Offered done = offered_[i];
        offered_.erase(offered_.begin() + static_cast<std::ptrdiff_t>(i));
        ++stored_;
        rig_.received(done.from, done.rx, {}, done.shard);
      }
      bool held = false;
      for (unsigned shard = 0; shard < rig_.node.shards(); ++shard)
        held = held || rig_.core(shard).buffers.held() > 0;
      if (offered_.empty() && rig_.node.quiet() && !held) break;
    }
    rig_.settle();
    EXPECT_TRUE(offered_.empty()) << "something waits for ever";
  }

  Random random_;
  ForwardRig rig_;
  std::vector<Offered> offered_;
  std::uint32_t next_ = 0;
  std::uint32_t generation_ = 0;
  std::uint64_t stored_ = 0;  // complete payloads
};

TEST(ForwardRandom, EachMessageEndsOnceAndAllComesHome) {
  for (const unsigned shards : {1U, 2U, 4U}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const testing::ScopedTrace where(__FILE__, __LINE__,
                                       testing::Message() << shards << " shards, seed " << seed);
      Chaos(seed, shards).run();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace plnet::lnet::forward_random_test
