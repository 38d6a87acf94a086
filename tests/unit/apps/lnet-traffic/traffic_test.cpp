// SPDX-License-Identifier: BSD-3-Clause
// Both halves of lnet-traffic on one node, over 0@lo: their counts when everything works, and their
// detection of errors.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-traffic/pattern.hpp"
#include "apps/lnet-traffic/protocol.hpp"
#include "apps/lnet-traffic/source.hpp"
#include "apps/lnet-traffic/target.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::traffic::traffic_test {
namespace {

using lnet::Nid;

constexpr std::uint64_t kRun = 7;

class TrafficOnOneNode : public testing::Test {
 protected:
  static constexpr std::size_t kControlBytes = 1 << 20;
  static constexpr std::size_t kWindow = 2;

  TrafficOnOneNode() : memory_(kControlBytes + (1 + 2 * kWindow) * kBytesMax) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()});
    lnet::NodeSetup setup{.arenas = &arenas_, .doorbells = doorbells_};
    setup.shard_limits = {.peer_ports = 256,
                          .extra_links = 8,
                          .messages = 64,
                          .receives = 64,
                          .descriptors = 256,
                          .match_entries = 256};
    setup.coordinator.peers.peers = setup.coordinator.peers.peer_nis = 256;
    setup.control_memory = {{0, 0}, std::span(memory_).first(kControlBytes)};
    node_ = std::make_unique<lnet::Node>(setup);
    node_->set_lazy(kPutPortal, true);
    for (std::size_t i = 0; i < 1 + 2 * kWindow; ++i)
      rooms_.push_back({{0, kControlBytes + i * kBytesMax}, kBytesMax});
    target_ = std::make_unique<Target>(arenas_, std::span(rooms_).subspan(1, kWindow), rooms_[0],
                                       seen_, counters_);
  }

  Source source(std::uint64_t operations, unsigned get_percent) {
    return {SourceConfig{.targets = {self_},
                         .operations = operations,
                         .bytes_max = 4096,
                         .get_percent = get_percent,
                         .run = kRun},
            arenas_, std::span(rooms_).subspan(1 + kWindow), arenas_.bytes(rooms_[0]), counters_};
  }

  void turn(Source* source = nullptr) {
    now_ += std::chrono::milliseconds(1);
    node_->shard(0).begin_turn(now_);
    if (source != nullptr) source->step(node_->shard(0), now_);
    node_->shard(0).poll(now_);
    node_->coordinate(now_);
    node_->quiescent(0);
  }
  void run(Source& source) {
    for (int turns = 0; turns < 10'000 && !source.done(); ++turns)
      turn(&source);
    EXPECT_TRUE(source.done());
  }

  // A PUT as a Source makes it, with the given label.
  void put(const PutLabel& label, std::uint64_t sequence, std::uint32_t length) {
    const Fragment& room = rooms_.back();
    fragment_ = {room.at, length};
    fill_pattern(arenas_.bytes(fragment_), pattern_key(kRun, sequence));
    const auto md = node_->shard(0).bind(
        {.fragments = std::span(&fragment_, 1), .length = length, .threshold = 2});
    ASSERT_TRUE(md.has_value());
    ASSERT_TRUE(node_->shard(0).put(*md, {.target = {self_},
                                          .portal = kPutPortal,
                                          .match_bits = kRun,
                                          .header_data = label.packed()}));
    for (int turns = 0; turns < 10; ++turns)
      turn();
  }

  [[nodiscard]] std::uint64_t count(TrafficId id) const { return counters_.get(id); }

  const Nid self_ = Nid::of(lnet::NetType::kLoopback, 0, 0);
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  SilentDoorbell bell_;
  std::array<Doorbell*, 1> doorbells_{&bell_};
  std::unique_ptr<lnet::Node> node_;
  std::vector<Fragment> rooms_;
  Fragment fragment_;
  Seen seen_;
  TrafficCounters counters_;
  std::unique_ptr<Target> target_;
  Instant now_{};
};

TEST_F(TrafficOnOneNode, EveryOperationIsAnsweredAndEveryByteRight) {
  ASSERT_TRUE(target_->attach_memory(node_->shard(0)));
  Source source = this->source(500, 50);
  run(source);
  EXPECT_EQ(count(TrafficId::kBegun), 500U);
  EXPECT_EQ(count(TrafficId::kAnswered), 500U);
  EXPECT_EQ(count(TrafficId::kDelivered) + count(TrafficId::kServed), 500U);
  EXPECT_GT(count(TrafficId::kDelivered), 100U);
  EXPECT_GT(count(TrafficId::kServed), 100U);
  for (const TrafficId none :
       {TrafficId::kFailed, TrafficId::kWrong, TrafficId::kTwice, TrafficId::kCorrupt,
        TrafficId::kUnderWay, TrafficId::kUntracked, TrafficId::kBroken}) {
    EXPECT_EQ(count(none), 0U);
  }
}

