// SPDX-License-Identifier: BSD-3-Clause
// Lists, matching and delivery between two NICs of one fabric.
#include <cstring>

#include "tests/unit/drivers/cassini/soft/match_rig.hpp"

namespace plnet::cassini::soft::match_test {
namespace {

using rigs::Event;
using rigs::head;
using rigs::Slots;
using Le = layout::Target;
using Long = layout::TargetLong;
using Short = layout::TargetShort;
using Ack = layout::InitiatorShort;

TEST_F(SoftMatch, APutArrivesAndBothGetEvents) {
  b.append(b.arena.data() + 100, 500, 3, 0x77);
  a.dma(DmaOpcode::kPut, b, a.arena.data() + 1, 300, 0x77, 42, [](std::byte* at) {
    layout::FullDma::HeaderData::set(at, 0xfeed);
    layout::FullDma::RemoteOffset::set(at, 20);
    layout::FullDma::EventSendDisable::set(at, 0);
  });
  EXPECT_EQ(a.expect(EventType::kSend).get<Ack::UserPtr>(), 42U);
  const Event ended = a.expect(EventType::kAck);
  EXPECT_EQ(ended.size, 16U);
  EXPECT_EQ(ended.get<Ack::UserPtr>(), 42U);
  EXPECT_EQ(ended.get<Ack::MLength>(), 300U);
  const Event put = b.expect(EventType::kPut);
  EXPECT_EQ(put.size, 32U);
  EXPECT_EQ(put.get<Short::HeaderData>(), 0xfeedU);
  EXPECT_EQ(put.get<Short::Initiator>(), a.id());
  EXPECT_EQ(put.get<Short::PtlteIndex>(), b.portal);
  EXPECT_EQ(put.get<Short::AutoUnlinked>(), 1U);
  EXPECT_EQ(put.get<Short::MatchBits>(), 0x77U);
  EXPECT_EQ(put.get<Short::BufferId>(), 3U);
  EXPECT_EQ(put.get<Short::Vni>(), rigs::kVni);
  EXPECT_EQ(put.get<Short::Length>(), 300U);
  EXPECT_EQ(std::memcmp(b.arena.data() + 120, a.arena.data() + 1, 300), 0);
  EXPECT_EQ(b.arena.data()[119], std::byte{0});
  EXPECT_EQ(b.arena.data()[420], std::byte{0});
  a.put(b, a.arena.data(), 1, 0x77);
  ack(ReturnCode::kEntryNotFound);
  b.expect_silence();
}

TEST_F(SoftMatch, GetFetches) {
  std::memset(b.arena.data(), 0x3c, 200);
  b.append(b.arena.data(), 200, 3, 0x77);
  a.get(b, a.arena.data() + 8192, 150, 0x77, 43);
  const Event reply = a.expect(EventType::kReply);
  EXPECT_EQ(reply.get<Ack::UserPtr>(), 43U);
  EXPECT_EQ(reply.get<Ack::MLength>(), 150U);
  EXPECT_EQ(b.expect(EventType::kGet).get<Short::Length>(), 150U);
  EXPECT_EQ(std::memcmp(a.arena.data() + 8192, b.arena.data(), 150), 0);
  EXPECT_EQ(a.arena.data()[8192 + 150], std::byte{0});
}

TEST_F(SoftMatch, GetAtTheWrongHalfOfTheIndices) {
  b.append(b.arena.data(), 200, 3, 1);
  a.dma(DmaOpcode::kGet, b, a.arena.data(), 8, 1, 1,
        [&](std::byte* at) { layout::FullDma::EndpointDefined::set(at, endpoint_defined(9, 0)); });
  a.expect(EventType::kReply, ReturnCode::kInvalidEndpoint);
}

TEST_F(SoftMatch, IgnoreBitsOfTheSpecification) {
  // kfilnd's bulk entry: bits 52 and 53 are ignored.
  const std::uint64_t entry = 0x0140000000000000 | 0x1234;
  const auto expect_match = [&](std::uint64_t bits, bool matches) {
    b.append(b.arena.data(), 64, 5, entry,
             [](std::byte* at) { Le::IgnoreBits::set(at, 0x0030000000000000); });
    a.put(b, a.arena.data(), 8, bits);
    ack(matches ? ReturnCode::kOk : ReturnCode::kEntryNotFound, matches ? 8 : 0);
    if (matches) {
      b.expect(EventType::kPut);
    } else {
      b.unlink(5);
      b.expect(EventType::kUnlink);
    }
  };
  expect_match(0x0160000000000000 | 0x1234, true);
  expect_match(0x0150000000000000 | 0x1234, true);
  expect_match(0x0170000000000000 | 0x1234, true);
  expect_match(0x0140000000000000 | 0x1235, false);
  expect_match(0x0120000000000000 | 0x1234, false);
  expect_match(0x0060000000000000 | 0x1234, false);
}

TEST_F(SoftMatch, OnlyAnEntryThatWasUnlinkedMayBeCutOff) {
  b.append(b.arena.data(), 64, 5, 1);
  b.append(b.arena.data(), 64, 6, 1);
  EXPECT_FALSE(b.nic.invalidate(b.portal, 5, 0)) << "the next message would begin it again";
  b.unlink(5);
  b.expect(EventType::kUnlink);
  EXPECT_TRUE(b.nic.invalidate(b.portal, 5, 0));
  EXPECT_FALSE(b.nic.invalidate(b.portal, 6, 0));
}

TEST_F(SoftMatch, DirectedReceive) {
  const auto attempt = [&](std::uint32_t match, bool matches) {
    b.append(b.arena.data(), 64, 5, 1, [&](std::byte* at) { Le::MatchId::set(at, match); });
    a.put(b, a.arena.data(), 8, 1);
    ack(matches ? ReturnCode::kOk : ReturnCode::kEntryNotFound, matches ? 8 : 0);
    if (matches) {
      b.expect(EventType::kPut);
    } else {
      b.unlink(5);
      b.expect(EventType::kUnlink);
    }
  };
  attempt(match_id(7, 1), true);
  attempt(match_id(7, 3), false);
  attempt(match_id(8, 1), false);
  attempt(match_id(kPidAnyValue, 1), true);
  attempt(match_id(kPidAnyValue, 3), false);
  attempt(match_id(7, kNicAddressAny), true);
  attempt(match_id(8, kNicAddressAny), false);
  attempt(0xffffffff, true);
}

TEST_F(SoftMatch, WrongPlaces) {
  using Dma = layout::FullDma;
  const auto attempt = [&](ReturnCode code, auto change) {
    a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 1, 1, change);
    const Event event = a.expect(EventType::kAck, code);
    EXPECT_EQ(event.get<Ack::TgtError>(), code == ReturnCode::kUndeliverable ? 0U : 1U);
  };
  attempt(ReturnCode::kPtlteNotFound,
          [](std::byte* at) { Dma::EndpointDefined::set(at, endpoint_defined(8, 0)); });
  attempt(ReturnCode::kPtlteNotFound, [](std::byte* at) { Dma::IndexExt::set(at, 1); });
  attempt(ReturnCode::kPtlteNotFound,
          [](std::byte* at) { Dma::EndpointDefined::set(at, endpoint_defined(9, 32)); });
  attempt(ReturnCode::kUndeliverable, [](std::byte* at) { Dma::Nid::set(at, 77); });
  with({.address = 3, .pid = 9, .vni = 254});
  attempt(ReturnCode::kVniNotFound, [](std::byte* at) { Dma::Nid::set(at, 3); });
  fabric.set_link(b.nic, false);
  attempt(ReturnCode::kUndeliverable, [](std::byte*) {});
}

TEST_F(SoftMatch, OperationsThatTheEntryForbids) {
  b.append(b.arena.data(), 64, 5, 1, [](std::byte* at) { Le::OpPut::set(at, 0); });
  a.put(b, a.arena.data(), 8, 1);
  ack(ReturnCode::kOpViolation);
  a.get(b, a.arena.data(), 8, 1);
  a.expect(EventType::kReply);
}

TEST_F(SoftMatch, MinFreeToTheByte) {
  // 1000 bytes, of which 100 must stay free: 900 bytes are just allowed, 901 are not.
  for (const bool beyond : {false, true}) {
    b.append(b.arena.data(), 1000, 6, 1, [](std::byte* at) {
      Le::UseOnce::set(at, 0);
      Le::ManageLocal::set(at, 1);
      Le::MinFree::set(at, 100);
    });
    a.put(b, a.arena.data(), 500, 1);
    ack(ReturnCode::kOk, 500);
    Event put = b.expect(EventType::kPut);
    EXPECT_EQ(put.size, 64U);
    EXPECT_EQ(put.get<Long::AutoUnlinked>(), 0U);
    EXPECT_EQ(put.get<Long::Start>(), b.iova(b.arena.data()));
    a.put(b, a.arena.data(), beyond ? 401 : 400, 1);
    ack(ReturnCode::kOk, beyond ? 401 : 400);
    put = b.expect(EventType::kPut);
    EXPECT_EQ(put.get<Long::AutoUnlinked>(), beyond ? 1U : 0U);
    EXPECT_EQ(put.get<Long::Start>(), b.iova(b.arena.data() + 500));
    if (!beyond) {
      a.put(b, a.arena.data(), 1, 1);
      ack(ReturnCode::kOk, 1);
      EXPECT_EQ(b.expect(EventType::kPut).get<Long::AutoUnlinked>(), 1U);
    }
    a.put(b, a.arena.data(), 1, 1);
    ack(ReturnCode::kEntryNotFound);
  }
}

TEST_F(SoftMatch, TruncationAndItsOpposite) {
  b.append(b.arena.data(), 100, 6, 1);
  a.put(b, a.arena.data(), 150, 1);
  ack(ReturnCode::kOk, 100);
  const Event put = b.expect(EventType::kPut);
  EXPECT_EQ(put.size, 64U);
  EXPECT_EQ(put.get<Long::MLength>(), 100U);
  EXPECT_EQ(put.get<Long::RLength>(), 150U);
  EXPECT_EQ(b.arena.data()[100], std::byte{0});
  b.append(b.arena.data(), 100, 6, 1, [](std::byte* at) { Le::NoTruncate::set(at, 1); });
  a.put(b, a.arena.data(), 101, 1);
  ack(ReturnCode::kEntryNotFound);
  a.put(b, a.arena.data(), 100, 1);
  ack(ReturnCode::kOk, 100);
  b.expect(EventType::kPut);
  // An offset past the end leaves no room.
  b.append(b.arena.data(), 100, 6, 1);
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 1, 1,
        [](std::byte* at) { layout::FullDma::RemoteOffset::set(at, 101); });
  ack(ReturnCode::kOk, 0);
}

