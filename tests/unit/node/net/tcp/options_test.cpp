// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/options.hpp"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "node/admin/router_options.hpp"
#include "tests/unit/node/net/tcp/only_tcp.hpp"

namespace plnet::node::tcp_options_test {
namespace {

using socklnd::AcceptPolicy;

lnet::NodeConfig with(const char* module, const char* name, const char* value) {
  lnet::NodeConfig config;
  config.module_options.push_back({module, name, value});
  return config;
}

TEST(TcpOptions, AreThoseOfTheKernelsModules) {
  EXPECT_EQ(tcp_options_of({}).value(), TcpOptions{});
  EXPECT_EQ(tcp_options_of(with("lnet", "accept", "all"))->accept, AcceptPolicy::kAll);
  EXPECT_EQ(tcp_options_of(with("lnet", "accept_port", "9988"))->tunables.accept_port, 9988);
  EXPECT_EQ(tcp_options_of(with("ksocklnd", "sock_timeout", "7"))->tunables.sock_timeout, 7);
  EXPECT_EQ(tcp_options_of(with("ko2iblnd", "credits", "7")).value(), TcpOptions{});
  EXPECT_EQ(tcp_options_of(with("lnet", "peer_buffer_credits", "7")).value(), TcpOptions{});
}

TEST(TcpOptions, WithValuesThatTheyCannotHaveAreRefusedWithThoseTheyCan) {
  const auto policy = tcp_options_of(with("lnet", "accept", "friends"));
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().what, "options lnet accept=friends: expected secure, all or none");
  const auto port = tcp_options_of(with("lnet", "accept_port", "70000"));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().what, "options lnet accept_port=70000: expected a number from 1 to 65535");
  EXPECT_FALSE(tcp_options_of(with("ksocklnd", "credits", "many")));
}

TEST(TcpOptions, OptionsOfAnNiTakePrecedence) {
  socklnd::Tunables all;
  all.conns_per_peer = 2;
  all.sock_timeout = 20;
  const std::vector<lnet::LndTunable> own{{"conns_per_peer", std::int64_t{4}},
                                          {"timeout", std::int64_t{-1}}};
  const auto tunables = tunables_of_ni(all, own);
  EXPECT_EQ(tunables.conns_per_peer, 4);
  EXPECT_EQ(tunables.sock_timeout, 20);
}

TEST(TcpOptions, ChangeLiveWhereTheKernelsModuleLetsThem) {
  lnet::NodeConfig config;
  EXPECT_TRUE(set_tcp_option(config, "sock_timeout", "20"));
  EXPECT_TRUE(set_tcp_option(config, "ksocklnd.sock_timeout", "0x15"));
  ASSERT_EQ(config.module_options.size(), 1U);
  EXPECT_EQ(tcp_options_of(config)->tunables.sock_timeout, 21);
  EXPECT_TRUE(differ_live_only(config, {}, only_tcp()));
  const auto before = config.module_options;
  const auto credits = set_tcp_option(config, "ksocklnd.credits", "7");
  ASSERT_FALSE(credits);
  EXPECT_EQ(credits.error().code, Errc::kBusy);
  EXPECT_NE(credits.error().what.find("options ksocklnd credits=7"), std::string::npos);
  for (const char* const value : {"", "many", "-2", "99999999999999999999", "1 2", "\xff"})
    EXPECT_EQ(set_tcp_option(config, "sock_timeout", value).error().code, Errc::kInvalid) << value;
  for (const char* const name : {"", "ksocklnd.", "accept_port", "ksocklnd.accept_port", "health"})
    EXPECT_EQ(set_tcp_option(config, name, "1").error().code, Errc::kNotFound) << name;
  EXPECT_EQ(config.module_options, before) << "a failed change changes nothing";
  EXPECT_FALSE(differ_live_only(config, with("ksocklnd", "credits", "7"), only_tcp()));
  EXPECT_FALSE(differ_live_only(config, with("lnet", "accept_port", "7"), only_tcp()));
}

TEST(TcpOptions, AreAllReportedUnderTheKernelsNames) {
  socklnd::Tunables tunables;
  tunables.sock_timeout = 7;
  const auto all = parameters_of(tunables);
  const auto value = [&all](std::string_view name) {
    const auto found = std::ranges::find(all, name, &lnet::LndTunable::name);
    return found == all.end() ? std::optional<std::int64_t>{}
                              : std::get<std::int64_t>(found->value);
  };
  EXPECT_EQ(value("sock_timeout"), 7);
  EXPECT_EQ(value("nagle"), 0);
  EXPECT_EQ(value("tos"), -1);
  EXPECT_FALSE(value("accept_port")) << "an option of lnet";
}

}  // namespace
}  // namespace plnet::node::tcp_options_test
