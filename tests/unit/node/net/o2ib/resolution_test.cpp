// SPDX-License-Identifier: BSD-3-Clause
// NIs resolved from the options of a configuration and the devices of the machine.
#include <algorithm>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/admin/once_log.hpp"
#include "node/net/o2ib/host.hpp"
#include "node/net/o2ib/maker.hpp"
#include "node/net/o2ib/rules.hpp"
#include "tests/unit/node/net/o2ib/fake_adapter.hpp"
#include "tests/unit/node/net/o2ib/fake_sysfs.hpp"

namespace plnet::node::o2ib_resolution_test {
namespace {

class O2ibResolution : public ::testing::Test {
 protected:
  O2ibHost make_host() {
    return O2ibHost({.cpt_of_shard = {0, 1, 1},
                     .node_of_cpt = {0, 1},
                     .room = {.arena = 0, .bytes_each = 1, .nis = 1, .shards = 3},
                     .arenas = &arenas,
                     .opener = [this](std::uint32_t address,
                                      const ArenaTable&) -> Outcome<std::unique_ptr<O2ibAdapter>> {
                       opened.push_back(address);
                       if (fails) return failure(Errc::kNotFound, "rdma_bind_addr: No such device");
                       return std::make_unique<FakeAdapter>(wire);
                     },
                     .sysfs = system.root()});
  }
  static lnet::NiConfig on(const char* interface) {
    lnet::NiConfig ni;
    ni.interfaces = {interface};
    ni.nid = lnet::parse_nid("10.0.0.1@o2ib").value();
    return ni;
  }
  static lnet::NiSetup setup_of(const lnet::NiConfig& ni, const FamilyRules& rules) {
    return {.nid = *ni.nid, .tunables = rules.defaults(), .interfaces = ni.interfaces};
  }
  static std::int64_t value_of(const lnet::NiSetup& setup, std::string_view name) {
    const auto found = std::ranges::find(setup.lnd_tunables, name, &lnet::LndTunable::name);
    return std::get<std::int64_t>(found->value);
  }

  static constexpr runtime::LogSite kBad{runtime::LogLevel::kWarning, "bad_input", {"from", "why"}};

  runtime::LogOptions log_options() {
    runtime::LogOptions options;
    options.descriptor = -1;
    options.capture = [this](std::string_view line) { lines.emplace_back(line); };
    return options;
  }

