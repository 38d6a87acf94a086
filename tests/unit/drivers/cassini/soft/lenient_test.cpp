// SPDX-License-Identifier: BSD-3-Clause
// Commands that the vendor's software sends and hardware takes, and that the strict NIC refuses.
#include <cstring>

#include "tests/unit/drivers/cassini/soft/lenient_rig.hpp"

namespace plnet::cassini::soft::lenient_test {
namespace {

using rigs::head;
using rigs::LenientPair;
using rigs::Slots;
using Ack = layout::InitiatorShort;
using Le = layout::Target;
using Long = layout::TargetLong;

struct SoftLenient : LenientPair {};

TEST_F(SoftLenient, EntryOfNoBytesTakesAMessage) {
  b.append(b.arena.data(), 0, 0, 7, [](std::byte* at) { Le::EventLinkDisable::set(at, 0); });
  EXPECT_EQ(b.expect(EventType::kLink).get<Long::BufferId>(), 0U);
  a.put(b, a.arena.data(), 0, 7);
  (void)a.expect(EventType::kAck);
  (void)b.expect(EventType::kPut);
}

TEST_F(SoftLenient, PutGoesToAnyPortalIndex) {
  b.append(b.arena.data(), 64, 1, 7);
  a.arena.data()[3] = std::byte{33};
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 64, 7, 1, [](std::byte* at) {
    layout::FullDma::EndpointDefined::set(at, endpoint_defined(9, 128));
    layout::FullDma::IndexExt::set(at, 0);
  });
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(b.arena.data()[3], std::byte{33});
}

TEST_F(SoftLenient, ImmediatePutMayBeUnrestricted) {
  b.append(b.arena.data(), 64, 1, 0);
  set_state(false);
  Slots slot;
  head(slot.data(), CommandType::kIdc, 0, DmaOpcode::kPut);
  layout::IdcPut::Length::set(slot.data(), 16 + 8);
  address<layout::IdcPut>(slot.data(), 4);
  slot.data()[16] = std::byte{44};
  a.tx.push(slot.data(), 0);
  a.tx.ring();
  EXPECT_EQ(a.expect(EventType::kAck).get<Ack::MLength>(), 8U);
  EXPECT_EQ(b.arena.data()[4], std::byte{44});
}

struct SoftLenientRemote : LenientPair {
  SoftLenientRemote() : LenientPair(PortalRequest{.matching = false}) {}
};

// A memory region is an entry that matches nothing: what runs past its end is an error.
TEST_F(SoftLenientRemote, PutBeyondTheEndIsRefused) {
  b.append(b.arena.data(), 100, 1, 0, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  const auto put = [&](std::uint32_t length, std::uint64_t offset) {
    a.dma(DmaOpcode::kPut, b, a.arena.data(), length, 0, 1, [&](std::byte* at) {
      layout::FullDma::Restricted::set(at, 1);
      layout::FullDma::RemoteOffset::set(at, offset);
    });
  };
  put(100, 0);
  (void)a.expect(EventType::kAck);
  put(100, 1);
  EXPECT_EQ(a.expect(EventType::kAck, ReturnCode::kNoSpace).get<Ack::TgtError>(), 1U);
}

struct SoftLenientRegion : LenientPair {
  SoftLenientRegion() : LenientPair(PortalRequest{.matching = true, .event_match = true}) {}
};

// The same with match bits. Both ends hear of it, and what is counted in advance stays complete.
TEST_F(SoftLenientRegion, AccessBeyondTheEndIsAnError) {
  b.append(b.arena.data(), 8, 5, 7, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  a.arena.data()[0] = std::byte{1};
  a.put(b, a.arena.data(), 16, 7);
  EXPECT_EQ(a.expect(EventType::kAck, ReturnCode::kNoSpace).get<Ack::TgtError>(), 1U);
  EXPECT_EQ(b.expect(EventType::kMatch).get<Long::BufferId>(), 5U);
  const auto put = b.expect(EventType::kPut, ReturnCode::kNoSpace);
  EXPECT_EQ(put.get<Long::MLength>(), 0U);
  EXPECT_EQ(put.get<Long::RLength>(), 16U);
  EXPECT_EQ(b.arena.data()[0], std::byte{0});
  a.get(b, a.arena.data(), 16, 7);
  (void)a.expect(EventType::kReply, ReturnCode::kNoSpace);
  (void)b.expect(EventType::kMatch);
  (void)b.expect(EventType::kGet, ReturnCode::kNoSpace);
}

TEST_F(SoftLenientRegion, ReceivesAreTruncated) {
  b.append(b.arena.data(), 8, 5, 7);
  a.put(b, a.arena.data(), 16, 7);
  EXPECT_EQ(a.expect(EventType::kAck).get<Ack::MLength>(), 8U);
}

// libfabric names the key of a region, of which nothing is under way.
TEST_F(SoftLenient, InvalidationOfAnyNumber) {
  EXPECT_TRUE(b.nic.invalidate(b.portal, 0x615a0000, 0));
  EXPECT_TRUE(b.nic.invalidate(b.portal, ~0U, 0));
}

struct SoftLenientOnBoth : rigs::LenientOnBoth {
  SoftLenientOnBoth() : LenientOnBoth(PortalRequest{.matching = false}) {}
};

TEST_P(SoftLenientOnBoth, FlushesAndRestrictedOperationsAreCounted) {
  b.append(b.arena.data(), 100, 1, 0, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  const auto& stats = b.nic.tables().stats;
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 0, 1,
        [](std::byte* at) { layout::FullDma::Flush::set(at, 1); });
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(stats.get(NicStats::Id::kFlushes), 1U);
  EXPECT_EQ(stats.get(NicStats::Id::kRestricted), 0U);
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 0, 1,
        [](std::byte* at) { layout::FullDma::Restricted::set(at, 1); });
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(stats.get(NicStats::Id::kFlushes), 1U);
  EXPECT_EQ(stats.get(NicStats::Id::kRestricted), 1U);
}

// Hardware keeps no order of them; programs notice that it does nearly always.
TEST_P(SoftLenientOnBoth, RestrictedOperationsKeepTheirOrder) {
  constexpr std::uint64_t kMany = 40;
  b.append(b.arena.data(), 4096, 1, 0, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  for (std::uint64_t i = 0; i < kMany; ++i) {
    a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 0, i, [i](std::byte* at) {
      layout::FullDma::Restricted::set(at, 1);
      layout::FullDma::RemoteOffset::set(at, i * 8);
    });
  }
  for (std::uint64_t i = 0; i < kMany; ++i)
    EXPECT_EQ(a.expect(EventType::kAck).get<Ack::UserPtr>(), i);
}

TEST_F(SoftLenient, OperationsOfTheTypeHrpAreCounted) {
  b.append(b.arena.data(), 100, 1, 0, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  const auto lcid = a.nic.make_profile(a.group, rigs::kVni, 1, {.type = kTrafficTypeHrp});
  ASSERT_TRUE(lcid);
  Slots pair;
  head(pair.data(), 1, CqOpcode::kLcid);
  layout::Cq::Lcid::set(pair.data(), *lcid);
  head(pair.data() + kSlotBytes, 1, CqOpcode::kNoop);
  a.put(b, a.arena.data(), 8, 0);
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(a.nic.tables().stats.get(NicStats::Id::kHrpSent), 0U);
  a.tx.push(pair.data(), 2);
  a.put(b, a.arena.data(), 8, 0);
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(a.nic.tables().stats.get(NicStats::Id::kHrpSent), 1U);
}

INSTANTIATE_TEST_SUITE_P(Joined, SoftLenientOnBoth, testing::Values(rigs::Between::kNothing));
INSTANTIATE_TEST_SUITE_P(Wired, SoftLenientOnBoth, testing::Values(rigs::Between::kWire));

}  // namespace
}  // namespace plnet::cassini::soft::lenient_test
