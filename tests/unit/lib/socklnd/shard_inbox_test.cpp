// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/shard_inbox.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::shard_inbox_test {
namespace {

struct NoBell final : Doorbell {
  void wake() override {}
};

lnet::Nid nid_of(std::uint32_t number) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000001 + number);
}

// While messages of an NI that is replaced are under way, its LND and that of the new one are
// there, both by the same NID.
TEST(ShardInbox, WhatComesToAnNiThatIsReplacedComesToTheOneThatStays) {
  ArenaTable arenas;
  std::vector<std::byte> bytes(4096);
  ASSERT_TRUE(arenas.add({.base = bytes.data(), .size = bytes.size()}).has_value());
  StreamSwitch streams(16);
  ScriptedStreams driver(streams);
  streams.set_driver(driver);
  ShardInbox inbox(streams, 4);
  NoBell bell;
  inbox.set_doorbell(bell);
  const lnet::Nid ours = nid_of(0);
  const mocks::FakeCoreConfig core_config{.nid = ours,
                                          .arenas = &arenas,
                                          .memory = {0, 0},
                                          .memory_bytes = 1024,
                                          .payload_max = 100,
                                          .check_bytes = false};
  mocks::FakeCore former_core(core_config);
  mocks::FakeCore core(core_config);
  const SockLndConfig config{.nid = ours, .arenas = &arenas, .peers_max = 4, .connections_max = 4};
  auto former = std::make_unique<EnrolledLnd>(config, former_core, inbox);
  former->shut_down();
  auto stays = std::make_unique<EnrolledLnd>(config, core, inbox);
  EXPECT_EQ(inbox.lnd(ours), stays.get());
  EXPECT_EQ(inbox.lnd(nid_of(1)), nullptr);
  driver.refuse_adopt = Errc::kNoMemory;  // it is only asked who would
  inbox.bring({.local = ours, .peer = {nid_of(1)}});
  EXPECT_EQ(inbox.take_arrivals(4, 4), 1U);
  EXPECT_EQ(stays->count(SockLndCounters::Id::kRefusedAdopt), 1U);
  EXPECT_EQ(former->count(SockLndCounters::Id::kClosedShutdown), 0U);
  former.reset();
  EXPECT_EQ(inbox.lnd(ours), stays.get());
  stays.reset();
  EXPECT_EQ(inbox.lnd(ours), nullptr);
}

}  // namespace
}  // namespace plnet::socklnd::shard_inbox_test
