// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/router_options.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plnet::apps {
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

TEST(RouterOptions, WithValuesThatTheyCannotHaveAreToldByName) {
  lnet::Parameters parameters;
  for (const char* value : {"soon", "0", "-3", "9999999"}) {
    const auto taken = take_router_options(with("router_ping_timeout", value), parameters);
    ASSERT_FALSE(taken) << value;
    EXPECT_EQ(taken.error().what, std::string("options lnet router_ping_timeout=") + value +
                                      ": expected a number from 1 to 86400");
  }
  EXPECT_FALSE(take_router_options(with("check_routers_before_use", "2"), parameters));
}

}  // namespace
}  // namespace plnet::apps
