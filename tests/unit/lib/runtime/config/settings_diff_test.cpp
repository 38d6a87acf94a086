// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_diff.hpp"

#include <gtest/gtest.h>

#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::settings_diff_test {
namespace {

TEST(SettingsDiff, EqualSettingsHaveAnEmptyDiff) {
  const Settings settings;
  EXPECT_TRUE(diff_settings(settings, settings).empty());
  EXPECT_EQ(render_changes({}), "");
  EXPECT_EQ(changes_to_json({}), Value::array());
  EXPECT_TRUE(require_live({}).has_value());
}

TEST(SettingsDiff, ListsChangesInTheOrderOfTheSchema) {
  const Settings before;
  Settings after;
  after.metrics.listen = "127.0.0.1:9417";
  after.pollers.idle = IdlePolicy::kBusy;
  after.memory.arena_mib = 128;
  after.cpts.list = {{.shards = {{.cpu = 2}}, .nic_queues = {{"eth0", {0, 1}}}}};
  const auto changes = diff_settings(before, after);
  EXPECT_EQ(render_changes(changes),
            "plnet.cpts.list: [] -> [{\"shards\":[{\"cpu\":2}],\"nic queues\":{\"eth0\":\"0-1\"}}] "
            "(needs a restart)\n"
            "plnet.pollers.idle: auto -> busy (live)\n"
            "plnet.memory.arena_mib: 64 -> 128 (needs a restart)\n"
            "plnet.metrics.listen: \"\" -> 127.0.0.1:9417 (live)\n");
  EXPECT_EQ(changes_to_json(changes)[1].dump(),
            R"({"path":"plnet.pollers.idle","from":"auto","to":"busy","applies":"live"})");
  EXPECT_EQ(changes_to_json(changes)[2].at("applies"), "restart");
}

TEST(SettingsDiff, AChangeThatNeedsARestartIsAnError) {
  const Settings before;
  Settings after;
  after.pollers.idle = IdlePolicy::kBusy;
  EXPECT_TRUE(require_live(diff_settings(before, after)).has_value());
  after.memory.arena_mib = 128;
  after.cpts.by = CptPlanRequest::By::kCore;
  const auto refused = require_live(diff_settings(before, after));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kBusy);
  EXPECT_EQ(refused.error().what,
            "needs a restart: plnet.cpts.by (auto -> core); plnet.memory.arena_mib (64 -> 128); "
            "nothing was changed");
}

}  // namespace
}  // namespace plnet::runtime::settings_diff_test