TEST_F(SoftMatch, ShortEventsEndAtTwentyBits) {
  for (const std::uint32_t length : {0xFFFFFU, 0x100000U}) {
    b.append(b.arena.data(), 1U << 21, 6, 1);
    a.put(b, a.arena.data(), length, 1);
    ack(ReturnCode::kOk, length);
    const Event put = b.expect(EventType::kPut);
    EXPECT_EQ(put.size, length == 0xFFFFF ? 32U : 64U);
    EXPECT_EQ(put.size == 32 ? put.get<Short::Length>() : put.get<Long::MLength>(), length);
    EXPECT_EQ(std::memcmp(b.arena.data(), a.arena.data(), length), 0);
  }
}

TEST_F(SoftMatch, EventsThatAreNotWanted) {
  b.append(b.arena.data(), 100, 6, 1, [](std::byte* at) { Le::EventSuccessDisable::set(at, 1); });
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 1, 1,
        [](std::byte* at) { layout::FullDma::EventSuccessDisable::set(at, 1); });
  a.expect_silence();
  b.expect_silence();
  EXPECT_EQ(std::memcmp(b.arena.data(), a.arena.data(), 8), 0);
  b.append(b.arena.data(), 100, 6, 1, [](std::byte* at) { Le::EventCommDisable::set(at, 1); });
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 108, 1, 1, [](std::byte*) {});
  ack(ReturnCode::kOk, 100);
  b.expect_silence();
  // A failure is reported all the same.
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 1, 1,
        [](std::byte* at) { layout::FullDma::EventSuccessDisable::set(at, 1); });
  ack(ReturnCode::kEntryNotFound);
  // LINK and UNLINK events, if enabled.
  b.append(b.arena.data(), 100, 6, 1, [](std::byte* at) {
    Le::EventLinkDisable::set(at, 0);
    Le::EventUnlinkDisable::set(at, 0);
  });
  EXPECT_EQ(b.expect(EventType::kLink).get<Long::BufferId>(), 6U);
  a.put(b, a.arena.data(), 8, 1);
  const Event unlinked = b.expect(EventType::kUnlink);
  EXPECT_EQ(unlinked.size, 64U);
  EXPECT_EQ(unlinked.get<Long::AutoUnlinked>(), 1U);
  EXPECT_EQ(b.expect(EventType::kPut).get<Short::AutoUnlinked>(), 1U);
}

