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

}  // namespace
}  // namespace plnet::cassini::soft::lenient_test
