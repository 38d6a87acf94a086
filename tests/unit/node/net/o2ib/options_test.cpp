// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/options.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace plnet::node::o2ib_options_test {
namespace {

using lnet::LndTunable;

lnet::NodeConfig with(const char* name, const char* value) {
  lnet::NodeConfig config;
  config.module_options.push_back({"ko2iblnd", name, value});
  return config;
}

std::string refused(const char* name, const char* value) {
  const auto options = o2ib_options_of(with(name, value));
  return options ? std::string() : options.error().what;
}

std::int64_t value_of(const std::vector<LndTunable>& tunables, std::string_view name) {
  const auto found = std::ranges::find(tunables, name, &LndTunable::name);
  return found == tunables.end() ? -1000 : std::get<std::int64_t>(found->value);
}

TEST(O2ibOptions, AreThoseOfTheKernelsModule) {
  EXPECT_EQ(o2ib_options_of({})->tunables.peer_credits, 8);
  EXPECT_EQ(o2ib_options_of({})->interface, "ib0");
  EXPECT_EQ(o2ib_options_of(with("peer_credits", "32"))->tunables.peer_credits, 32);
  EXPECT_EQ(o2ib_options_of(with("ipif_name", "ib1"))->interface, "ib1");
  EXPECT_EQ(o2ib_options_of(with("something_newer", "1"))->tunables.peer_credits, 8);
}

TEST(O2ibOptions, MappingOptionsChangeLive) {
  for (const char* const name : {"map_on_demand", "fmr_pool_size", "fmr_cache"})
    EXPECT_TRUE(is_live_o2ib_option({"ko2iblnd", name, "1"})) << name;
  EXPECT_FALSE(is_live_o2ib_option({"ko2iblnd", "fmr_flush_trigger", "1"}));
  lnet::NodeConfig config;
  ASSERT_TRUE(set_o2ib_option(config, "map_on_demand", "257").has_value());
  const auto options = o2ib_options_of(config);
  EXPECT_EQ(value_of(o2ib_lnd_tunables(options->tunables, {}), "map_on_demand"), 257);
  EXPECT_EQ(set_o2ib_option(config, "map_on_demand", "258").error().code, Errc::kInvalid);
}

TEST(O2ibOptions, WithValuesThatTheyCannotHaveAreRefusedWithThoseTheyCan) {
  EXPECT_EQ(refused("service", "70000"),
            "options ko2iblnd service=70000: expected a number from 1 to 65535");
  EXPECT_EQ(refused("credits", "many"),
            "options ko2iblnd credits=many: expected a number from 1 to 1048576");
  EXPECT_NE(refused("ipif_name", "a/b").find("expected the name of a network interface"),
            std::string::npos);
}

TEST(O2ibOptions, OptionsOfAnNiTakePrecedence) {
  const o2iblnd::Tunables all = o2ib_options_of(with("ntx", "1024"))->tunables;
  const std::vector<LndTunable> own{{"peercredits_hiw", std::int64_t{6}},
                                    {"ntx", std::int64_t{-1}},
                                    {"conns_per_peer", std::int64_t{4}},
                                    {"driver", std::string("o2ib")}};
  const o2iblnd::Tunables tunables = o2ib_tunables_of_ni(all, own);
  EXPECT_EQ(tunables.peer_credits_hiw, 6);
  EXPECT_EQ(tunables.ntx, 1024);
  EXPECT_EQ(tunables.conns_per_peer, 4);
}

// As on a kernel node with the defaults of its module.
TEST(O2ibOptions, AreShownAsTheKernelsLnetctlDoes) {
  const auto shown = o2ib_lnd_tunables({}, std::chrono::seconds(50));
  std::vector<std::string> names;
  for (const LndTunable& each : shown)
    names.push_back(each.name);
  const auto expected = lnet::lnd_tunable_names(lnet::make_net(lnet::NetType::kO2ib));
  EXPECT_TRUE(std::ranges::equal(names, expected));
  EXPECT_EQ(value_of(shown, "peercredits_hiw"), 4);
  EXPECT_EQ(value_of(shown, "concurrent_sends"), 8);
  EXPECT_EQ(value_of(shown, "ntx"), 512);
  EXPECT_EQ(value_of(shown, "conns_per_peer"), 1);
  EXPECT_EQ(value_of(shown, "timeout"), 50);
  EXPECT_EQ(value_of(shown, "tos"), -1);
}

// An NI is resolved again after each change of the configuration, from its values in force.
TEST(O2ibOptions, InForceComeToTheSameAgain) {
  for (const std::int64_t credits : {8, 9, 32, 255}) {
    o2iblnd::Tunables tunables;
    tunables.peer_credits = credits;
    const auto once = o2ib_lnd_tunables(tunables, std::chrono::seconds(50));
    const auto again =
        o2ib_lnd_tunables(o2ib_tunables_of_ni(tunables, once), std::chrono::seconds(50));
    EXPECT_EQ(once, again) << credits;
  }
}

TEST(O2ibOptions, WritableKernelOptionsChangeLive) {
  lnet::NodeConfig config;
  EXPECT_TRUE(set_o2ib_option(config, "ko2iblnd.keepalive", "30"));
  EXPECT_EQ(config.module_option("ko2iblnd", "keepalive"), "30");
  const auto late = set_o2ib_option(config, "peer_credits", "16");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kBusy);
  EXPECT_NE(late.error().what.find("options ko2iblnd peer_credits=16"), std::string::npos);
  EXPECT_EQ(set_o2ib_option(config, "nothing", "1").error().code, Errc::kNotFound);
  EXPECT_EQ(set_o2ib_option(config, "cksum", "2").error().code, Errc::kInvalid);
}

TEST(O2ibOptions, AreAllAmongTheParameters) {
  const auto parameters = o2ib_parameters({});
  EXPECT_EQ(parameters.size(), o2iblnd::tunable_table().size() + 1);
  EXPECT_EQ(value_of(parameters, "service"), 987);
  EXPECT_EQ(parameters.back(), (LndTunable{"ipif_name", std::string("ib0")}));
}

}  // namespace
}  // namespace plnet::node::o2ib_options_test