TEST_F(SoftMatch, UnlinkFindsOrDoesNot) {
  b.append(b.arena.data(), 100, 6, 1);
  b.append(b.arena.data(), 100, 7, 1);
  b.append(b.arena.data(), 100, 8, 1);
  b.unlink(7);
  const Event event = b.expect(EventType::kUnlink);
  EXPECT_EQ(event.get<Long::BufferId>(), 7U);
  EXPECT_EQ(event.get<Long::AutoUnlinked>(), 0U);
  b.unlink(7);
  b.expect(EventType::kUnlink, ReturnCode::kEntryNotFound);
  b.unlink(6, ListKind::kOverflow);
  b.expect(EventType::kUnlink, ReturnCode::kEntryNotFound);
  for (const unsigned id : {6U, 8U}) {
    a.put(b, a.arena.data(), 8, 1);
    ack(ReturnCode::kOk, 8);
    EXPECT_EQ(b.expect(EventType::kPut).get<Short::BufferId>(), id) << "in order of appending";
  }
}

TEST_F(SoftMatch, MemoryThatIsNotThere) {
  using Dma = layout::FullDma;
  const auto attempt = [&](ReturnCode code, auto change) {
    b.append(b.arena.data(), 100, 6, 1);
    a.dma(DmaOpcode::kPut, b, a.arena.data(), 8, 1, 1, change);
    const Event event = a.expect(EventType::kAck, code);
    EXPECT_EQ(event.get<Ack::TgtError>(), 0U) << "it is our own";
    b.unlink(6);
    b.expect(EventType::kUnlink);
  };
  attempt(ReturnCode::kNoTranslation,
          [&](std::byte* at) { Dma::LocalAddr::set(at, Dma::LocalAddr::get(at) - 1); });
  attempt(ReturnCode::kNoTranslation, [&](std::byte* at) {
    Dma::LocalAddr::set(at, Dma::LocalAddr::get(at) + a.arena.size() - 7);
  });
  // The device does not know the process's own addresses.
  attempt(ReturnCode::kNoTranslation, [&](std::byte* at) {
    Dma::LocalAddr::set(at, reinterpret_cast<std::uintptr_t>(a.arena.data()));
  });
  // The target unmaps its memory with the entry still linked.
  b.append(b.arena.data(), 100, 6, 1);
  ASSERT_TRUE(b.nic.unmap(b.mapping));
  a.put(b, a.arena.data(), 8, 1);
  const Event event = a.wait().value();
  EXPECT_TRUE(event.code == ReturnCode::kNoTranslation || event.code == ReturnCode::kInvalidAc);
  EXPECT_EQ(event.get<Ack::TgtError>(), 1U);
}

