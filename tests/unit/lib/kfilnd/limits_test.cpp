// SPDX-License-Identifier: BSD-3-Clause
// Receive buffers, keys, message sizes, session keys, tunables, statistics, and messages that the
// core parks.
#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::limits_test {
namespace {

using Call = ScriptedEndpoint::Call;
using enum FabricEvent;
using std::chrono::seconds;

std::vector<std::byte> inline_put(std::uint32_t length, unsigned from = 1) {
  Message message = lnet_message(from, 0, Kind::kImmediate, 2, lnet::MessageType::kPut, length);
  message.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
  return bytes_of(message, length);
}

std::vector<std::byte> bulk_put() {
  Message message = lnet_message(1, 0, Kind::kBulkPut, 2, lnet::MessageType::kPut, 65536);
  message.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
  return bytes_of(message);
}

TEST(KfilndBuffers, PostedAgainWhenTheLastMessageIsOver) {
  ScriptedNode node;
  node.meet();
  EXPECT_EQ(node.lnd->receive_buffers().posted(), 8U);
  node.arrive(inline_put(10), true);
  EXPECT_EQ(node.endpoint.buffers_posted, 9U);
  EXPECT_EQ(node.lnd->receive_buffers().posted(), 8U);
  const std::uint64_t cookie = node.endpoint.buffers.begin()->first;
  node.endpoint.buffers.erase(cookie);
  node.tell({.event = kBufferUnlinked, .status = std::unexpected(Errc::kIo), .cookie = cookie});
  EXPECT_EQ(node.endpoint.buffers_posted, 10U) << "the kernel loses a buffer that fails";
}

TEST(KfilndBuffers, RefusedPostsAreTriedAgain) {
  ScriptedNode node;
  node.meet();
  node.endpoint.fail_next(Call::kBuffer, Errc::kAgain, 2);
  node.arrive(inline_put(10), true);
  EXPECT_EQ(node.lnd->receive_buffers().posted(), 7U);
  EXPECT_EQ(node.lnd->receive_buffers().missing(), 1U);
  EXPECT_LE(node.lnd->next_deadline(), node.now + std::chrono::milliseconds(100));
  node.turn(std::chrono::milliseconds(100));
  node.turn(std::chrono::milliseconds(100));
  EXPECT_EQ(node.lnd->receive_buffers().posted(), 8U);
  EXPECT_EQ(node.count(LndId::kReposts), 1U);
}

TEST(KfilndBuffers, ParkedMessagesDoNotHoldThem) {
  ScriptedNode node({.copies_max = 2}, 100);
  node.meet();
  for (int i = 0; i < 2; ++i)
    node.arrive(inline_put(100));
  node.arrive(inline_put(0), true);
  EXPECT_EQ(node.endpoint.buffers_posted, 9U);
  node.arrive(inline_put(100), true);
  EXPECT_EQ(node.endpoint.buffers_posted, 9U) << "no place to copy it to: it stays";
  EXPECT_EQ(node.count(LndId::kHeldBuffers), 1U);
  EXPECT_EQ(node.count(LndId::kCopiedOut), 2U);
  node.core->resume_all();
  node.turn();
  EXPECT_EQ(node.core->tally().puts, 4U);
  EXPECT_EQ(node.endpoint.buffers_posted, 10U);
  node.expect_clean();
}

// It has no payload to keep, even if its transaction had one before.
TEST(KfilndBuffers, ABulkRequestNeedsNoPlace) {
  Message request = lnet_message(1, 0, Kind::kBulkPut, 2, lnet::MessageType::kPut, 65536);
  request.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
  ScriptedNode node({.copies_max = 1}, 100);
  node.meet();
  node.arrive(inline_put(100));
  EXPECT_EQ(node.count(LndId::kCopiedOut), 1U);
  node.core->resume_all();
  node.turn();
  node.arrive(bytes_of(request));
  EXPECT_EQ(node.core->tally().parked, 2U);
  EXPECT_EQ(node.count(LndId::kCopiedOut), 1U);
  node.expect_clean();

  ScriptedNode crowded({.copies_max = 0});
  crowded.meet();
  crowded.arrive(inline_put(100));
  request.source_nid = nid64_of(2);
  request.header.source = nid_of(2);
  crowded.arrive(bytes_of(request));
  EXPECT_EQ(crowded.count(LndId::kEarly), 1U);
  EXPECT_EQ(crowded.count(LndId::kEarlyDropped), 0U)
      << "it waits for a HELLO outside of all places";
  crowded.expect_clean();
}

TEST(KfilndBuffers, MoreMessagesThanTransactionsWait) {
  ScriptedNode node({.receives_max = 2, .backlog_max = 2});
  node.meet();
  for (int i = 0; i < 6; ++i)
    node.arrive(bulk_put());
  EXPECT_EQ(node.endpoint.waiting(Call::kRead), 2U);
  EXPECT_EQ(node.count(LndId::kPutOff), 2U);
  EXPECT_EQ(node.count(LndId::kNoTransaction), 2U);
  for (int i = 0; i < 4; ++i)
    node.done(kRemoteDone, node.endpoint.take(Call::kRead));
  EXPECT_EQ(node.core->tally().puts, 4U);
  node.expect_clean();
}

// Else nothing of other peers would be received while messages of one peer wait.
TEST(KfilndBuffers, MessagesOfOnePeerThatWaitHaveHalfOfTheReceives) {
  ScriptedNode node({.receives_max = 16}, 100);
  node.meet(1);
  node.meet(2);
  for (int i = 0; i < 20; ++i)
    node.land(inline_put(100), i == 19);
  EXPECT_EQ(node.count(LndId::kParkedShare), 12U);
  EXPECT_EQ(node.core->tally().parked_gone, 12U);
  EXPECT_EQ(node.lnd->receives_free(), 8U);
  EXPECT_EQ(node.lnd->receive_buffers().posted(), 8U);
  for (int i = 0; i < 10; ++i)
    node.land(inline_put(100, 2));
  EXPECT_EQ(node.count(LndId::kParkedShare), 18U) << "the second peer has half of the rest";
  EXPECT_EQ(node.lnd->receives_free(), 4U);
  node.core->resume_all();
  node.turn();
  EXPECT_EQ(node.core->tally().puts, 12U);
  EXPECT_EQ(node.lnd->receives_free(), 16U);
  node.land(inline_put(100));
  EXPECT_EQ(node.count(LndId::kParkedShare), 18U);
  node.expect_clean();
}

TEST(KfilndBuffers, ABulkRequestBeyondTheShareIsAnswered) {
  ScriptedNode node({.receives_max = 2}, 100);
  node.meet();
  node.land(bulk_put());
  node.land(bulk_put());
  EXPECT_EQ(node.count(LndId::kParkedShare), 1U);
  const auto answer = node.endpoint.take(Call::kAnswer);
  EXPECT_EQ(answer.data, static_cast<std::uint64_t>(ENOSPC));
  node.done(kRemoteDone, answer);
  EXPECT_EQ(node.lnd->receives_free(), 1U);
  node.expect_clean();
}

TEST(KfilndBuffers, ADriverThatSpeaksOfBytesOutside) {
  ScriptedNode node;
  node.tell({.event = kMessage, .cookie = 0, .length = 100, .offset = 1U << 30U});
  node.tell({.event = kMessage, .cookie = 99, .length = 100});
  EXPECT_EQ(node.count(LndId::kShort), 1U);
  EXPECT_EQ(node.count(LndId::kStrayCompletions), 1U);
}

TEST(KfilndKeys, AllInUseIsAnErrorAndNotAHang) {
  KeyAllocator keys;
  std::set<std::uint16_t> taken;
  for (std::uint32_t i = 0; i < KeyAllocator::kKeys; ++i)
    taken.insert(keys.take());
  EXPECT_EQ(taken.size(), 65534U);
  EXPECT_EQ(*taken.begin(), kKeyMin);
  EXPECT_EQ(*taken.rbegin(), kKeyMax);
  EXPECT_EQ(keys.take(), 0);
  keys.give(7);
  EXPECT_EQ(keys.take(), 7);
}

// Lives that begin a second or a millisecond apart differ as well: no peer confuses them, and they
// share hardly any tags.
TEST(KfilndKeys, LivesOfNodesBeginFarFromEachOther) {
  constexpr std::uint32_t kForgotten = 1U << 16U;  // KfiLnd::kForgottenMax
  constexpr std::uint64_t kStart = 1'700'000'000'000'000'000;
  for (const std::uint64_t apart : {1ULL, 1'000'000ULL, 1'000'000'000ULL, 30'000'000'000ULL}) {
    std::set<std::uint16_t> of_tags;
    for (std::uint64_t life = 0; life < 100; ++life) {
      const std::uint32_t first = first_session_key_of(kStart + life * apart);
      const std::uint32_t next = first_session_key_of(kStart + (life + 1) * apart);
      EXPECT_GT(next - first, kForgotten);
      of_tags.insert(static_cast<std::uint16_t>(first));
    }
    EXPECT_GT(of_tags.size(), 95U);
  }
}

TEST(KfilndKeys, SixtyFiveThousandTransfers) {
  KfiLndConfig config;
  config.tunables.credits = 65535;
  config.tunables.peer_credits = 65535;
  config.always_bulk = true;
  ScriptedNode node(config);
  node.meet();
  for (std::uint32_t i = 0; i < KeyAllocator::kKeys; ++i)
    (void)node.core->put(nid_of(1), 1, false);
  node.turn();
  EXPECT_EQ(node.endpoint.waiting(Call::kPostTagged), KeyAllocator::kKeys);
  EXPECT_EQ(node.completions(), 0U);
  node.put(1);
  ASSERT_EQ(node.completions(), 1U);
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kNoMemory)));
  EXPECT_EQ(node.last().health, Health::kLocalError);
  EXPECT_EQ(node.count(LndId::kNoKey), 1U);
}

