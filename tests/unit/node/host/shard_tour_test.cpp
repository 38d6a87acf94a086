// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/shard_tour.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::node::shard_tour_test {
namespace {

TEST(InTurn, AStepBeginsWhenTheOneBeforeHasEnded) {
  std::vector<unsigned> begun;
  lnet::Reply<void> ended;
  std::optional<Outcome<void>> done;
  in_turn(
      2,
      [&](unsigned number, lnet::Reply<void> step_ended) {
        begun.push_back(number);
        ended = std::move(step_ended);
      },
      [&done](Outcome<void>&& out) { done = std::move(out); });
  EXPECT_EQ(begun, (std::vector<unsigned>{0}));
  std::exchange(ended, nullptr)({});
  EXPECT_EQ(begun, (std::vector<unsigned>{0, 1}));
  EXPECT_FALSE(done.has_value());
  std::exchange(ended, nullptr)({});
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->has_value());
}

TEST(InTurn, TheFirstErrorEndsIt) {
  std::vector<unsigned> begun;
  std::optional<Outcome<void>> done;
  in_turn(
      3,
      [&begun](unsigned number, lnet::Reply<void> ended) {
        begun.push_back(number);
        ended(number == 1 ? Outcome<void>(failure(Errc::kBusy, "busy")) : Outcome<void>{});
      },
      [&done](Outcome<void>&& out) { done = std::move(out); });
  EXPECT_EQ(begun, (std::vector<unsigned>{0, 1}));
  ASSERT_TRUE(done.has_value());
  ASSERT_FALSE(done->has_value());
  EXPECT_EQ(done->error().code, Errc::kBusy);
}

TEST(InTurn, AnEmptyTourEndsAtOnce) {
  bool done = false;
  in_turn(
      0, [](unsigned, lnet::Reply<void>) { FAIL() << "no step"; },
      [&done](Outcome<void>&& out) { done = out.has_value(); });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace plnet::node::shard_tour_test
