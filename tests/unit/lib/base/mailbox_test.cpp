// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/mailbox.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::mailbox_test {
namespace {

class CountingDoorbell final : public Doorbell {
 public:
  int woken = 0;

 protected:
  void wake() override { ++woken; }
};

TEST(Mailbox, RingsOncePerBurstAndOnlyForASleeper) {
  CountingDoorbell doorbell;
  Duplex<int> channel(8);
  Mailbox<int> box(channel.there(), doorbell);
  std::array<int, 3> things{};
  std::array<int*, 3> burst{&things[0], &things[1], &things[2]};
  EXPECT_EQ(box.post_burst(burst), 3U);
  EXPECT_EQ(doorbell.woken, 0);
  ASSERT_TRUE(doorbell.arm());
  EXPECT_EQ(box.post_burst(burst), 3U);
  EXPECT_EQ(doorbell.woken, 1);
  EXPECT_EQ(box.post_burst(burst), 2U);
  EXPECT_EQ(doorbell.woken, 2);
  EXPECT_FALSE(box.post(&things[0]));
  EXPECT_EQ(doorbell.woken, 2) << "nothing was posted, no sleeper is woken";

  std::array<int*, 16> out{};
  ASSERT_EQ(box.collect(out), 8U);
  EXPECT_EQ(out[0], &things[0]);
  EXPECT_EQ(out[7], &things[1]);
  EXPECT_TRUE(box.empty());
}

TEST(MailboxDeathTest, AFullHomewardLaneIsABug) {
  SilentDoorbell doorbell;
  Duplex<int> channel(2);
  Mailbox<int> box(channel.back(), doorbell);
  int thing = 0;
  std::array<int*, 2> both{&thing, &thing};
  box.post_homeward(both);
  EXPECT_DEATH(box.post_homeward(both), "homeward lane is full");
}

class Grid : public testing::Test {
 protected:
  static constexpr std::size_t kShards = 3;

  std::array<CountingDoorbell, kShards> bells_;
  std::array<Doorbell*, kShards> doorbells_{&bells_[0], &bells_[1], &bells_[2]};
  MailboxGrid<int> grid_{64, doorbells_};
  std::array<int, 64> things_{};
};

TEST_F(Grid, EveryPairHasItsOwnBoxWithTheDoorbellOfTheConsumer) {
  for (auto& bell : bells_)
    ASSERT_TRUE(bell.arm());
  for (std::size_t from = 0; from < kShards; ++from) {
    for (std::size_t to = 0; to < kShards; ++to)
      ASSERT_TRUE(grid_.box(from, to).post(&things_[from * kShards + to]));
  }
  for (std::size_t to = 0; to < kShards; ++to) {
    EXPECT_EQ(bells_[to].woken, 3);
    EXPECT_FALSE(grid_.empty(to));
    std::array<int*, 4> scratch{};
    std::vector<bool> seen(kShards);
    EXPECT_EQ(grid_.drain(to, scratch,
                          [&](std::size_t from, std::span<int* const> objects) {
                            ASSERT_EQ(objects.size(), 1U);
                            EXPECT_EQ(objects[0], &things_[from * kShards + to]);
                            seen[from] = true;
                          }),
              3U);
    EXPECT_EQ(seen, std::vector<bool>(kShards, true));
    EXPECT_TRUE(grid_.empty(to));
  }
}

TEST_F(Grid, ALoudNeighbourGetsNoMoreThanItsBurstAndTurnsRotate) {
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(grid_.box(0, 2).post(&things_[0]));
  ASSERT_TRUE(grid_.box(1, 2).post(&things_[1]));
  std::array<int*, 8> scratch{};
  std::vector<std::size_t> order;
  const auto visit = [&order](std::size_t from, std::span<int* const> objects) {
    order.push_back(from);
    EXPECT_LE(objects.size(), 8U);
  };
  EXPECT_EQ(grid_.drain(2, scratch, visit), 9U);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1}));
  ASSERT_TRUE(grid_.box(1, 2).post(&things_[1]));
  order.clear();
  EXPECT_EQ(grid_.drain(2, scratch, visit), 9U);
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 0})) << "the next inbox goes first";
}

}  // namespace
}  // namespace plnet::mailbox_test
