// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/router_options.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "node/net/tcp/options.hpp"
#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::router_options_test {
namespace {

lnet::NodeConfig with(const char* name, const char* value) {
  return {.module_options = {{"lnet", name, value}}};
}

TEST(RouterOptions, AreTheDefaultsOf217WhereNothingIsGiven) {
  lnet::Parameters parameters;
  ASSERT_TRUE(take_router_options({}, parameters));
  EXPECT_EQ(parameters.alive_router_check_interval_s.get(), 60);
  EXPECT_EQ(parameters.router_ping_timeout_s.get(), 50);
  EXPECT_EQ(parameters.check_routers_before_use.get(), 0);
  EXPECT_EQ(parameters.avoid_asym_router_failure.get(), 1);
  EXPECT_EQ(parameters.auto_down.get(), 1);
}

TEST(RouterOptions, AreTaken) {
  lnet::Parameters parameters;
  ASSERT_TRUE(take_router_options(with("alive_router_check_interval", "-1"), parameters));
  ASSERT_TRUE(take_router_options(with("router_ping_timeout", "7"), parameters));
  ASSERT_TRUE(take_router_options(with("auto_down", "0"), parameters));
  EXPECT_EQ(parameters.alive_router_check_interval_s.get(), -1);
  EXPECT_EQ(parameters.router_ping_timeout_s.get(), 7);
  EXPECT_EQ(parameters.auto_down.get(), 0);
}

TEST(RouterOptions, WithInvalidValuesAreReportedByName) {
  lnet::Parameters parameters;
  for (const char* value : {"soon", "0", "-3", "9999999"}) {
    const auto taken = take_router_options(with("router_ping_timeout", value), parameters);
    ASSERT_FALSE(taken) << value;
    EXPECT_EQ(taken.error().what, std::string("options lnet router_ping_timeout=") + value +
                                      ": expected a number from 1 to 86400");
  }
  EXPECT_FALSE(take_router_options(with("check_routers_before_use", "2"), parameters));
}

TEST(RouterOptions, WritableKernelOptionsChangeLive) {
  lnet::NodeConfig config;
  EXPECT_TRUE(set_router_option(config, "lnet.alive_router_check_interval", "9"));
  EXPECT_TRUE(set_router_option(config, "router_ping_timeout", "4"));
  EXPECT_TRUE(set_router_option(config, "router_ping_timeout", "5"));
  EXPECT_EQ(config.module_option("lnet", "alive_router_check_interval"), "9");
  EXPECT_EQ(config.module_option("lnet", "router_ping_timeout"), "5");
  EXPECT_EQ(set_router_option(config, "auto_down", "0").error().code, Errc::kBusy);
  EXPECT_EQ(set_router_option(config, "router_ping_timeout", "0").error().code, Errc::kInvalid);
  EXPECT_EQ(set_router_option(config, "nagle", "0").error().code, Errc::kNotFound);
  EXPECT_EQ(config.module_options.size(), 2U);
  EXPECT_TRUE(differ_live_only(config, {}, {}));
  EXPECT_FALSE(differ_live_only(with("auto_down", "0"), {}, {}));
}

TEST(RouterOptions, ReachTheNodeAndGoBackToTheirDefaults) {
  SmallNode small(1, 8);
  lnet::Node node(small.setup);
  const auto interval = [&node] { return node.parameters().alive_router_check_interval_s.get(); };
  std::vector<LnetStep> steps;
  ASSERT_TRUE(add_router_option_steps({}, with("alive_router_check_interval", "9"), steps));
  ASSERT_EQ(steps.size(), 1U);
  ASSERT_TRUE(steps[0].act(node));
  EXPECT_EQ(interval(), 9);
  ASSERT_TRUE(steps[0].undo(node));
  EXPECT_EQ(interval(), 60);
  EXPECT_FALSE(add_router_option_steps({}, with("router_ping_timeout", "0"), steps));
  EXPECT_TRUE(add_router_option_steps({}, with("auto_down", "0"), steps));
  EXPECT_EQ(steps.size(), 1U) << "that one waits for the next start";
}

}  // namespace
}  // namespace plnet::node::router_options_test
