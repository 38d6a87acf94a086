// SPDX-License-Identifier: BSD-3-Clause
// Peers that break the protocol: the connection ends, the violation is counted and logged with the
// NID, and no resource of ours grows.
#include "lib/base/random.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::hostile_test {
namespace {

constexpr std::uint32_t kLarge = 1U << 20U;

struct Log final : Complaints {
  void tell(const Complaint& one) override { told.push_back(one); }
  std::vector<Complaint> told;
};

struct Victim {
  Victim() {
    O2ibLndConfig config = ScriptedNode::small();
    config.complaints = &log;
    node = std::make_unique<ScriptedNode>(config);
    index = node->accepted();
  }
  void expect_closed(LndId why) {
    EXPECT_TRUE(node->pair(index).in_error);
    EXPECT_EQ(node->count(why), 1U);
    ASSERT_FALSE(log.told.empty());
    EXPECT_EQ(log.told.back().nid, ScriptedNode::nid(2));
    EXPECT_EQ(log.told.back().cause, O2ibCounters::kInfo[static_cast<std::size_t>(why)].name);
    node->end(index);
    EXPECT_EQ(node->connections(), 0U);
    node->expect_clean();
  }
  Log log;
  std::unique_ptr<ScriptedNode> node;
  std::size_t index = 0;
};

Message immediate(const ScriptedNode& node) {
  Message one = node.message(Kind::kImmediate);
  one.header.type = lnet::MessageType::kPut;
  return one;
}

TEST(O2iblndHostile, MessagesThatAreNone) {
  const auto spoilt = [](std::size_t at, std::uint8_t value, LndId why) {
    Victim victim;
    Bytes bytes = ScriptedNode::bytes_of(immediate(*victim.node));
    bytes[at] = static_cast<std::byte>(value);
    victim.node->receive(bytes, victim.index);
    victim.expect_closed(why);
  };
  spoilt(0, 0x90, LndId::kWrongMagic);
  spoilt(4, 0x13, LndId::kVersion);
  spoilt(6, 0xd8, LndId::kType);
  spoilt(6, 0xc0, LndId::kType);
  spoilt(7, 1, LndId::kBadCredits);
  spoilt(8, 0xff, LndId::kTruncated);
  spoilt(8, 119, LndId::kTooSmall);
  spoilt(12, 1, LndId::kChecksum);
  spoilt(16, 9, LndId::kWrongLife);
  spoilt(24, 9, LndId::kWrongLife);
  spoilt(32, 9, LndId::kWrongLife);
  spoilt(40, 9, LndId::kWrongLife);
  spoilt(kCommonBytes + 28, 1, LndId::kLength);
}

TEST(O2iblndHostile, EveryLengthIsRefused) {
  for (std::size_t length = 0; length < kImmediateBytes; length += 7) {
    Victim victim;
    Bytes bytes = ScriptedNode::bytes_of(immediate(*victim.node));
    bytes.resize(length);
    victim.node->receive(bytes, victim.index);
    EXPECT_TRUE(victim.node->pair(victim.index).in_error);
    victim.node->end(victim.index);
    victim.node->expect_clean();
  }
}

TEST(O2iblndHostile, FragmentsOutOfBounds) {
  for (const std::uint32_t count : {0U, 2U, 258U, 0x8000'0001U, ~0U}) {
    Victim victim;
    Message one = victim.node->message(Kind::kGetRequest);
    one.header.type = lnet::MessageType::kGet;
    Bytes sink(sizeof(FragmentWire));
    one.buffer = {1, {sink, false}};
    Bytes bytes = ScriptedNode::bytes_of(one);
    std::memcpy(bytes.data() + kGetRequestBytes - sizeof count, &count, sizeof count);
    victim.node->receive(bytes, victim.index);
    victim.expect_closed(LndId::kFragments);
  }
}

TEST(O2iblndHostile, CookiesThatWereNeverGivenOut) {
  for (const Kind kind : {Kind::kPutNak, Kind::kPutDone, Kind::kGetDone, Kind::kPutAck}) {
    for (const std::uint64_t cookie : {0ULL, 1ULL, ~0ULL, 9ULL << 32U}) {
      Victim victim;
      (void)victim.node->put(kLarge);
      Message one = victim.node->message(kind);
      one.cookie = cookie;
      Bytes sink(sizeof(FragmentWire));
      one.buffer = {1, {sink, false}};
      victim.node->receive(one, victim.index);
      victim.expect_closed(LndId::kUnmatched);
    }
  }
}

TEST(O2iblndHostile, AnAnswerOfTheWrongKindOrTwice) {
  Victim victim;
  (void)victim.node->put(kLarge);
  Message one = victim.node->message(Kind::kGetDone);
  one.cookie = victim.node->next().cookie;
  victim.node->receive(one, victim.index);
  victim.expect_closed(LndId::kUnmatched);
  Victim twice;
  (void)twice.node->put(kLarge);
  one = twice.node->message(Kind::kPutNak);
  one.cookie = twice.node->next().cookie;
  twice.node->receive(one, twice.index);
  twice.node->receive(one, twice.index);
  twice.expect_closed(LndId::kUnmatched);
}

TEST(O2iblndHostile, AnAnswerOnAnotherConnection) {
  Victim victim;
  (void)victim.node->put(kLarge);
  const Message request = victim.node->next();
  const std::size_t other = victim.node->accepted();
  Message one = victim.node->message(Kind::kPutNak);
  one.cookie = request.cookie;
  victim.node->receive(one, other);
  EXPECT_TRUE(victim.node->pair(other).in_error);
  EXPECT_FALSE(victim.node->pair(victim.index).in_error);
}

TEST(O2iblndHostile, MoreBytesThanWereAskedFor) {
  Victim victim;
  (void)victim.node->get(kLarge);
  Message one = victim.node->message(Kind::kGetDone);
  one.cookie = victim.node->next().cookie;
  one.status = static_cast<std::int32_t>(kLarge) + 1;
  victim.node->receive(one, victim.index);
  EXPECT_EQ(victim.node->count(LndId::kBadStatus), 1U);
  victim.expect_closed(LndId::kUnmatched);
}

TEST(O2iblndHostile, MoreMessagesThanCredits) {
  Victim victim;
  for (unsigned i = 0; i < 9; ++i) {
    Message one = victim.node->message(Kind::kPutRequest);
    one.header.type = lnet::MessageType::kPut;
    one.header.payload_length = 5000;
    one.cookie = i;
    victim.node->receive(one, victim.index);
  }
  victim.expect_closed(LndId::kOverCredit);
}

TEST(O2iblndHostile, AHeaderOfTheWrongKind) {
  for (const Kind kind : {Kind::kPutRequest, Kind::kGetRequest}) {
    Victim victim;
    Message one = victim.node->message(kind);
    one.header.type = lnet::MessageType::kAck;
    Bytes sink(sizeof(FragmentWire));
    one.buffer = {1, {sink, false}};
    victim.node->receive(one, victim.index);
    victim.expect_closed(LndId::kLength);
  }
}

TEST(O2iblndHostile, AnyBytesAtAll) {
  Random random(1);
  for (unsigned round = 0; round < mocks::seeds_of(100); ++round) {
    Victim victim;
    (void)victim.node->put(kLarge);
    (void)victim.node->get(kLarge);
    const std::uint64_t put = victim.node->next().cookie;
    const std::uint64_t get = victim.node->next().cookie;
    constexpr std::array kKinds = {Kind::kNoop,    Kind::kImmediate, Kind::kPutRequest,
                                   Kind::kPutNak,  Kind::kPutAck,    Kind::kPutDone,
                                   Kind::kGetDone, Kind::kGetRequest};
    for (unsigned i = 0; i < 12 && !victim.node->pair(victim.index).in_error; ++i) {
      Message one = victim.node->message(kKinds[random.below(kKinds.size())]);
      one.cookie = random.below(2) == 0 ? put : get;
      one.status = static_cast<std::int32_t>(random.below(3)) - 1;
      one.header.type = static_cast<lnet::MessageType>(random.below(4));
      one.header.payload_length = static_cast<std::uint32_t>(random.below(2) * 5000);
      Bytes sink(sizeof(FragmentWire) * (1 + random.below(3)));
      one.buffer = {1, {sink, false}};
      Bytes bytes = ScriptedNode::bytes_of(one);
      const std::size_t where = random.below(bytes.size());
      if (random.below(4) == 0) bytes[where] ^= static_cast<std::byte>(1 + random.below(255));
      victim.node->receive(bytes, victim.index);
    }
    victim.node->end(victim.index);
    victim.node->lnd->shut_down();
    victim.node->turn();
    EXPECT_EQ(victim.node->connections(), 0U);
    EXPECT_TRUE(victim.node->lnd->idle());
    EXPECT_EQ(victim.node->count(LndId::kUnexpected), 0U);
  }
}

TEST(O2iblndHostile, StrayEventsAreCounted) {
  Victim victim;
  const QueuePairId unknown{77, 3};
  victim.node->lnd->on_established(unknown, {});
  victim.node->lnd->on_rejected(unknown, RejectKind::kOther, {});
  victim.node->lnd->on_disconnected(unknown, Errc::kClosed);
  victim.node->lnd->on_drained(unknown);
  victim.node->complete({.queue_pair = unknown, .cookie = cookie_of(CookieKind::kSend, 5)});
  victim.node->complete(
      {.queue_pair = unknown, .event = WorkEvent::kReceived, .cookie = 0xffff'ffff});
  EXPECT_EQ(victim.node->count(LndId::kStray), 6U);
  EXPECT_EQ(victim.node->connections(), 1U);
}

}  // namespace
}  // namespace plnet::o2iblnd::hostile_test
