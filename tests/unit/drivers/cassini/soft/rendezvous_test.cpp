// SPDX-License-Identifier: BSD-3-Clause
// A rendezvous: some bytes come at once, the target's process fetches the others.
#include <cstring>
#include <vector>

#include "tests/unit/drivers/cassini/soft/lenient_rig.hpp"

namespace plnet::cassini::soft::rendezvous_test {
namespace {

using rigs::Between;
using rigs::Event;
using rigs::LenientOnBoth;
using Le = layout::Target;
using Long = layout::TargetLong;

struct SoftRendezvous : LenientOnBoth {
  static constexpr std::uint32_t kLength = 5000;
  static constexpr std::uint32_t kEager = 100;
  void send(std::uint32_t length = kLength, std::uint32_t eager = kEager) {
    for (unsigned i = 0; i < length; ++i)
      a.arena.data()[i] = static_cast<std::byte>(i * 7);
    a.dma(DmaOpcode::kRendezvousPut, b, a.arena.data(), length, 7, 3, [&](std::byte* at) {
      using Dma = layout::FullDma;
      Dma::EagerLength::set(at, eager);
      Dma::RendezvousId::set(at, 9);
      Dma::UseOffsetForGet::set(at, 1);
      Dma::RemoteOffset::set(at, a.iova(a.arena.data()));
    });
    EXPECT_EQ(a.expect(EventType::kAck).get<layout::InitiatorShort::MLength>(), eager);
  }
  void expect_rendezvous(const std::byte* place, std::uint64_t buffer) {
    const Event event = b.expect(EventType::kRendezvous);
    EXPECT_EQ(event.get<Long::RendezvousId>(), 9U);
    EXPECT_EQ(event.get<Long::Rendezvous>(), 1U);
    EXPECT_EQ(event.get<Long::GetIssued>(), 0U) << "the process fetches";
    EXPECT_EQ(event.get<Long::BufferId>(), buffer);
    EXPECT_EQ(event.get<Long::MLength>(), kEager);
    EXPECT_EQ(event.get<Long::RLength>(), kLength);
    EXPECT_EQ(event.get<Long::RemoteOffset>(), a.iova(a.arena.data()) + kEager);
    EXPECT_EQ(event.get<Long::Start>(), b.iova(place) + kEager);
    EXPECT_EQ(event.get<Long::Initiator>(), endpoint_defined(7, 255) | 1U << 12U)
        << "an address: PID, index 255, NIC";
  }
};

TEST_P(SoftRendezvous, Expected) {
  b.append(b.arena.data(), 8192, 4, 7);
  send();
  const Event put = b.expect(EventType::kPut);
  EXPECT_EQ(put.get<Long::Rendezvous>(), 1U);
  EXPECT_EQ(put.get<Long::RendezvousId>(), 9U);
  EXPECT_EQ(put.get<Long::MLength>(), kEager);
  EXPECT_EQ(put.get<Long::RLength>(), kLength);
  expect_rendezvous(b.arena.data(), 4);
  EXPECT_EQ(std::memcmp(a.arena.data(), b.arena.data(), kEager), 0);
  EXPECT_EQ(b.arena.data()[kEager], std::byte{0});
}

// On a wire these are several packets.
TEST_P(SoftRendezvous, ManyEagerBytes) {
  b.append(b.arena.data(), 8192, 4, 7);
  send(8000, 7000);
  EXPECT_EQ(b.expect(EventType::kPut).get<Long::MLength>(), 7000U);
  EXPECT_EQ(b.expect(EventType::kRendezvous).get<Long::RLength>(), 8000U);
  EXPECT_EQ(std::memcmp(a.arena.data(), b.arena.data(), 7000), 0);
  EXPECT_EQ(b.arena.data()[7000], std::byte{0});
}

TEST_P(SoftRendezvous, NoEagerBytes) {
  b.append(b.arena.data(), 8192, 4, 7);
  send(8000, 0);
  EXPECT_EQ(b.expect(EventType::kPut).get<Long::MLength>(), 0U);
  EXPECT_EQ(b.expect(EventType::kRendezvous).get<Long::RLength>(), 8000U);
  EXPECT_EQ(b.arena.data()[1], std::byte{0});
}

TEST_P(SoftRendezvous, Unexpected) {
  b.append(b.arena.data() + 65536, 8192, 2, 7,
           [](std::byte* at) { Le::PtlList::set(at, static_cast<unsigned>(ListKind::kOverflow)); });
  send();
  const Event put = b.expect(EventType::kPut);
  EXPECT_EQ(put.get<Long::PtlList>(), static_cast<unsigned>(ListKind::kOverflow));
  EXPECT_EQ(put.get<Long::Rendezvous>(), 1U);
  b.expect_silence();
  b.append(b.arena.data(), 8192, 4, 7);
  const Event found = b.expect(EventType::kPutOverflow);
  EXPECT_EQ(found.get<Long::Rendezvous>(), 1U);
  EXPECT_EQ(found.get<Long::Start>(), b.iova(b.arena.data() + 65536));
  expect_rendezvous(b.arena.data(), 4);
}

// The process that searches for headers fetches the rest itself: it asks for the address.
TEST_P(SoftRendezvous, FoundBySearch) {
  b.append(b.arena.data() + 65536, 8192, 2, 7,
           [](std::byte* at) { Le::PtlList::set(at, static_cast<unsigned>(ListKind::kOverflow)); });
  send();
  (void)b.expect(EventType::kPut);
  std::vector<std::uint64_t> told;
  b.nic.portals().for_each_header(b.portal, [&](std::uint64_t one) { told.push_back(one); });
  EXPECT_EQ(told, std::vector{a.iova(a.arena.data())}) << "where the GET reads, not the buffer";
  rigs::Slots slot;
  rigs::head(slot.data(), 1, CqOpcode::kSearchAndDelete);
  Le::PtlteIndex::set(slot.data(), b.portal);
  Le::BufferId::set(slot.data(), 30);
  Le::Length::set(slot.data(), UINT32_MAX);
  Le::MatchId::set(slot.data(), UINT32_MAX);
  Le::IgnoreBits::set(slot.data(), ~std::uint64_t{0});
  b.target.push(slot.data(), 1);
  b.target.ring();
  EXPECT_EQ(b.expect(EventType::kPutOverflow).get<Long::Rendezvous>(), 1U);
  b.expect(EventType::kSearch, ReturnCode::kNoMatch);
  b.expect_silence();
}

// A receive of no bytes ends by the same events as any other.
TEST_P(SoftRendezvous, UnexpectedIntoNothing) {
  b.append(b.arena.data() + 65536, 8192, 2, 7,
           [](std::byte* at) { Le::PtlList::set(at, static_cast<unsigned>(ListKind::kOverflow)); });
  send();
  (void)b.expect(EventType::kPut);
  b.append(b.arena.data(), 0, 4, 7);
  (void)b.expect(EventType::kPutOverflow);
  (void)b.expect(EventType::kRendezvous);
}

// With ranks instead of addresses as initiators, the event still names the NIC to read from.
TEST_P(SoftRendezvous, InitiatorThatIsARank) {
  b.append(b.arena.data(), 8192, 4, 7);
  a.dma(DmaOpcode::kRendezvousPut, b, a.arena.data(), kLength, 7, 3, [&](std::byte* at) {
    using Dma = layout::FullDma;
    Dma::UseOffsetForGet::set(at, 1);
    Dma::Initiator::set(at, match_id(7, 1000));
  });
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(b.expect(EventType::kPut).get<Long::Initiator>(), match_id(7, 1000));
  EXPECT_EQ(b.expect(EventType::kRendezvous).get<Long::Initiator>(),
            endpoint_defined(7, 255) | 1U << 12U);
}

// The whole message takes its place in an entry for many.
TEST_P(SoftRendezvous, EntryForManyMessages) {
  b.append(b.arena.data(), 8192, 4, 7, [](std::byte* at) {
    Le::UseOnce::set(at, 0);
    Le::ManageLocal::set(at, 1);
  });
  send();
  (void)b.expect(EventType::kPut);
  expect_rendezvous(b.arena.data(), 4);
  a.put(b, a.arena.data(), 8, 7);
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(b.expect(EventType::kPut).get<Long::Start>(), b.iova(b.arena.data() + kLength));
}

// Messages that waited take room in an entry for many, which is unlinked when too little is left.
TEST_P(SoftRendezvous, WaitingMessagesUseAnEntryUp) {
  b.append(b.arena.data() + 65536, 8192, 2, 7, [](std::byte* at) {
    Le::PtlList::set(at, static_cast<unsigned>(ListKind::kOverflow));
    Le::UseOnce::set(at, 0);
    Le::ManageLocal::set(at, 1);
  });
  for (unsigned i = 0; i < 3; ++i) {
    a.put(b, a.arena.data(), 400, 7);
    (void)a.expect(EventType::kAck);
    (void)b.expect(EventType::kPut);
  }
  b.append(b.arena.data(), 1000, 4, 7, [](std::byte* at) {
    Le::UseOnce::set(at, 0);
    Le::ManageLocal::set(at, 1);
    Le::MinFree::set(at, 300);
  });
  EXPECT_EQ(b.expect(EventType::kPutOverflow).get<Long::AutoUnlinked>(), 0U);
  EXPECT_EQ(b.expect(EventType::kPutOverflow).get<Long::AutoUnlinked>(), 1U) << "200 are left";
  b.expect_silence();
}

INSTANTIATE_TEST_SUITE_P(Joined, SoftRendezvous, testing::Values(Between::kNothing));
INSTANTIATE_TEST_SUITE_P(Wired, SoftRendezvous, testing::Values(Between::kWire));

}  // namespace
}  // namespace plnet::cassini::soft::rendezvous_test
