// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/admin/retuning.hpp"
#include "tests/unit/node/net/tcp/only_tcp.hpp"

namespace plnet::node::tcp_tuning_test {
namespace {

using lnet::LndTunable;
using lnet::NiConfig;
using lnet::NodeConfig;

// No machine has these addresses, so the speed of their link is unknown: one connection.
const lnet::Nid kOne = lnet::parse_nid("192.0.2.1@tcp").value();
const lnet::Nid kOther = lnet::parse_nid("192.0.2.2@tcp1").value();
constexpr std::int64_t kOfLinkThen = 4;  // the value when they were made

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
  [[nodiscard]] FamilyHost& host() { return *families_.hosts()[0]; }
  // The number according to retune(); 0 for an NI of another family.
  [[nodiscard]] std::int64_t connections(const lnet::Nid& nid) {
    host().take_options(config_);
    const auto rules = host().rules();
    for (const lnet::NetConfig& net : config_.nets) {
      for (const NiConfig& ni : net.nis) {
        if (ni.nid != nid || families_.host_of(net.net, ni) == nullptr) continue;
        lnet::NiSetup setup{.nid = nid};
        EXPECT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
        rules->keep_in_force(ni, setup);
        EXPECT_EQ(setup.lnd_tunables[0].name, "conns_per_peer");
        return std::get<std::int64_t>(setup.lnd_tunables[0].value);
      }
    }
    return 0;
  }
  void renew(const std::vector<TunablesInForce>& in_force) {
    host().take_options(config_);
    note_in_force(families_, config_, in_force);
  }
  void set(const lnet::NiChange& change) {
    ASSERT_TRUE(tune(config_, change, families_).has_value());
  }

  NodeConfig config_ = two_nets();
  OpenFamilies families_ = opened(std::move(TcpHost::create({.shards = 1})).value());
};

TEST_F(TcpTuning, TheAutomaticNumberStaysWhenOtherOptionsChange) {
  renew(in_force(kOfLinkThen));
  set({.net = kOther.net(), .lnd_timeout_s = 20});
  EXPECT_EQ(connections(kOne), kOfLinkThen);
  EXPECT_EQ(connections(kOther), kOfLinkThen);
  set({.net = kOther.net(), .connections_per_peer = 7});
  EXPECT_EQ(connections(kOne), kOfLinkThen) << "that of the other network was set";
  EXPECT_EQ(connections(kOther), 7);
}

TEST_F(TcpTuning, SettingTheAutomaticNumberUsesThePresentLink) {
  renew(in_force(kOfLinkThen));
  set({.net = kOther.net(), .connections_per_peer = 0});
  EXPECT_EQ(connections(kOne), kOfLinkThen);
  EXPECT_EQ(connections(kOther), 1);
}

TEST_F(TcpTuning, ANumberThatWasSetIsNotTheLinks) {
  config_.nets[0].nis[0].lnd_tunables = {{"conns_per_peer", std::int64_t{3}}};
  config_.module_options = {{"ksocklnd", "conns_per_peer", "5"}};
  renew(in_force(5));
  EXPECT_EQ(connections(kOne), 3);
  EXPECT_EQ(connections(kOther), 5);
  config_.module_options.clear();
  EXPECT_EQ(connections(kOther), 1) << "it follows the link only now";
  renew(in_force(kOfLinkThen));
  config_.module_options = {{"ksocklnd", "conns_per_peer", "2"}};
  EXPECT_EQ(connections(kOther), 2) << "and no longer";
}

TEST_F(TcpTuning, AnNiOfAnotherDriverIsNotTuned) {
  config_.nets[1].nis[0].lnd_tunables = {{"driver", std::string("null")}};
  renew(in_force(kOfLinkThen));
  EXPECT_EQ(connections(kOne), kOfLinkThen);
  EXPECT_EQ(connections(kOther), 0);
}

TEST_F(TcpTuning, AnNiThatHasGoneIsForgotten) {
  renew(in_force(kOfLinkThen));
  note_in_force(families_, {}, {});
  EXPECT_EQ(connections(kOne), 1) << "that of today";
}

}  // namespace
}  // namespace plnet::node::tcp_tuning_test