TEST(KfilndSizes, LimitsOfInlineMessages) {
  ScriptedNode node;
  node.meet();
  for (const std::uint32_t size : {0U, 1U, 3996U, 3997U, 4096U, 1U << 20U}) {
    const Kind put = size > 3996 ? Kind::kBulkPut : Kind::kImmediate;
    const Kind get = size > 3996 ? Kind::kBulkGet : Kind::kImmediate;
    node.put(size);
    EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, put) << size;
    node.get(size);
    EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, get) << size;
  }
  for (const bool router : {false, true}) {
    lnet::Transmit& routed = node.core->get(nid_of(1), 1U << 20U);
    routed.routed = !router;
    routed.next_hop_is_router = router;
    node.turn();
    EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kImmediate);
  }
}

TEST(KfilndSizes, MemoryThatTheCpuDoesNotReach) {
  ScriptedNode node({.always_bulk = true});
  node.meet();
  node.put(1);
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kBulkPut);
  node.get(1);
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kBulkGet);
  node.put(0);
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kImmediate);
}

TEST(KfilndSizes, AnAckHasNoPayload) {
  ScriptedNode node;
  node.meet();
  lnet::Transmit& transmit = node.core->put(nid_of(1), 10, false);
  transmit.header.type = lnet::MessageType::kAck;
  node.turn();
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kInvalid)));
}

