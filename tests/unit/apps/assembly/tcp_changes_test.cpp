// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/tcp_changes.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps::tcp_changes_test {
namespace {

using lnet::LndTunable;
using lnet::NiConfig;
using lnet::NodeConfig;

// No machine has these addresses, so that the speed of their link is unknown: one connection.
const lnet::Nid kOne = lnet::parse_nid("192.0.2.1@tcp").value();
const lnet::Nid kOther = lnet::parse_nid("192.0.2.2@tcp1").value();
constexpr std::int64_t kOfLinkThen = 4;  // what it was when they were made

NodeConfig two_nets() {
  return {.nets = {{.net = kOne.net(), .nis = {{.nid = kOne}}},
                   {.net = kOther.net(), .nis = {{.nid = kOther}}}}};
}

std::vector<TunablesInForce> in_force(std::int64_t connections) {
  const std::vector<LndTunable> values{{"timeout", std::int64_t{50}},
                                       {"conns_per_peer", connections}};
  return {{.nid = kOne, .values = values}, {.nid = kOther, .values = values}};
}

class TcpTuning : public ::testing::Test {
 protected:
  // As retune() has it; of an NI that is not among them 0.
  [[nodiscard]] std::int64_t connections(const lnet::Nid& nid) const {
    const auto options = tcp_options_of(config_);
    EXPECT_TRUE(options.has_value());
    const auto nis = retuned_nis(config_, options->tunables, by_link_,
                                 [&options](lnet::NetId net, const NiConfig& ni) {
                                   return resolve_ni(net, ni, 1, *options);
                                 });
    for (const Retuned& each : nis) {
      if (each.nid != nid) continue;
      EXPECT_EQ(each.in_force[0], (LndTunable{"conns_per_peer", each.tunables.conns_per_peer}));
      return each.tunables.conns_per_peer;
    }
    return 0;
  }
  void set(const lnet::NiChange& change) {
    by_link_.forget(config_, change);
    ASSERT_TRUE(tune(config_, change).has_value());
  }

  NodeConfig config_ = two_nets();
  ConnectionsByLink by_link_;
};

TEST_F(TcpTuning, WhatTheLinkCameToStaysWhenSomethingElseIsSet) {
  by_link_.renew(config_, in_force(kOfLinkThen));
  set({.net = kOther.net(), .lnd_timeout_s = 20});
  EXPECT_EQ(connections(kOne), kOfLinkThen);
  EXPECT_EQ(connections(kOther), kOfLinkThen);
  set({.net = kOther.net(), .connections_per_peer = 7});
  EXPECT_EQ(connections(kOne), kOfLinkThen) << "that of the other network was set";
  EXPECT_EQ(connections(kOther), 7);
}

TEST_F(TcpTuning, WhoIsToldToFollowTheLinkDoesSoAsItIsNow) {
  by_link_.renew(config_, in_force(kOfLinkThen));
  set({.net = kOther.net(), .connections_per_peer = 0});
  EXPECT_EQ(connections(kOne), kOfLinkThen);
  EXPECT_EQ(connections(kOther), 1);
}

TEST_F(TcpTuning, ANumberThatWasSetIsNotTheLinks) {
  config_.nets[0].nis[0].lnd_tunables = {{"conns_per_peer", std::int64_t{3}}};
  config_.module_options = {{"ksocklnd", "conns_per_peer", "5"}};
  by_link_.renew(config_, in_force(5));
  EXPECT_EQ(connections(kOne), 3);
  EXPECT_EQ(connections(kOther), 5);
  config_.module_options.clear();
  EXPECT_EQ(connections(kOther), 1) << "it follows the link only now";
  by_link_.renew(config_, in_force(kOfLinkThen));
  config_.module_options = {{"ksocklnd", "conns_per_peer", "2"}};
  EXPECT_EQ(connections(kOther), 2) << "and no longer";
}

TEST_F(TcpTuning, AnNiOfAnotherDriverIsNotTuned) {
  config_.nets[1].nis[0].lnd_tunables = {{"driver", std::string("null")}};
  by_link_.renew(config_, in_force(kOfLinkThen));
  EXPECT_EQ(connections(kOne), kOfLinkThen);
  EXPECT_EQ(connections(kOther), 0);
}

TEST_F(TcpTuning, AnNiThatHasGoneIsForgotten) {
  by_link_.renew(config_, in_force(kOfLinkThen));
  by_link_.renew({}, {});
  EXPECT_EQ(connections(kOne), 1) << "that of today";
}

}  // namespace
}  // namespace plnet::apps::tcp_changes_test