TEST_F(TrafficOnOneNode, AnswersHaveDurations) {
  ASSERT_TRUE(target_->attach_memory(node_->shard(0)));
  Source source = this->source(500, 50);
  run(source);
  turn(&source);  // events of its last turn
  const Pace::Report pace = source.pace().report();
  EXPECT_EQ(pace.took_ns.count(), 500U);
  EXPECT_GE(pace.took_ns.min(), 1'000'000U) << "a turn at least";
  EXPECT_LE(pace.took_ns.max(), 100'000'000U);
  EXPECT_GT(pace.seconds(), 0.1) << "two at a time, each some turns";
  EXPECT_LT(pace.seconds(), 10.0);
}

TEST_F(TrafficOnOneNode, FailedOperationsHaveNoDuration) {
  Source source = this->source(4, 100);
  for (int turns = 0; turns < 100; ++turns)
    turn(&source);
  now_ += std::chrono::seconds(200);
  for (int turns = 0; turns < 100; ++turns)
    turn(&source);
  EXPECT_GT(count(TrafficId::kFailed), 0U);
  EXPECT_EQ(source.pace().report().took_ns.count(), 0U);
  EXPECT_EQ(source.pace().report().seconds(), 0.0);
}

TEST_F(TrafficOnOneNode, AReplyWithWrongBytesIsDetected) {
  ASSERT_TRUE(target_->attach_memory(node_->shard(0)));
  std::vector<std::byte> other(kBytesMax);
  Source source({.targets = {self_}, .operations = 20, .bytes_max = 4096, .get_percent = 100},
                arenas_, std::span(rooms_).subspan(1 + kWindow), other, counters_);
  run(source);
  EXPECT_GT(count(TrafficId::kWrong), 0U);
}

TEST_F(TrafficOnOneNode, DuplicatesAndWrongContentsAreDetected) {
  ASSERT_TRUE(target_->attach_memory(node_->shard(0)));
  put({.sequence = 1, .length = 100}, 1, 100);
  EXPECT_EQ(count(TrafficId::kDelivered), 1U);
  EXPECT_EQ(count(TrafficId::kTwice) + count(TrafficId::kCorrupt), 0U);
  put({.sequence = 1, .length = 100}, 1, 100);
  EXPECT_EQ(count(TrafficId::kTwice), 1U);
  put({.sequence = 3, .length = 100}, 4, 100);
  EXPECT_EQ(count(TrafficId::kCorrupt), 1U) << "bytes of another message";
  put({.sequence = 5, .length = 100}, 5, 99);
  EXPECT_EQ(count(TrafficId::kCorrupt), 2U) << "another length";
  EXPECT_EQ(count(TrafficId::kDelivered), 4U);
}

TEST_F(TrafficOnOneNode, UnansweredOperationsTimeOut) {
  Source source = this->source(4, 100);  // GETs from a portal without buffers
  for (int turns = 0; turns < 100; ++turns)
    turn(&source);
  EXPECT_EQ(count(TrafficId::kUnderWay), kWindow);
  for (int lives = 0; lives < 4 && !source.done(); ++lives) {
    now_ += std::chrono::seconds(200);  // the transaction timeout is 150 s
    for (int turns = 0; turns < 100; ++turns)
      turn(&source);
  }
  EXPECT_TRUE(source.done());
  EXPECT_EQ(count(TrafficId::kFailed), 4U);
  EXPECT_EQ(count(TrafficId::kAnswered), 0U);
}

// The last network is removed together with its unsent messages.
TEST_F(TrafficOnOneNode, OperationsFailingAtShutdownAreAbandoned) {
  bool goes_down = false;
  Source source({.targets = {self_},
                 .operations = 4,
                 .bytes_max = 4096,
                 .get_percent = 100,
                 .is_cut_off = [&goes_down] { return goes_down; }},
                arenas_, std::span(rooms_).subspan(1 + kWindow), arenas_.bytes(rooms_[0]),
                counters_);
  const auto fail = [&] {
    for (int turns = 0; turns < 100; ++turns)
      turn(&source);
    now_ += std::chrono::seconds(200);
    turn();
  };
  fail();
  EXPECT_EQ(count(TrafficId::kFailed), kWindow);
  goes_down = true;
  fail();
  EXPECT_EQ(count(TrafficId::kFailed), kWindow);
  EXPECT_EQ(count(TrafficId::kAbandoned), kWindow);
  EXPECT_EQ(count(TrafficId::kUnderWay), 0U);
}

TEST_F(TrafficOnOneNode, OperationsInFlightAtShutdownAreAbandoned) {
  Source source = this->source(0, 100);
  for (int turns = 0; turns < 10; ++turns)
    turn(&source);
  source.let_go();
  EXPECT_EQ(count(TrafficId::kAbandoned), kWindow);
  EXPECT_EQ(count(TrafficId::kUnderWay), 0U);
  EXPECT_EQ(count(TrafficId::kBegun), kWindow);
}

}  // namespace
}  // namespace plnet::traffic::traffic_test
