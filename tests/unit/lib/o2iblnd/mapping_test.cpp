// SPDX-License-Identifier: BSD-3-Clause
// Sinks that are mapped on demand: lifetime of the mapping, failure to map, and one key for a
// buffer of several pieces.
#include "lib/o2iblnd/write_chain.hpp"
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::mapping_test {
namespace {

constexpr std::uint32_t kLarge = 60000;

Message put_request(const ScriptedNode& node, std::uint64_t cookie = 0x11) {
  Message one = node.message(Kind::kPutRequest);
  one.header.type = lnet::MessageType::kPut;
  one.header.destination = ScriptedNode::nid(1);
  one.header.source = ScriptedNode::nid(2);
  one.header.payload_length = kLarge;
  one.cookie = cookie;
  return one;
}

Message done(const ScriptedNode& node, Kind kind, std::uint64_t cookie) {
  Message one = node.message(kind);
  one.cookie = cookie;
  one.status = static_cast<std::int32_t>(kLarge);
  return one;
}

TEST(O2iblndMapping, AGrantIsMappedUntilItsPutIsDone) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  node.receive(put_request(node), index);
  const Message ack = node.next();
  node.sent(index);
  EXPECT_EQ(node.driver.held(), 1U);
  node.receive(done(node, Kind::kPutDone, ack.sink_cookie), index);
  EXPECT_EQ(node.driver.held(), 0U);
  node.expect_clean();
}

TEST(O2iblndMapping, ASinkIsMappedUntilItsGetIsDone) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  const Message request = node.next();
  EXPECT_EQ(request.kind, Kind::kGetRequest);
  node.sent();
  EXPECT_EQ(node.driver.held(), 1U);
  node.receive(done(node, Kind::kGetDone, request.cookie));
  EXPECT_EQ(node.driver.held(), 0U);
  EXPECT_TRUE(node.last().reply_placed);
  node.expect_clean();
}

// The peer may write until the queue pair has drained.
TEST(O2iblndMapping, AQuarantinedSinkStaysMapped) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  node.sent();
  node.disconnect();
  EXPECT_TRUE(node.last().quarantined);
  node.flush();
  EXPECT_EQ(node.driver.held(), 1U);
  node.drain();
  EXPECT_EQ(node.driver.held(), 0U);
  node.expect_clean();
}

TEST(O2iblndMapping, WithoutAFreeMappingAPutWaits) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  node.receive(put_request(node, 0x11), index);
  const Message ack = node.next();
  node.sent(index);
  node.driver.mapping_fails = Errc::kNoSpace;
  node.receive(put_request(node, 0x12), index);
  EXPECT_TRUE(node.driver.sent.empty());
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_GT(node.lnd->next_deadline(), node.now);  // without another attempt
    node.turn();
  }
  node.driver.mapping_fails.reset();
  node.receive(done(node, Kind::kPutDone, ack.sink_cookie), index);
  const Message second = node.next();
  EXPECT_EQ(second.kind, Kind::kPutAck);
  EXPECT_EQ(second.cookie, 0x12U);
  node.expect_clean();
}

TEST(O2iblndMapping, MemoryThatCannotBeMappedIsRefused) {
  ScriptedNode node;
  node.driver.mapping_fails = Errc::kNoMemory;
  const std::size_t index = node.accepted();
  node.receive(put_request(node), index);
  const Message nak = node.next();
  EXPECT_EQ(nak.kind, Kind::kPutNak);
  EXPECT_EQ(nak.status, -ENOMEM);
  // The peer's answer to a GET is a PUT.
  (void)node.get(kLarge);
  EXPECT_EQ(node.next().kind, Kind::kImmediate);
  node.expect_clean();
}

TEST(O2iblndMapping, PiecesThatLieNearHaveOneKey) {
  ScriptedNode node;
  const std::array pieces{Fragment{{0, 300000}, 1000}, Fragment{{0, 200000}, 500},
                          Fragment{{0, 200500}, 4000}};
  Bytes message(kMessageBytes);
  const auto sink = lay_open({pieces, 0, 5500}, 5500, node.driver, 257, Kind::kPutAck, message);
  ASSERT_TRUE(sink.has_value());
  EXPECT_EQ(node.driver.held(), 1U);
  EXPECT_EQ(node.driver.mapped.back().at.offset, 200000U);
  EXPECT_EQ(node.driver.mapped.back().length, 101000U);
  ASSERT_EQ(sink->buffer.fragments.count(), 2U);  // two of them meet
  const std::uint64_t first = sink->buffer.fragments.at(0).address;
  EXPECT_EQ(first - sink->buffer.fragments.at(1).address, 100000U);
  node.driver.release(sink->mapping);
}

TEST(O2iblndMapping, NoMappingIsHeldAfterAFailure) {
  ScriptedNode node;
  const std::array far{Fragment{{0, 0}, 1000}, Fragment{{0, 5U << 20U}, 500}};
  Bytes message(kMessageBytes);
  const auto one = lay_open({far, 0, 1500}, 1500, node.driver, 1, Kind::kPutAck, message);
  EXPECT_EQ(one.error(), Errc::kTooBig);
  EXPECT_EQ(node.driver.held(), 0U);
  const auto two = lay_open({far, 0, 1500}, 1500, node.driver, 2, Kind::kPutAck, message);
  ASSERT_TRUE(two.has_value());  // its arena has one key
  EXPECT_EQ(node.driver.held(), 1U);
  node.driver.release(two->mapping);
}

TEST(O2iblndMapping, Rules) {
  Tunables tunables;
  EXPECT_FALSE(map_rules(tunables).arenas);
  EXPECT_EQ(map_rules(tunables).most, 512U);
  EXPECT_EQ(map_rules(tunables).open_most, 256U);
  EXPECT_TRUE(map_rules(tunables).keeps);
  tunables.map_on_demand = 0;
  EXPECT_FALSE(map_rules(tunables).arenas);
  tunables = {.map_on_demand = 2, .fmr_pool_size = 1, .fmr_cache = 0};
  EXPECT_TRUE(map_rules(tunables).arenas);
  EXPECT_EQ(map_rules(tunables).most, kMappingsMin);
  EXPECT_FALSE(map_rules(tunables).keeps);
  tunables.fmr_pool_size = 1048576;
  EXPECT_EQ(map_rules(tunables).most, MapCache::kMappingsMax);
}

TEST(O2iblndMapping, RulesChangeLive) {
  ScriptedNode node;
  EXPECT_FALSE(node.driver.rules_of_mapping.arenas);
  Tunables tunables = ScriptedNode::small().tunables;
  tunables.map_on_demand = 257;
  tunables.fmr_pool_size = 2048;
  node.lnd->set_tunables(tunables);
  EXPECT_TRUE(node.driver.rules_of_mapping.arenas);
  EXPECT_EQ(node.driver.rules_of_mapping.most, 2048U);
  EXPECT_EQ(node.lnd->interface_facts().map_on_demand, 257);
}

}  // namespace
}  // namespace plnet::o2iblnd::mapping_test