TEST_F(SoftMatch, ImmediateMessagesAndRestrictedPuts) {
  with({.address = 3, .pid = 9, .portal = {.matching = false}});
  const auto sticky = [&](bool restricted) {
    Slots state;
    using State = layout::Cstate;
    head(state.data(), CommandType::kIdc, 0, DmaOpcode::kCstate);
    State::Length::set(state.data(), 32);
    State::Restricted::set(state.data(), restricted ? 1 : 0);
    State::EventSendDisable::set(state.data(), 1);
    State::Initiator::set(state.data(), a.id());
    State::UserPtr::set(state.data(), 90);
    State::Eq::set(state.data(), a.eq);
    a.tx.push(state.data(), 0);
  };
  b.append(b.arena.data(), 100, 6, 0x55);
  sticky(false);
  Slots message;
  using Idc = layout::IdcMessage;
  head(message.data(), CommandType::kIdc, 1, DmaOpcode::kSmallMessage);
  Idc::Length::set(message.data(), 37);
  Idc::Nid::set(message.data(), 2);
  Idc::EndpointDefined::set(message.data(), 9);
  Idc::MatchBits::set(message.data(), 0x55);
  Idc::HeaderData::set(message.data(), 0x1122);
  Idc::UserPtr::set(message.data(), 91);
  std::memcpy(message.data() + 32, "hello", 5);
  a.tx.push(message.data(), 1);
  a.tx.ring();
  EXPECT_EQ(a.expect(EventType::kAck).get<Ack::UserPtr>(), 91U);
  const Event put = b.expect(EventType::kPut);
  EXPECT_EQ(put.get<Short::HeaderData>(), 0x1122U);
  EXPECT_EQ(put.get<Short::Initiator>(), a.id());
  EXPECT_EQ(put.get<Short::Length>(), 5U);
  EXPECT_EQ(std::memcmp(b.arena.data(), "hello", 6), 0) << "and nothing behind it";
  // Restricted: no match bits, only on entries without matching.
  sticky(true);
  Slots put_now;
  head(put_now.data(), CommandType::kIdc, 0, DmaOpcode::kPut);
  layout::IdcPut::Length::set(put_now.data(), 20);
  layout::IdcPut::Nid::set(put_now.data(), 2);
  layout::IdcPut::EndpointDefined::set(put_now.data(), 9);
  layout::IdcPut::RemoteOffset::set(put_now.data(), 30);
  std::memcpy(put_now.data() + 16, "word", 4);
  a.tx.push(put_now.data(), 0);
  a.tx.ring();
  a.expect(EventType::kAck, ReturnCode::kOpViolation);
  other->append(other->arena.data(), 100, 6, 0);
  layout::IdcPut::Nid::set(put_now.data(), 3);
  a.tx.push(put_now.data(), 0);
  a.tx.ring();
  EXPECT_EQ(a.expect(EventType::kAck).get<Ack::UserPtr>(), 90U);
  EXPECT_EQ(std::memcmp(other->arena.data() + 30, "word", 4), 0);
  other->expect(EventType::kPut);
  // A message under a restricted state, and the reverse, are errors.
  a.tx.push(message.data(), 1);
  a.tx.ring();
  a.expect(EventType::kCommandFailure, ReturnCode::kCmdInvalidArg);
}

