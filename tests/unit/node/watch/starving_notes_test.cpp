// SPDX-License-Identifier: BSD-3-Clause
// A router with few one-page buffers between clients and three servers: pools that grow or not, and
// log lines.
#include "node/watch/starving_notes.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"
#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::node::starving_notes_test {
namespace {

using lnet::BufferClass;
using lnet::ForwardRig;

class StarvingRouter : public testing::Test {
 protected:
  void start(bool automatic, const lnet::NiTunables& tunables = {.peer_buffer_credits = 1},
             std::size_t messages = 64) {
    rig_ = std::make_unique<ForwardRig>(lnet::ForwardSetup{
        .buffers = {{8, 4, 1}},
        .automatic = {{true, automatic, true}},
        .budget = {.most_bytes = std::uint64_t{100} << 20U, .most = {{8, 64, 1}}, .records = 100},
        .tunables = tunables,
        .messages = messages});
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      rig_->node.add_peer(ForwardRig::client(10 + i), lnet::ShardId{0});
      rig_->node.add_peer(ForwardRig::server(30 + i % 3), lnet::ShardId{0});
    }
    rig_->settle();
    runtime::LogOptions options;
    options.descriptor = -1;
    options.capture = [this](std::string_view line) { lines_.emplace_back(line); };
    auto log = runtime::Log::open(options, clock_, wall_clock_);
    ASSERT_TRUE(log);
    log_ = std::move(*log);
  }
  // Each client sends to its server, which accepts everything after a while.
  void traffic() {
    for (std::uint32_t i = 0; i < kPeers; ++i)
      (void)rig_->forward(ForwardRig::client(10 + i), ForwardRig::server(30 + i % 3), 10,
                          {++index_, 1});
    rig_->pass(std::chrono::milliseconds(1500));
    rig_->end_all();
    lnet::StarvingNote note;
    while (rig_->core().keeper.pop_note(note))
      say_starving(note, *log_, board_);
    look_for_scarce();
  }
  void look_for_scarce() {
    for (const ScarceNews& news : scarce_.look(scarce_counts(rig_->core().causes), rig_->now))
      say_scarce({.news = news, .cpt = 0, .shard = 0, .most = holder_of(news.of, rig_->core())},
                 *log_, board_);
  }
  [[nodiscard]] std::vector<std::string> lines_with(std::string_view words) const {
    std::vector<std::string> found;
    std::ranges::copy_if(lines_, std::back_inserter(found),
                         [words](const std::string& line) { return line.contains(words); });
    return found;
  }
  std::uint32_t buffers() { return rig_->core().buffers.total(BufferClass::kSmall); }

  static constexpr std::uint32_t kPeers = 18;
  runtime::SystemClock clock_;
  runtime::SystemWallClock wall_clock_;
  std::unique_ptr<ForwardRig> rig_;
  std::unique_ptr<runtime::Log> log_;
  std::vector<std::string> lines_;
  StarvingBoard board_;
  ScarceWatch scarce_;
  std::uint32_t index_ = 0;
};

TEST_F(StarvingRouter, GrowsUntilItDoesNotStarveAndLogsIt) {
  start(true);
  for (int i = 0; i < 20; ++i)
    traffic();
  rig_->pass(2 * lnet::PoolKeeper::kQuiet);
  traffic();
  EXPECT_GT(buffers(), 18U);
  EXPECT_TRUE(board_.list().empty()) << "it is over";
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_TRUE(lines_[0].contains("event=router_buffers_starve class=small cpt=0 shard=0 waited="))
      << lines_[0];
  EXPECT_TRUE(lines_[0].contains("most_held_by=\"0.0.0.30@tcp1 (")) << lines_[0];
  EXPECT_TRUE(lines_[0].contains("more=\"they grow\"")) << lines_[0];
  EXPECT_TRUE(lines_[1].contains("event=router_buffers_suffice class=small")) << lines_[1];
  rig_->expect_conserved();
}

TEST_F(StarvingRouter, StaysAsConfiguredAndSuggestsTheSetting) {
  start(false);
  for (int i = 0; i < 20; ++i)
    traffic();
  EXPECT_EQ(buffers(), 4U);
  ASSERT_EQ(lines_.size(), 1U) << "not each second";
  EXPECT_TRUE(lines_[0].contains("`lnetctl set small_buffers N` makes more")) << lines_[0];
  ASSERT_EQ(board_.list().size(), 1U);
  EXPECT_EQ(board_.list()[0].of, "small_buffers");
  EXPECT_TRUE(board_.list()[0].most.starts_with("0.0.0.30@tcp1 (")) << board_.list()[0].most;
}

