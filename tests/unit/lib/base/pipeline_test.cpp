// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/pipeline.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::pipeline_test {
namespace {

constexpr std::size_t kSteps = 3;
constexpr std::size_t kDistance = 2;

TEST(Pipeline, EveryItemTakesEveryStepInOrderAndIsFinished) {
  for (const std::size_t count : {0U, 1U, 2U, 5U, 64U}) {
    std::vector<std::size_t> taken(count, 0);
    std::size_t finished = 0;
    pipeline<kSteps, kDistance>(
        count, [&](std::size_t i, std::size_t step) { EXPECT_EQ(taken.at(i)++, step); },
        [&](std::size_t i) {
          EXPECT_EQ(i, finished++) << "in order";
          EXPECT_EQ(taken.at(i), kSteps);
        });
    EXPECT_EQ(finished, count);
  }
}

TEST(Pipeline, WhileOneIsFinishedThoseBehindItHaveTakenFewerSteps) {
  constexpr std::size_t kCount = 20;
  std::vector<std::size_t> taken(kCount, 0);
  pipeline<kSteps, kDistance>(
      kCount, [&](std::size_t i, std::size_t /*step*/) { ++taken[i]; },
      [&](std::size_t i) {
        for (std::size_t step = 1; step < kSteps && i + step * kDistance < kCount; ++step)
          EXPECT_EQ(taken[i + step * kDistance], kSteps - step + 1);
      });
}

}  // namespace
}  // namespace plnet::pipeline_test
