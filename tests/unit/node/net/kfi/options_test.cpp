// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/options.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace plnet::node::kfi_options_test {
namespace {

using kfilnd::TrafficClass;

lnet::NodeConfig with(const char* name, const char* value) {
  lnet::NodeConfig config;
  config.module_options.push_back({"kkfilnd", name, value});
  return config;
}

std::string refused(const char* name, const char* value) {
  const auto options = kfi_options_of(with(name, value));
  return options ? std::string() : options.error().what;
}

TEST(KfiOptions, AreThoseOfTheKernelsModule) {
  EXPECT_EQ(kfi_options_of({})->tunables.credits, 512);
  EXPECT_EQ(kfi_options_of(with("credits", "128"))->tunables.credits, 128);
  EXPECT_EQ(kfi_options_of(with("traffic_class", "low_latency"))->traffic_class,
            TrafficClass::kLowLatency);
  EXPECT_EQ(kfi_options_of(with("something_newer", "1"))->tunables.credits, 512);
}

TEST(KfiOptions, WithValuesThatTheyCannotHaveAreRefusedWithThoseTheyCan) {
  EXPECT_EQ(refused("auth_key", "70000"),
            "options kkfilnd auth_key=70000: expected a number from 0 to 65535");
  EXPECT_EQ(refused("credits", "many"), "options kkfilnd credits=many: expected a number");
  EXPECT_NE(refused("traffic_class", "express").find("expected best_effort, low_latency"),
            std::string::npos);
  EXPECT_EQ(refused("credits", "8"),
            "options kkfilnd: peer_credits=16, expected at most credits, 8");
}

TEST(KfiOptions, ExcessiveReceiveBuffersAreRefused) {
  lnet::NodeConfig config = with("credits", "65535");
  EXPECT_TRUE(kfi_options_of(config));
  config.module_options.push_back({"kkfilnd", "immediate_rx_buf_count", "64"});
  const auto options = kfi_options_of(config);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Errc::kTooBig);
  EXPECT_NE(options.error().what.find("expected at most 2048"), std::string::npos);
}

TEST(KfiOptions, OptionsOfAnNiTakePrecedence) {
  KfiOptions all;
  all.tunables.auth_key = 7;
  const std::vector<lnet::LndTunable> own{{"prov_minor_version", std::int64_t{3}},
                                          {"auth_key", std::int64_t{-1}},
                                          {"traffic_class", std::string("bulk_data")},
                                          {"traffic_class_num", std::int64_t{1}},
                                          {"timeout", std::int64_t{1}}};
  const auto options = options_of_ni(all, own);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->tunables.auth_key, 7);
  EXPECT_EQ(options->tunables.prov_minor_version, 3);
  EXPECT_EQ(options->traffic_class, TrafficClass::kBulkData);
  EXPECT_EQ(options->tunables.kfi_timeout, 125) << "the kernel only shows it";
  EXPECT_FALSE(options_of_ni(all, {{{"auth_key", std::int64_t{65536}}}}));
  EXPECT_FALSE(options_of_ni(all, {{{"traffic_class", std::int64_t{2}}}}));
}

TEST(KfiOptions, InForceAreTakenAgainAsTheyWereShown) {
  KfiOptions options;
  options.traffic_class = TrafficClass::kLowLatency;
  const auto shown = lnd_tunables_of(options, std::chrono::seconds(50));
  ASSERT_EQ(shown.size(), lnet::lnd_tunable_names(lnet::make_net(lnet::NetType::kKfi)).size());
  const auto again = options_of_ni({}, shown);
  ASSERT_TRUE(again);
  EXPECT_EQ(lnd_tunables_of(*again, std::chrono::seconds(50)), shown);
}

TEST(KfiOptions, AreAllReportedUnderTheKernelsNames) {
  const auto parameters = parameters_of(KfiOptions{});
  EXPECT_EQ(parameters.size(), kfilnd::tunable_table().size() + 1);
  const auto has = [&](std::string_view name) {
    return std::ranges::find(parameters, name, &lnet::LndTunable::name) != parameters.end();
  };
  EXPECT_TRUE(has("immediate_rx_buf_count") && has("traffic_class") && has("auth_key"));
}

}  // namespace
}  // namespace plnet::node::kfi_options_test