// One of the clients exceeds its credits, the others do not.
TEST_F(StarvingRouter, NamesTheClientThatWaits) {
  start(false);
  for (std::uint32_t i = 0; i < 4; ++i)
    (void)rig_->forward(ForwardRig::client(10), ForwardRig::server(30), 10, {i, 1});
  (void)rig_->forward(ForwardRig::client(11), ForwardRig::server(31), 10, {9, 1});
  look_for_scarce();
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(
      lines_[0].contains("event=lnet_starves of=client_credits cpt=0 shard=0 waited=3 "
                         "most=\"0.0.0.10@tcp (3 wait, 1 credit)\""))
      << lines_[0];
  EXPECT_TRUE(lines_[0].contains("--peer-buffer-credits")) << lines_[0];
  ASSERT_EQ(board_.list().size(), 1U);
  rig_->end_all();
  EXPECT_TRUE(holder_of(Scarce::kClientCredits, rig_->core()).starts_with("0.0.0.10@tcp (0 wait"))
      << "it had most of them waiting at a time";
  rig_->pass(lnet::PoolKeeper::kQuiet);
  look_for_scarce();
  EXPECT_EQ(lines_with("event=lnet_suffices of=client_credits").size(), 1U);
  EXPECT_TRUE(board_.list().empty());
}

TEST_F(StarvingRouter, NamesTheInterfaceThatHasNoCreditLeft) {
  start(false, {.peer_credits = 8, .peer_buffer_credits = 8, .credits = 1});
  for (std::uint32_t i = 0; i < 3; ++i)
    (void)rig_->forward(ForwardRig::client(10 + i), ForwardRig::server(30 + i), 10, {i, 1});
  EXPECT_EQ(rig_->cause(lnet::Cause::kHeldNiCredit), 2U);
  look_for_scarce();
  const auto lines = lines_with("event=lnet_starves of=ni_credits");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].contains("waited=2 most=\"0.0.0.1@tcp1 (2 wait, 1 credit)\"")) << lines[0];
  EXPECT_TRUE(lines[0].contains("--credits N")) << lines[0];
  rig_->end_all();
  rig_->expect_conserved();
}

TEST_F(StarvingRouter, NamesTheTargetOfTheMessagesThatUseUpTheRecords) {
  start(false, {.peer_credits = 8, .peer_buffer_credits = 8}, 2);
  for (std::uint32_t i = 0; i < 3; ++i)
    (void)rig_->forward(ForwardRig::client(10 + i), ForwardRig::server(30), 0, {i, 1});
  EXPECT_EQ(rig_->cause(lnet::Cause::kHeldRecords), 2U) << "a hop takes fewer than are left";
  look_for_scarce();
  const auto lines = lines_with("event=lnet_starves of=messages");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].contains("most=\"0.0.0.30@tcp1 (1 of 2)\"")) << lines[0];
  EXPECT_TRUE(lines[0].contains("`plnet: lnet: messages`")) << lines[0];
  rig_->end_all();
  rig_->expect_conserved();
}

TEST(ScarceWatch, BeginsGoesOnAndIsOver) {
  using What = lnet::StarvingNote::What;
  ScarceWatch watch;
  Instant now{std::chrono::hours(1)};
  const auto look = [&](std::uint64_t received) {
    return watch.look({0, 0, 0, received}, now += std::chrono::seconds(1));
  };
  EXPECT_TRUE(look(0).empty());
  auto news = look(5);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].of, Scarce::kReceives);
  EXPECT_EQ(news[0].what, What::kBegins);
  EXPECT_EQ(news[0].waited, 5U);
  std::uint64_t count = 5;
  for (int i = 0; i < 59; ++i)
    EXPECT_TRUE(look(++count).empty()) << "once a minute";
  news = look(count += 2);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].what, What::kGoesOn);
  EXPECT_EQ(news[0].waited, 61U);
  EXPECT_TRUE(look(3).empty()) << "set back by `stats reset`";
  for (int i = 0; i < 9; ++i)
    EXPECT_TRUE(look(3).empty());
  news = look(3);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].what, What::kOver);
  EXPECT_EQ(news[0].waited, 3U);
  EXPECT_EQ(look(4)[0].what, What::kBegins);
}

TEST(ScarceWatch, CountsWaitingMessagesForEach) {
  Counters<lnet::LnetCauses> causes;
  causes.add(lnet::Cause::kHeldClientCredit, 1);
  causes.add(lnet::Cause::kHeldNiCredit, 2);
  causes.add(lnet::Cause::kAnswersWaited, 3);
  causes.add(lnet::Cause::kHeldPeerShare, 4);
  causes.add(lnet::Cause::kDroppedNoReceive, 5);
  EXPECT_EQ(scarce_counts(causes), (ScarceCounts{1, 2, 3, 9}));
}

TEST(StarvingNotes, NameTheCommandThatHelps) {
  using lnet::PoolBound;
  EXPECT_TRUE(bound_text(BufferClass::kLarge, PoolBound::kMemory).contains("set large_buffers N"));
  EXPECT_TRUE(bound_text(BufferClass::kTiny, PoolBound::kPlace).contains("set tiny_buffers N"));
  EXPECT_TRUE(bound_text(BufferClass::kTiny, PoolBound::kRecords).contains("receives"));
}

}  // namespace
}  // namespace plnet::node::starving_notes_test
