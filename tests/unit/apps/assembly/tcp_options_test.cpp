// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/tcp_options.hpp"

#include <gtest/gtest.h>

namespace plnet::apps {
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

TEST(TcpOptions, OfAnNiComeBeforeThoseOfAll) {
  socklnd::Tunables all;
  all.conns_per_peer = 2;
  all.sock_timeout = 20;
  const std::vector<lnet::LndTunable> own{{"conns_per_peer", std::int64_t{4}},
                                          {"timeout", std::int64_t{-1}}};
  const auto tunables = tunables_of_ni(all, own);
  EXPECT_EQ(tunables.conns_per_peer, 4);
  EXPECT_EQ(tunables.sock_timeout, 20);
}

}  // namespace
}  // namespace plnet::apps