TEST(KfilndChecksums, WrittenAndLookedAtIfAsked) {
  KfiLndConfig config;
  config.tunables.cksum = 1;
  ScriptedNode node(config);
  std::vector<std::byte> hello =
      bytes_of(hello_message(1, 0, Kind::kHelloRequest, {.session_key = 4}));
  Checksum checksum;
  checksum.add(hello);
  set_checksum(static_cast<std::uint16_t>(checksum.value() ^ 1U), hello);
  node.arrive(hello);
  EXPECT_EQ(node.count(LndId::kChecksum), 1U);
  set_checksum(checksum.value(), hello);
  node.arrive(hello);
  const auto answer = node.endpoint.take(Call::kSend);
  Checksum whole;
  whole.add(answer.head);
  EXPECT_EQ(whole.value(), 0U);
  CommonWire common;
  std::memcpy(&common, answer.head.data(), sizeof common);
  EXPECT_NE(common.checksum, 0U);
}

TEST(KfilndSessionKeys, RecentKeysAreNotReused) {
  ScriptedEndpoint endpoint;
  PeerCache peers(4, 0xfffe, endpoint);
  const Instant now{};
  Peer& first = **peers.create(nid_of(1), now, seconds(125));
  EXPECT_EQ(first.local_session_key, 0xfffeU);
  peers.retire_key(first, now + seconds(375));
  peers.remove(first);
  for (std::uint32_t i = 1; i < 65536; ++i) {
    Peer& next = **peers.create(nid_of(1), now, seconds(125));
    ASSERT_NE(next.local_session_key & 0xffffU, 0xfffeU);
    peers.remove(next);
  }
  Peer& next = **peers.create(nid_of(1), now, seconds(125));
  EXPECT_EQ(next.local_session_key & 0xffffU, 0xffffU) << "the retired one was stepped over";
  peers.remove(next);
  EXPECT_EQ(endpoint.resolved, endpoint.forgotten);
}

