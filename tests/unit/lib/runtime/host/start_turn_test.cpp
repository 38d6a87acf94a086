// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/start_turn.hpp"

#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/lib/runtime/host/temp_dir.hpp"

namespace plnet::runtime {
namespace {

TEST(StartTurn, NodesStartOneAtATime) {
  const TempDir dir;
  std::optional<StartTurn> first(std::in_place, dir.path(), Duration{});
  EXPECT_TRUE(first->is_ours());
  EXPECT_FALSE(StartTurn(dir.path(), Duration{}).is_ours());
  first.reset();
  EXPECT_TRUE(StartTurn(dir.path(), Duration{}).is_ours());
}

TEST(StartTurn, AStartDoesNotNeedALockFile) {
  EXPECT_FALSE(StartTurn("/nonexistent-plnet", std::chrono::hours(1)).is_ours());
  const TempDir dir;
  const auto name = dir.path() + "/plnet-start." + std::to_string(::geteuid()) + ".lock";
  std::filesystem::create_symlink("/dev/null", name);
  EXPECT_FALSE(StartTurn(dir.path(), std::chrono::hours(1)).is_ours()) << "no link is followed";
}

}  // namespace
}  // namespace plnet::runtime