TEST_F(SoftMatch, NomatchDmaIsRestricted) {
  with({.address = 3, .pid = 9, .portal = {.matching = false}});
  other->append(other->arena.data(), 100, 6, 0, [](std::byte* at) { Le::UseOnce::set(at, 0); });
  for (const bool get : {false, true}) {
    Slots slot;
    using Dma = layout::NomatchDma;
    head(slot.data(), CommandType::kDma, 0, get ? DmaOpcode::kNomatchGet : DmaOpcode::kNomatchPut);
    Dma::Restricted::set(slot.data(), 1);
    Dma::Nid::set(slot.data(), 3);
    Dma::EndpointDefined::set(slot.data(), 9);
    Dma::Lac::set(slot.data(), a.lac());
    Dma::LocalAddr::set(slot.data(), a.iova(a.arena.data() + (get ? 8192 : 0)));
    Dma::RequestLen::set(slot.data(), 60);
    Dma::RemoteOffset::set(slot.data(), 40);
    Dma::EventSendDisable::set(slot.data(), 1);
    Dma::Eq::set(slot.data(), a.eq);
    a.tx.push(slot.data(), 0);
    a.tx.ring();
    a.expect(get ? EventType::kReply : EventType::kAck);
    other->expect(get ? EventType::kGet : EventType::kPut);
  }
  EXPECT_EQ(std::memcmp(other->arena.data() + 40, a.arena.data(), 60), 0);
  EXPECT_EQ(std::memcmp(a.arena.data() + 8192, a.arena.data(), 60), 0);
}