// A tag contains only 16 bits of a session key.
TEST(KfilndSessionKeys, KeysOfLivePeersAreNotReused) {
  ScriptedEndpoint endpoint;
  PeerCache peers(4, 5, endpoint);
  const Instant now{};
  const Peer& first = **peers.create(nid_of(1), now, seconds(125));
  EXPECT_EQ(first.local_session_key, 5U);
  Peer& dying = **peers.create(nid_of(2), now, seconds(125));
  peers.use(dying);
  peers.remove(dying);  // transactions finish on it
  for (std::uint32_t i = 0; i < 3 * 65536; ++i) {
    Peer& next = **peers.create(nid_of(3), now, seconds(125));
    ASSERT_NE(next.local_session_key & 0xffffU, 5U);
    ASSERT_NE(next.local_session_key & 0xffffU, 6U);
    peers.remove(next);
  }
  peers.release(dying);
  bool again = false;
  for (std::uint32_t i = 0; i < 65536 && !again; ++i) {
    Peer& next = **peers.create(nid_of(3), now, seconds(125));
    again = (next.local_session_key & 0xffffU) == 6U;
    peers.remove(next);
  }
  EXPECT_TRUE(again) << "it is over";
}

TEST(KfilndBuffers, EveryMessageThatWaitsHasAPlaceOfItsOwn) {
  const KfiLndConfig config;
  EXPECT_GE(config.copies_max, config.receives_max) << "or a buffer of 2 MiB waits with it";
  ScriptedNode node({.receives_max = 80, .copies_max = 40}, 100);
  node.meet();
  for (int i = 0; i < 40; ++i)
    node.arrive(inline_put(100), i == 39);
  EXPECT_EQ(node.core->tally().parked, 40U);
  EXPECT_EQ(node.count(LndId::kHeldBuffers), 0U);
  EXPECT_EQ(node.lnd->receive_buffers().posted(), 8U);
}

TEST(KfilndCancel, OnlyUnstartedMessages) {
  ScriptedNode node;
  lnet::Transmit& waiting = node.put(10);
  node.core->cancel(waiting);
  node.turn();
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kCancelled)));
  EXPECT_EQ(node.last().health, Health::kOk);
  node.meet();
  lnet::Transmit& begun = node.put(65536);
  node.core->cancel(begun);
  node.turn();
  EXPECT_EQ(node.completions(), 1U);
  const auto tagged = node.endpoint.take(Call::kPostTagged);
  node.done(kTaggedRead, tagged, {}, 65536);
  node.done(kSent, node.endpoint.take(Call::kSend));
  EXPECT_TRUE(node.last().status.has_value());
  node.expect_clean();
}

TEST(KfilndStatistics, BucketsAreTheKernels) {
  EXPECT_EQ(bucket_of(0), 0U);
  EXPECT_EQ(bucket_of(1), 1U);
  EXPECT_EQ(bucket_of(4095), 12U);
  EXPECT_EQ(label_of(12), 2048U) << "a size is rounded down";
  EXPECT_EQ(bucket_of(4096), 13U);
  EXPECT_EQ(bucket_of(1U << 20U), 21U);
  EXPECT_EQ(bucket_of(~0U), 21U);
  EXPECT_EQ(label_of(21), 1U << 20U);
  EXPECT_EQ(kStateColumns.size(), 12U);
}

