// SPDX-License-Identifier: BSD-3-Clause
// The loss that a dead or slow server causes for others, in simulated time.
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_fairness_test {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(20);
constexpr Duration kRun = std::chrono::seconds(200);
constexpr Duration kLndTimeout = std::chrono::seconds(50);
constexpr std::uint32_t kLive = 20;
constexpr std::uint32_t kLame = 21;
constexpr unsigned kServedInTick = 4;

// Each connection always has a message to send to its server.
struct Line {
  Nid client;
  Nid server;
  bool parked = false;
};

class Race {
 public:
  // `lame_tick`: the lame server accepts one message in this many ticks; 0: none, and its LND gives
  // up after its timeout.
  Race(std::vector<Line> lines, unsigned lame_tick)
      : rig_({.buffers = {{8, 8, 64}}, .messages = 256, .receives = 256}),
        lines_(std::move(lines)),
        lame_tick_(lame_tick) {
    for (const Line& line : lines_) {
      rig_.node.add_peer(line.client, ShardId{0});
      rig_.node.add_peer(line.server, ShardId{0});
    }
    rig_.settle();
  }

  // The number of messages that the live server accepted.
  std::uint64_t run() {
    const Instant end = rig_.now + kRun;
    for (unsigned tick = 0; rig_.now < end; ++tick) {
      rig_.now += kTick;
      for (std::uint32_t i = 0; i < lines_.size(); ++i)
        feed(i);
      rig_.node.turn(rig_.now);
      serve(ForwardRig::server(kLive), kServedInTick);
      if (lame_tick_ != 0 && tick % lame_tick_ == 0) serve(ForwardRig::server(kLame), 1);
      if (lame_tick_ == 0 && tick * kTick > kLndTimeout) give_up();
      rig_.node.turn(rig_.now);
      for (const auto& [rx, decision] : std::exchange(rig_.in().resumed, {})) {
        lines_[rx.index].parked = false;
        if (decision.verdict == RxVerdict::kReceive) rig_.received(lines_[rx.index].client, rx);
      }
    }
    return served_;
  }

 private:
  void feed(std::uint32_t index) {
    Line& line = lines_[index];
    for (unsigned i = 0; i < kServedInTick && !line.parked; ++i) {
      const RxHandle rx{index, ++generation_};
      const RxDecision decision = rig_.offer(line.client, line.server, 8192, rx);
      line.parked = decision.verdict == RxVerdict::kPark;
      if (decision.verdict == RxVerdict::kReceive) rig_.received(line.client, rx);
    }
  }
  void serve(const Nid& server, unsigned messages) {
    auto& held = rig_.out().held;
    for (std::size_t i = 0; i < held.size() && messages > 0;) {
      if (held[i]->next_hop->nid != server) {
        ++i;
        continue;
      }
      rig_.out().end(i);
      --messages;
      if (server == ForwardRig::server(kLive)) ++served_;
    }
  }
  // Like an LND whose connection times out.
  void give_up() {
    const Nid lame = ForwardRig::server(kLame);
    auto& held = rig_.out().held;
    bool any = false;
    for (std::size_t i = held.size(); i-- > 0;) {
      if (held[i]->next_hop->nid != lame) continue;
      any = true;
      rig_.out().end(
          i, {.status = std::unexpected(Errc::kTimedOut), .health = Health::kNetworkTimeout});
    }
    if (any) rig_.port(lame).on_peer(lame, PeerNotice::kDown, rig_.now);
  }

  ForwardRig rig_;
  std::vector<Line> lines_;
  const unsigned lame_tick_;
  std::uint32_t generation_ = 0;
  std::uint64_t served_ = 0;
};

std::vector<Line> lines_to(std::uint32_t server, std::uint32_t first_client) {
  std::vector<Line> lines;
  for (std::uint32_t i = 0; i < 4; ++i)
    lines.push_back({ForwardRig::client(first_client + i), ForwardRig::server(server)});
  return lines;
}

std::vector<Line> operator+(std::vector<Line> a, const std::vector<Line>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

double share_left(const std::vector<Line>& lines, unsigned lame_tick) {
  const std::uint64_t alone = Race(lines_to(kLive, 10), 1).run();
  EXPECT_GT(alone, 30'000U);
  return static_cast<double>(Race(lines, lame_tick).run()) / static_cast<double>(alone);
}

TEST(ForwardFairness, AServerThatIsDeadTakesNothingFromTheClientsOfAnother) {
  EXPECT_GT(share_left(lines_to(kLive, 10) + lines_to(kLame, 30), 0), 0.999);
}

TEST(ForwardFairness, AServerThatIsSlowTakesNothingFromTheClientsOfAnother) {
  EXPECT_GT(share_left(lines_to(kLive, 10) + lines_to(kLame, 30), 25), 0.999);
}

// Credits stay with the dead server until it counts as stalled, then until its LND has given up.
TEST(ForwardFairness, AServerThatIsDeadTakesLessThanATwentiethFromItsOwnClients) {
  EXPECT_GT(share_left(lines_to(kLive, 10) + lines_to(kLame, 10), 0), 0.95);
}

}  // namespace
}  // namespace plnet::lnet::forward_fairness_test