TEST_F(SoftMatch, CountingEvents) {
  alignas(8) std::byte writeback[8]{};
  const unsigned ct = a.nic.make_counter(a.group, writeback).value();
  b.append(b.arena.data(), 100, 6, 1);
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 60, 1, 1, [&](std::byte* at) {
    layout::FullDma::Ct::set(at, ct);
    layout::FullDma::EventCtAck::set(at, 1);
    layout::FullDma::EventCtBytes::set(at, 1);
  });
  ack(ReturnCode::kOk, 60);
  a.dma(DmaOpcode::kPut, b, a.arena.data(), 60, 1, 1, [&](std::byte* at) {
    layout::FullDma::Ct::set(at, ct);
    layout::FullDma::EventCtAck::set(at, 1);
  });
  ack(ReturnCode::kEntryNotFound);
  const auto command = [&](CtOpcode opcode, std::uint64_t success) {
    Slots slot;
    using Ct = layout::Counting;
    head(slot.data(), CommandType::kCt, 1, static_cast<unsigned>(opcode));
    Ct::Ct::set(slot.data(), ct);
    Ct::CtSuccess::set(slot.data(), success);
    Ct::SetCtSuccess::set(slot.data(), opcode == CtOpcode::kSet ? 1 : 0);
    a.tx.push(slot.data(), 1);
    a.tx.ring();
    fabric.step(1);
  };
  command(CtOpcode::kGet, 0);
  EXPECT_EQ(layout::CtWriteback::Success::get(writeback), 60U);
  EXPECT_EQ(layout::CtWriteback::Failure::get(writeback), 1U);
  EXPECT_EQ(layout::CtWriteback::Writeback::get(writeback), 1U);
  command(CtOpcode::kInc, 5);
  command(CtOpcode::kGet, 0);
  EXPECT_EQ(layout::CtWriteback::Success::get(writeback), 65U);
  command(CtOpcode::kSet, 3);
  command(CtOpcode::kGet, 0);
  EXPECT_EQ(layout::CtWriteback::Success::get(writeback), 3U);
}

TEST_F(SoftMatch, LongEventsWhereAskedFor) {
  with({.address = 3, .pid = 9, .eq_flags = kEqTargetLong | kEqInitLong});
  other->append(other->arena.data(), 100, 6, 1);
  other->put(*other, other->arena.data() + 200, 8, 1, 4);  // to itself
  const Event put = other->expect(EventType::kPut);
  EXPECT_EQ(put.size, 64U);
  const Event ended = other->expect(EventType::kAck);
  EXPECT_EQ(ended.size, 32U);
  EXPECT_EQ(ended.get<layout::InitiatorLong::UserPtr>(), 4U);
}

TEST_F(SoftMatch, MatchEventComesFirst) {
  with({.address = 3, .pid = 9, .portal = {.matching = true, .event_match = true}});
  other->append(other->arena.data(), 100, 6, 1);
  a.put(*other, a.arena.data(), 8, 1);
  other->expect(EventType::kMatch);
  other->expect(EventType::kPut);
}

}  // namespace
}  // namespace plnet::cassini::soft::match_test
