// SPDX-License-Identifier: BSD-3-Clause
// A router with few buffers of a page between clients and three servers: what grows, what does not,
// and what is in the log.
#include "apps/assembly/starving_notes.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"
#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::apps {
namespace {

using lnet::BufferClass;
using lnet::ForwardRig;

class StarvingRouter : public testing::Test {
 protected:
  void start(bool automatic) {
    rig_ = std::make_unique<ForwardRig>(lnet::ForwardSetup{
        .buffers = {{8, 4, 1}},
        .automatic = {{true, automatic, true}},
        .budget = {.most_bytes = std::uint64_t{100} << 20U, .most = {{8, 64, 1}}, .records = 100},
        .tunables = {.peer_buffer_credits = 1}});
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      rig_->node.add_peer(ForwardRig::client(10 + i), lnet::ShardId{0});
      rig_->node.add_peer(ForwardRig::server(30 + i % 3), lnet::ShardId{0});
    }
    rig_->settle();
    runtime::LogOptions options;
    options.to_stderr = false;
    options.capture = [this](std::string_view line) { lines_.emplace_back(line); };
    auto log = runtime::Log::open(options, clock_, wall_clock_);
    ASSERT_TRUE(log);
    log_ = std::move(*log);
  }
  // Each client sends to its server, which takes all after a while.
  void traffic() {
    for (std::uint32_t i = 0; i < kPeers; ++i)
      (void)rig_->forward(ForwardRig::client(10 + i), ForwardRig::server(30 + i % 3), 10,
                          {++index_, 1});
    rig_->pass(std::chrono::milliseconds(1500));
    rig_->end_all();
    lnet::StarvingNote note;
    while (rig_->core().keeper.take_note(note))
      say_starving(note, *log_);
  }
  std::uint32_t buffers() { return rig_->core().buffers.total(BufferClass::kSmall); }

  static constexpr std::uint32_t kPeers = 18;
  runtime::SystemClock clock_;
  runtime::SystemWallClock wall_clock_;
  std::unique_ptr<ForwardRig> rig_;
  std::unique_ptr<runtime::Log> log_;
  std::vector<std::string> lines_;
  std::uint32_t index_ = 0;
};

TEST_F(StarvingRouter, GrowsUntilItStarvesNoLongerAndSaysSo) {
  start(true);
  for (int i = 0; i < 20; ++i)
    traffic();
  rig_->pass(2 * lnet::PoolKeeper::kQuiet);
  traffic();
  EXPECT_GT(buffers(), 18U);
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_TRUE(lines_[0].contains("event=router_buffers_starve class=small cpt=0 shard=0 waited="))
      << lines_[0];
  EXPECT_TRUE(lines_[0].contains("most_held_by=\"0.0.0.30@tcp1 (")) << lines_[0];
  EXPECT_TRUE(lines_[0].contains("more=\"they grow\"")) << lines_[0];
  EXPECT_TRUE(lines_[1].contains("event=router_buffers_suffice class=small")) << lines_[1];
  rig_->expect_conserved();
}

TEST_F(StarvingRouter, StaysAsItWasSetAndSaysWhatChangesThat) {
  start(false);
  for (int i = 0; i < 20; ++i)
    traffic();
  EXPECT_EQ(buffers(), 4U);
  ASSERT_EQ(lines_.size(), 1U) << "not each second";
  EXPECT_TRUE(lines_[0].contains("`lnetctl set small_buffers N` makes more")) << lines_[0];
}

TEST(StarvingNotes, NameTheCommandThatHelps) {
  using lnet::PoolBound;
  EXPECT_TRUE(bound_text(BufferClass::kLarge, PoolBound::kMemory).contains("set large_buffers N"));
  EXPECT_TRUE(bound_text(BufferClass::kTiny, PoolBound::kPlace).contains("set tiny_buffers N"));
  EXPECT_TRUE(bound_text(BufferClass::kTiny, PoolBound::kRecords).contains("receives"));
}

}  // namespace
}  // namespace plnet::apps
