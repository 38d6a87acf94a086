// SPDX-License-Identifier: BSD-3-Clause
// Nodes on a TCP and a kfi network with a policy that prefers kfi: all messages use kfi, also those
// for a peer's NID on TCP; while the cable of a NIC is pulled they use TCP, then kfi again.
#include <algorithm>
#include <array>
#include <chrono>

#include <gtest/gtest.h>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/site/site.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim::policy_site_test {
namespace {

using lnet::NetType;
using std::chrono::seconds;

constexpr unsigned kPulled = 0;  // the node with the pulled cable

SiteConfig plan() {
  SiteConfig site;
  site.nodes = 3;
  site.shards = {2, 1};
  site.nets = {{.kind = NetKind::kTcp}, {.kind = NetKind::kKfi}};
  site.time = seconds(600);
  site.traffic.operations = 100'000;  // until the test ends
  site.traffic.pause = std::chrono::milliseconds(200);
  site.traffic.size_max = 20'000;
  site.traffic.loopback_percent = 0;
  return site;
}

class PolicySite : public testing::Test {
 protected:
  struct Sent {
    double tcp = 0;
    double kfi = 0;
    [[nodiscard]] double by_kfi() const { return kfi / std::max(tcp + kfi, 1.0); }
  };

  PolicySite() {
    site_.start();
    for (const auto& host : site_.world().hosts) {
      const lnet::Nid& nid = kfi_nid(*host);
      const auto range = lnet::UdspRange::parse(lnet::text_of_net(nid.net()));
      EXPECT_TRUE(range);
      const std::array policies{
          lnet::Udsp{.source = *range, .destination = {}, .router = {}, .priority = 0}};
      host->node().coordinator().set_policies(policies);
    }
    site_.run_for(seconds(10));
  }
  [[nodiscard]] Host& host(unsigned node) { return *site_.world().hosts[node]; }
  static const lnet::Nid& kfi_nid(const Host& host) {
    return *std::ranges::find_if(host.nids(),
                                 [](const lnet::Nid& nid) { return nid.is_of(NetType::kKfi); });
  }
  // Counts since the start.
  Sent sent(unsigned node) {
    using Id = lnet::LnetTraffic::Id;
    Sent sum;
    lnet::Node& of = host(node).node();
    for (const lnet::Ni* const ni : of.coordinator().local().nis) {
      for (unsigned shard = 0; shard < of.shards(); ++shard) {
        const auto* const port = of.shard(shard).core().ports[ni->number];
        if (port == nullptr) continue;
        double& to = ni->nid.is_of(NetType::kKfi) ? sum.kfi : sum.tcp;
        to +=
            static_cast<double>(port->traffic.get(Id::kSentPut) + port->traffic.get(Id::kSentGet));
      }
    }
    return sum;
  }
  Sent sent_within(unsigned node, Duration time) {
    const Sent before = sent(node);
    site_.run_for(time);
    const Sent after = sent(node);
    return {.tcp = after.tcp - before.tcp, .kfi = after.kfi - before.kfi};
  }

  Site site_{plan()};
};

TEST_F(PolicySite, KfiIsTakenButForTheTimeOfAPulledCable) {
  const Sent at_first = sent_within(kPulled, seconds(20));
  EXPECT_GT(at_first.kfi, 50);
  EXPECT_GT(at_first.by_kfi(), 0.98);
  ASSERT_TRUE(host(kPulled).network_of(1).move(kfi_nid(host(kPulled))));
  site_.run_for(seconds(60));
  const Sent pulled = sent_within(kPulled, seconds(20));
  EXPECT_GT(pulled.tcp, 20);
  EXPECT_LT(pulled.by_kfi(), 0.2) << "pings that look for those behind it";
  host(kPulled).network_of(1).put_back(kfi_nid(host(kPulled)));
  site_.run_for(seconds(120));
  const Sent at_last = sent_within(kPulled, seconds(20));
  EXPECT_GT(at_last.kfi, 50);
  EXPECT_GT(at_last.by_kfi(), 0.98);
}

}  // namespace
}  // namespace plnet::sim::policy_site_test