  ManualClock clock;
  const runtime::SystemWallClock wall_clock;
  std::vector<std::string> lines;
  std::unique_ptr<runtime::Log> log =
      std::move(*runtime::Log::open(log_options(), clock, wall_clock));
  std::unique_ptr<runtime::OnceLog> once =
      std::make_unique<runtime::OnceLog>(*log, runtime::OnceLog::Sites{kBad, kBad}, clock);
  FakeSysfs system;
  FakeWire wire;
  ArenaTable arenas;
  std::vector<std::uint32_t> opened;
  bool fails = false;
};

TEST_F(O2ibResolution, AnNiHasTheCptOfItsDeviceAndTheKernelsDefaults) {
  system.add_rxe("rxe0", "eth1");
  system.write("class/infiniband/rxe0/device/numa_node", "1");
  O2ibHost host = make_host();
  const auto rules = host.rules();
  const lnet::NiConfig ni = on("eth1");
  lnet::NiSetup setup = setup_of(ni, *rules);
  ASSERT_TRUE(rules->complete(ni, std::chrono::seconds(11), setup));
  EXPECT_EQ(setup.device_cpt, 1);
  EXPECT_EQ(setup.tunables.credits, 256);
  EXPECT_EQ(setup.tunables.peer_credits, 8);
  EXPECT_EQ(setup.tunables.peer_timeout_s, 180);
  EXPECT_EQ(setup.lnd_timeout, std::chrono::seconds(50));
  EXPECT_EQ(value_of(setup, "timeout"), 50);
  EXPECT_EQ(value_of(setup, "concurrent_sends"), 8);
}

TEST_F(O2ibResolution, EventsAreReadOnTheFirstShardOnly) {
  O2ibHost host = make_host();
  ASSERT_TRUE(host.open_adapter(0x0a00'0001).has_value());
  ASSERT_TRUE(host.open_adapter(0x0a00'0002).has_value());
  for (unsigned shard = 1; shard < host.shards(); ++shard)
    (void)host.on_shard(shard)->poll(Instant{});
  EXPECT_EQ(wire.event_polls, 0U);
  (void)host.on_shard(0)->poll(Instant{});
  EXPECT_EQ(wire.event_polls, 2U);
}

TEST_F(O2ibResolution, TheDeviceOfAnAddressIsOpenedOnce) {
  system.add_rxe("rxe0", "eth1");
  O2ibHost host = make_host();
  const auto rules = host.rules();
  const lnet::NiConfig ni = on("eth1");
  lnet::NiSetup setup = setup_of(ni, *rules);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
  EXPECT_EQ(opened, std::vector{0x0a000001U});
  EXPECT_NE(host.adapter(0x0a000001), nullptr);
  EXPECT_EQ(host.adapter(0x0a000002), nullptr);
}

// Otherwise it could not be deleted.
TEST_F(O2ibResolution, AnNiWhoseDeviceHasGoneIsStillResolved) {
  system.add_rxe("rxe0", "eth1");
  O2ibHost host = make_host();
  const auto rules = host.rules();
  const lnet::NiConfig ni = on("eth1");
  lnet::NiSetup setup = setup_of(ni, *rules);
  ASSERT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
  system.write("class/infiniband/rxe0/parent", "elsewhere0");
  EXPECT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
}

TEST_F(O2ibResolution, ARemovedDeviceIsReportedOnceAndReplaced) {
  system.add_rxe("rxe0", "eth1");
  O2ibHost host = make_host();
  const auto rules = host.rules();
  const lnet::NiConfig ni = on("eth1");
  lnet::NiSetup setup = setup_of(ni, *rules);
  ASSERT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
  const O2ibAdapter* const first = host.adapter(0x0a000001);
  EXPECT_EQ(host.link_trouble_of(*ni.nid), "");
  wire.removed = true;
  for (int i = 0; i < 3; ++i)
    host.say(*log, *once);
  wire.removed = false;
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].contains("event=device_removed device=\"fake0 port 1\" address=10.0.0.1"))
      << lines[0];
  EXPECT_TRUE(lines[0].contains("`lnetctl net del` and `lnetctl net add`")) << lines[0];
  EXPECT_TRUE(host.link_trouble_of(*ni.nid).starts_with("its RDMA device was removed"));
  fails = true;  // the device does not exist yet
  EXPECT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup)) << "or it cannot be deleted";
  EXPECT_EQ(host.adapter(0x0a000001), first);
  fails = false;
  ASSERT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
  EXPECT_NE(host.adapter(0x0a000001), first);
  EXPECT_EQ(opened.size(), 3U);
}

TEST_F(O2ibResolution, BeforeTheNodeIsThereNoDeviceIsOpened) {
  const lnet::NiConfig ni = on("plnetnone0");
  const O2ibRules rules(O2ibOptions{}, nullptr);
  lnet::NiSetup setup = setup_of(ni, rules);
  const auto complete = rules.complete(ni, std::chrono::seconds(50), setup);
  ASSERT_FALSE(complete) << "no machine has an interface of this name";
  EXPECT_EQ(complete.error().code, Errc::kNotFound);
  EXPECT_TRUE(
      complete.error().what.starts_with("network o2ib: no verbs device on interface plnetnone0; "))
      << complete.error().what;
}

TEST_F(O2ibResolution, ADeviceThatDoesNotOpenIsNamed) {
  system.add_rxe("rxe0", "eth1");
  fails = true;
  O2ibHost host = make_host();
  const auto rules = host.rules();
  const lnet::NiConfig ni = on("eth1");
  lnet::NiSetup setup = setup_of(ni, *rules);
  const auto complete = rules->complete(ni, std::chrono::seconds(50), setup);
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().what, "interface eth1 (rxe0 port 1): rdma_bind_addr: No such device");
}

// The kernel's bounds of peer_credits.
TEST_F(O2ibResolution, CreditsOfAPeerAreBounded) {
  system.add_rxe("rxe0", "eth1");
  O2ibHost host = make_host();
  const auto rules = host.rules();
  const lnet::NiConfig ni = on("eth1");
  for (const auto& [asked, used] : {std::pair{2, 8}, {32, 32}, {1000, 255}}) {
    lnet::NiSetup setup = setup_of(ni, *rules);
    setup.tunables.credits = 2048;
    setup.tunables.peer_credits = asked;
    ASSERT_TRUE(rules->complete(ni, std::chrono::seconds(50), setup));
    EXPECT_EQ(setup.tunables.peer_credits, used);
  }
}

TEST_F(O2ibResolution, ValuesBeyondTheWireFormatAreRefused) {
  O2ibHost host = make_host();
  const auto rules = host.rules();
  lnet::NiConfig ni = on("eth1");
  ni.nid = lnet::parse_nid("fe80::1@o2ib").value_or(lnet::Nid{});
  ni.nid->size = lnet::Nid::kLargeSize;
  lnet::NiSetup setup = setup_of(ni, *rules);
  EXPECT_EQ(rules->complete(ni, std::chrono::seconds(50), setup).error().code, Errc::kInvalid);
  ni = on("eth1");
  ni.interfaces.push_back("eth2");
  setup = setup_of(ni, *rules);
  EXPECT_EQ(rules->complete(ni, std::chrono::seconds(50), setup).error().code, Errc::kInvalid);
}

TEST_F(O2ibResolution, MemoryBoundsTheConnections) {
  const LndSetup setup{.messages = 64, .peers = 16};
  auto config = o2ib_limits(setup, {}, 100, 4);
  EXPECT_EQ(config.tunables.ntx, 256) << "a shard has no fewer";
  const std::uint64_t enough = message_memory_bytes(config);
  EXPECT_EQ(o2ib_connections_in(enough, config), 100U);
  EXPECT_EQ(o2ib_connections_in(enough - 1, config), 99U);
  EXPECT_EQ(o2ib_connections_in(10 * enough, config), 100U);
  EXPECT_EQ(o2ib_connections_in(4096, config), 0U);
}

}  // namespace
}  // namespace plnet::node::o2ib_resolution_test
