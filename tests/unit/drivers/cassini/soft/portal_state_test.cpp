// SPDX-License-Identifier: BSD-3-Clause
// The states of a portal: overflow list and unexpected messages, disabled, out of entries, managed
// by software.
#include "tests/unit/drivers/cassini/soft/match_rig.hpp"

namespace plnet::cassini::soft::portal_state_test {
namespace {

using rigs::Event;
using rigs::head;
using rigs::Slots;
using Le = layout::Target;
using Long = layout::TargetLong;
using Ack = layout::InitiatorShort;

TEST_F(SoftMatch, OverflowAndUnexpected) {
  b.append(b.arena.data(), 4096, 20, 0, [](std::byte* at) {
    Le::PtlList::set(at, 1);
    Le::ManageLocal::set(at, 1);
    Le::UseOnce::set(at, 0);
    Le::IgnoreBits::set(at, ~std::uint64_t{0});
  });
  for (std::uint64_t bits = 1; bits <= 3; ++bits) {
    a.put(b, a.arena.data(), 100, bits);
    const Event event = a.expect(EventType::kAck);
    EXPECT_EQ(event.get<Ack::PtlList>(), 1U);
    const Event put = b.expect(EventType::kPut);
    EXPECT_EQ(put.size, 64U);
    EXPECT_EQ(put.get<Long::PtlList>(), 1U);
    EXPECT_EQ(put.get<Long::Start>(), b.iova(b.arena.data() + (bits - 1) * 100));
  }
  // Found by a search, which leaves it in the list.
  Slots slot;
  head(slot.data(), 1, CqOpcode::kSearch);
  Le::PtlteIndex::set(slot.data(), b.portal);
  Le::BufferId::set(slot.data(), 30);
  Le::MatchId::set(slot.data(), 0xffffffff);
  Le::IgnoreBits::set(slot.data(), 1);
  Le::MatchBits::set(slot.data(), 2);
  b.target.push(slot.data(), 1);
  b.target.ring();
  EXPECT_EQ(b.expect(EventType::kSearch).get<Long::MatchBits>(), 2U);
  EXPECT_EQ(b.expect(EventType::kSearch).get<Long::MatchBits>(), 3U);
  b.expect(EventType::kSearch, ReturnCode::kNoMatch);
  // An entry that is appended later takes its header.
  b.append(b.arena.data() + 8192, 100, 31, 2);
  const Event late = b.expect(EventType::kPutOverflow);
  EXPECT_EQ(late.get<Long::BufferId>(), 31U);
  EXPECT_EQ(late.get<Long::Start>(), b.iova(b.arena.data() + 100));
  EXPECT_EQ(late.get<Long::MLength>(), 100U);
  EXPECT_EQ(late.get<Long::Initiator>(), a.id());
  EXPECT_EQ(late.get<Long::AutoUnlinked>(), 1U);
  b.unlink(31);
  b.expect(EventType::kUnlink, ReturnCode::kEntryNotFound);
  // The remaining headers are searched for and deleted.
  head(slot.data(), 1, CqOpcode::kSearchAndDelete);
  Le::IgnoreBits::set(slot.data(), ~std::uint64_t{0});
  b.target.push(slot.data(), 1);
  b.target.ring();
  EXPECT_EQ(b.expect(EventType::kPutOverflow).get<Long::MatchBits>(), 1U);
  EXPECT_EQ(b.expect(EventType::kPutOverflow).get<Long::MatchBits>(), 3U);
  b.expect(EventType::kSearch, ReturnCode::kNoMatch);
  EXPECT_EQ(b.nic.tables().pool.used(), 1U) << "the overflow buffer";
}

TEST_F(SoftMatch, DisabledPortalsCountDrops) {
  b.set_state(PortalState::kDisabled);
  b.expect(EventType::kStateChange);
  for (int i = 0; i < 3; ++i) {
    a.put(b, a.arena.data(), 8, 1);
    ack(ReturnCode::kPtDisabled);
  }
  EXPECT_EQ(b.nic.tables().portals[b.portal].dropped, 3U);
  b.set_state(PortalState::kEnabled, 2);
  EXPECT_EQ(b.expect(EventType::kStateChange, ReturnCode::kNoMatch)
                .get<layout::StateChange::PtlteState>(),
            1U);
  b.set_state(PortalState::kEnabled, 3);
  EXPECT_EQ(b.expect(EventType::kStateChange).get<layout::StateChange::PtlteState>(), 2U);
}

TEST_F(SoftMatch, FlowControlDisablesAPortal) {
  with({.address = 3, .pid = 9, .portal = {.matching = true, .flow_control = true}});
  a.put(*other, a.arena.data(), 8, 1);
  ack(ReturnCode::kPtDisabled);
  const Event change = other->expect(EventType::kStateChange);
  EXPECT_EQ(change.get<layout::StateChange::PtlteState>(), 1U);
  EXPECT_EQ(change.get<layout::StateChange::Reason>(), 1U);
  EXPECT_EQ(change.get<layout::StateChange::NicAuto>(), 1U);
  other->set_state(PortalState::kEnabled, 1);
  EXPECT_EQ(other->expect(EventType::kStateChange).get<layout::StateChange::PtlteState>(), 2U);
}

TEST_F(SoftMatch, FlowControlKeepsEventsFromBeingLost) {
  with({.address = 3,
        .pid = 9,
        .eq_bytes = 4096,
        .portal = {.matching = true, .flow_control = true}});
  ASSERT_TRUE(other->nic.adjust_reserved(other->eq, 10));
  other->append(other->arena.data(), 4096, 5, 1, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  other->events.acknowledge = false;
  unsigned told = 0;
  for (unsigned i = 0; i < 200; ++i) {
    a.put(*other, a.arena.data(), 8, 1);
    if (a.wait()->code == ReturnCode::kOk) ++told;
  }
  Event event;
  for (unsigned i = 0; i < told; ++i)
    event = other->expect(EventType::kPut);
  event = other->expect(EventType::kStateChange);
  EXPECT_EQ(event.get<layout::StateChange::Reason>(), 0U);
  EXPECT_EQ(other->nic.tables().stats.get(NicStats::Id::kEventsDropped), 0U);
}

TEST_F(SoftMatch, EntriesRunOut) {
  with({.address = 3, .pid = 9, .limits = {.list_entries = 2}});
  other->append(other->arena.data(), 64, 1, 1);
  other->append(other->arena.data(), 64, 2, 1);
  other->append(other->arena.data(), 64, 3, 1);
  const Event failed = other->expect(EventType::kLink, ReturnCode::kNoSpace);
  EXPECT_EQ(failed.get<Long::BufferId>(), 3U);
  a.put(*other, a.arena.data(), 8, 1);
  ack(ReturnCode::kOk, 8);
  other->expect(EventType::kPut);
  other->append(other->arena.data(), 64, 3, 1);
  other->expect_silence();
  EXPECT_EQ(other->nic.tables().pool.used(), 2U);
}

TEST_F(SoftMatch, SoftwareManagedTakesOnlyRequests) {
  b.append(b.arena.data(), 4096, 20, 0, [](std::byte* at) {
    Le::PtlList::set(at, 2);
    Le::ManageLocal::set(at, 1);
    Le::UseOnce::set(at, 0);
    Le::IgnoreBits::set(at, ~std::uint64_t{0});
  });
  b.append(b.arena.data(), 4096, 21, 1);
  b.set_state(PortalState::kSoftwareManaged);
  b.expect(EventType::kStateChange);
  a.put(b, a.arena.data(), 8, 1);
  EXPECT_EQ(a.expect(EventType::kAck).get<Ack::MLength>(), 8U);
  EXPECT_EQ(b.expect(EventType::kPut).get<Long::PtlList>(), 2U);
  b.append(b.arena.data(), 4096, 22, 1);
  b.expect(EventType::kLink, ReturnCode::kPtlteSwManaged);
  b.unlink(20, ListKind::kRequest);
  b.expect(EventType::kUnlink);
  a.put(b, a.arena.data(), 8, 1);
  ack(ReturnCode::kPtDisabled);
  EXPECT_EQ(b.expect(EventType::kStateChange).get<layout::StateChange::Reason>(), 3U);
}

void into_requests(std::byte* at) {
  Le::PtlList::set(at, 2);
  Le::ManageLocal::set(at, 1);
  Le::NoTruncate::set(at, 1);
  Le::UseOnce::set(at, 0);
  Le::IgnoreBits::set(at, ~std::uint64_t{0});
}

std::uint64_t big_endian(const std::byte* at, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value = value << 8U | std::to_integer<std::uint64_t>(at[i]);
  return value;
}

// Offsets of cassini_user_defs.h: c_port_fab_hdr, c_port_unrestricted_hdr.
TEST_F(SoftMatch, RequestsComeWithTheirPacketHeader) {
  constexpr std::uint64_t kHeader = 63;
  b.append(b.arena.data(), 4096, 20, 0, into_requests);
  b.set_state(PortalState::kSoftwareManaged);
  b.expect(EventType::kStateChange);
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 100, 0x1122334455667788, 1, [](std::byte* at) {
    layout::FullDma::RemoteOffset::set(at, 0xaabbccddeeff11);
    layout::FullDma::HeaderData::set(at, 0x0102030405060708);
  });
  EXPECT_EQ(a.expect(EventType::kAck).get<Ack::MLength>(), 100U);
  const Event put = b.expect(EventType::kPut);
  EXPECT_EQ(put.get<Long::MLength>(), kHeader + 100);
  EXPECT_EQ(put.get<Long::RLength>(), 100U);
  EXPECT_EQ(put.get<Long::Start>(), b.iova(b.arena.data()));
  const std::byte* const at = b.arena.data();
  EXPECT_EQ(big_endian(at, 1), 0x45U) << "version 4, five words";
  EXPECT_EQ(big_endian(at + 2, 2), kHeader + 100);
  EXPECT_EQ(big_endian(at + 4, 2), rigs::kVni);
  EXPECT_EQ(big_endian(at + 12, 4) >> 12U, 1U);
  EXPECT_EQ(big_endian(at + 16, 4), 2U << 12U | 9U);
  const std::byte* const inner = at + 20;
  EXPECT_EQ(big_endian(inner, 1), 0x81U) << "a request, unrestricted, PUT";
  EXPECT_EQ(big_endian(inner + 2, 7), 0xaabbccddeeff11U);
  EXPECT_EQ(big_endian(inner + 16, 4), 100U);
  EXPECT_EQ(big_endian(inner + 20, 4), a.id());
  EXPECT_EQ(big_endian(inner + 24, 8), 0x1122334455667788U);
  EXPECT_EQ(big_endian(inner + 32, 8), 0x0102030405060708U);
  EXPECT_EQ(std::memcmp(at + kHeader, a.arena.data(), 100), 0);
  a.put(b, a.arena.data(), 8, 1);
  a.expect(EventType::kAck);
  EXPECT_EQ(b.expect(EventType::kPut).get<Long::Start>(), b.iova(at + kHeader + 100))
      << "one after the other";
}

TEST_F(SoftMatch, RequestsThatDoNotFitAreFlowControlled) {
  b.append(b.arena.data(), 100, 20, 0, into_requests);
  b.set_state(PortalState::kSoftwareManaged);
  b.expect(EventType::kStateChange);
  a.put(b, a.arena.data(), 38, 1);
  ack(ReturnCode::kPtDisabled);
  EXPECT_EQ(b.expect(EventType::kStateChange).get<layout::StateChange::Reason>(), 3U);
}

// The message that found no entry for its header, and what the process appends then.
TEST_F(SoftMatch, HybridPortalsGoOnWithRequests) {
  with({.address = 3,
        .pid = 9,
        .portal = {.matching = true, .flow_control = true, .hybrid = true},
        .limits = {.list_entries = 2}});
  other->append(other->arena.data(), 4096, 20, 0, [](std::byte* at) {
    into_requests(at);
    Le::PtlList::set(at, 1);
  });
  other->append(other->arena.data() + 4096, 4096, 21, 0, into_requests);
  a.put(*other, a.arena.data(), 8, 1);
  ack(ReturnCode::kOk, 8);
  EXPECT_EQ(other->expect(EventType::kStateChange).get<layout::StateChange::PtlteState>(), 3U);
  EXPECT_EQ(other->expect(EventType::kPut).get<Long::BufferId>(), 21U);
  other->append(other->arena.data(), 64, 22, 1);
  other->expect(EventType::kLink, ReturnCode::kPtlteSwManaged);
}

TEST_F(SoftMatch, HybridPortalsGoOverIfAnAppendFails) {
  with({.address = 3,
        .pid = 9,
        .portal = {.matching = true, .flow_control = true, .hybrid = true},
        .limits = {.list_entries = 1}});
  other->append(other->arena.data(), 4096, 20, 0, into_requests);
  other->append(other->arena.data(), 64, 21, 1);
  EXPECT_EQ(other->expect(EventType::kLink, ReturnCode::kPtlteSwManaged).get<Long::BufferId>(),
            21U);
  const Event change = other->expect(EventType::kStateChange);
  EXPECT_EQ(change.get<layout::StateChange::PtlteState>(), 3U);
  EXPECT_EQ(change.get<layout::StateChange::Reason>(), 5U);
}

TEST_F(SoftMatch, HybridPortalsGoOverToSoftware) {
  with({.address = 3,
        .pid = 9,
        .portal = {.matching = true, .flow_control = true, .hybrid = true},
        .limits = {.list_entries = 1}});
  other->append(other->arena.data(), 4096, 20, 0, [](std::byte* at) {
    Le::PtlList::set(at, 1);
    Le::ManageLocal::set(at, 1);
    Le::UseOnce::set(at, 0);
    Le::IgnoreBits::set(at, ~std::uint64_t{0});
  });
  a.put(*other, a.arena.data(), 8, 1);
  ack(ReturnCode::kPtDisabled);
  const Event change = other->expect(EventType::kStateChange);
  EXPECT_EQ(change.get<layout::StateChange::PtlteState>(), 3U);
  EXPECT_EQ(change.get<layout::StateChange::Reason>(), 4U);
}

}  // namespace
}  // namespace plnet::cassini::soft::portal_state_test