TEST(KfilndStatistics, TimeIsCountedWhereItWasSpent) {
  ScriptedNode node;
  node.meet();
  node.lnd->reset_statistics();
  node.put(65536);
  const auto tagged = node.endpoint.take(Call::kPostTagged);
  const auto request = node.endpoint.take(Call::kSend);
  node.turn(seconds(1));
  node.done(kSent, request);
  node.turn(seconds(2));
  node.done(kTaggedRead, tagged, {}, 65536);
  const SideStatistics& ours = node.lnd->statistics().initiator;
  const std::size_t bucket = bucket_of(65536);
  EXPECT_EQ(ours.total(bucket).count, 1U);
  EXPECT_EQ(ours.total(bucket).max_ns, 3'000'000'000U);
  EXPECT_EQ(ours.state(bucket, TransactionState::kWaitComp).sum_ns, 1'000'000'000U);
  EXPECT_EQ(ours.state(bucket, TransactionState::kWaitTagComp).sum_ns, 2'000'000'000U);
  EXPECT_NE(total_table(ours).find("       65536       3000000000       3000000000"),
            std::string::npos);
  EXPECT_NE(state_table(ours).find("WAIT_TAG_RMA_COMP"), std::string::npos);
  node.arrive(inline_put(100));
  EXPECT_EQ(node.lnd->statistics().target.total(bucket_of(100)).count, 1U);
}

TEST(KfilndTunables, DefaultsAreTheKernels) {
  const Tunables tunables;
  EXPECT_EQ(tunables.credits, 512);
  EXPECT_EQ(tunables.peer_credits, 16);
  EXPECT_EQ(tunables.kfi_timeout, 125);
  EXPECT_EQ(lnd_timeout(tunables, seconds(49)), seconds(125));
  EXPECT_EQ(lnd_timeout({.kfi_timeout = 0}, seconds(49)), seconds(49));
  EXPECT_EQ(receive_buffer_bytes(tunables), 2U << 20U);
  EXPECT_EQ(receive_buffer_bytes({.credits = 1}), 4096U);
  EXPECT_EQ(operations_max(tunables), 1024U);
}

TEST(KfilndTunables, SetAndRefused) {
  Tunables tunables;
  EXPECT_TRUE(set_tunable(tunables, "immediate_rx_buf_count", 2).has_value());
  EXPECT_EQ(set_tunable(tunables, "immediate_rx_buf_count", 1).error(), Errc::kOutOfRange);
  EXPECT_EQ(set_tunable(tunables, "no_such", 1).error(), Errc::kNotFound);
  EXPECT_TRUE(check(tunables).has_value());
  EXPECT_TRUE(set_tunable(tunables, "credits", 8).has_value());
  EXPECT_EQ(check(tunables).error(), Errc::kOutOfRange) << "peer_credits are 16";
  EXPECT_EQ(tunable_table().size(), 20U);
}

TEST(KfilndTunables, TrafficClasses) {
  EXPECT_EQ(parse_traffic_class("low_latency"), TrafficClass::kLowLatency);
  EXPECT_EQ(static_cast<std::uint32_t>(TrafficClass::kNetworkCtrl), 0x205U);
  EXPECT_EQ(name_of(TrafficClass::kBulkData), "bulk_data");
  EXPECT_EQ(parse_traffic_class("fast"), std::nullopt);
  EXPECT_EQ(on_cassini(TrafficClass::kScavenger), TrafficClass::kBestEffort);
  EXPECT_EQ(on_cassini(TrafficClass::kBulkData), TrafficClass::kBulkData);
  ScriptedNode node({.traffic_class = TrafficClass::kBulkData});
  EXPECT_EQ(node.lnd->interface_facts().traffic_class_num, 0x203U);
  EXPECT_EQ(node.lnd->interface_facts().timeout, 125);
  EXPECT_EQ(node.lnd->interface_facts().auth_key, 255);
}

TEST(KfilndFacts, PeerReports) {
  ScriptedNode node;
  node.meet();
  node.turn(seconds(3));
  unsigned seen = 0;
  for (std::uint32_t slot = 0; slot <= node.lnd->peer_slots(); ++slot) {
    const auto facts = node.lnd->peer_facts(slot, node.now);
    if (!facts) continue;
    ++seen;
    EXPECT_EQ(facts->nid, nid_of(1));
    EXPECT_EQ(name_of(facts->state), "UPTODATE");
    EXPECT_EQ(facts->rx_base, 3);
    EXPECT_EQ(facts->silent, seconds(3));
  }
  EXPECT_EQ(seen, 1U);
}

}  // namespace
}  // namespace plnet::kfilnd::limits_test
