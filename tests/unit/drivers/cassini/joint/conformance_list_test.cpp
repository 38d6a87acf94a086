// SPDX-License-Identifier: BSD-3-Clause
// The conformance list, points 2 to 5 and the NIC's part of 7, on every backend through the
// driver's queues alone: queues, event queues, lists, matching, return codes. Point 1 is in
// layouts_test and golden.hpp; points 6, 8 and the rest of 7 are in conformance_endpoint_test.
#include <cstring>

#include "tests/unit/drivers/cassini/joint/grounds.hpp"
#include "tests/unit/drivers/cassini/joint/raw_process.hpp"

const char* const plnet::cassini::kCxiSoft = PLNET_CXI_SOFT;

namespace plnet::cassini::conformance_list_test {
namespace {

constexpr std::uint64_t kBits = match_bits::kMessage | 7;

class CassiniList : public GroundTest {};
PLNET_ON_EVERY_GROUND(CassiniList);

// A persistent entry: every message lands at its beginning.
TargetCommand lasting(const RawProcess& at, std::uint16_t id, std::size_t offset,
                      std::uint64_t length, std::uint64_t bits) {
  TargetCommand command = at.entry(id, offset, length, bits);
  command.use_once = 0;
  return command;
}
TargetCommand packing(const RawProcess& at, std::uint16_t id, std::size_t offset,
                      std::uint64_t length, unsigned min_free) {
  TargetCommand command = at.entry(id, offset, length, kBits);
  command.use_once = 0;
  command.manage_local = 1;
  command.min_free = min_free;
  return command;
}

// --- Point 2: command queues ---

CStateCommand sticky(const RawProcess& from) {
  return {.command = command_byte(CommandType::kIdc, SizeCode::k32, opcode::kCState),
          .length = 32,
          .event_send_disable = 1,
          .initiator = match_id(from.own, 9),
          .eq = static_cast<std::uint16_t>(from.events.number())};
}

// A message of this many bytes inside the command.
void push_small_message(RawProcess& from, const RawProcess& to, std::uint32_t bytes,
                        std::uint64_t user) {
  const std::uint32_t whole = 32 + bytes;
  const IdcMessageCommand command{
      .command = command_byte(CommandType::kIdc, size_for(whole), opcode::kSmallMessage),
      .length = static_cast<std::uint8_t>(whole),
      .dfa = fabric_address(to.own, put_index(0), 9).dfa,
      .match_bits = kBits,
      .user_ptr = user};
  ASSERT_TRUE(from.tx.push(size_for(whole), command.encode(), from.data.first(bytes)));
}

// Several revolutions of the ring.
void every_size_at_each_alignment(Ground& ground, bool low_latency) {
  RawProcess near(ground, 0);
  RawProcess far(ground, 1);
  far.append(lasting(far, 5, 0, 4096, kBits));
  std::uint64_t user = 0;
  const auto go = [&] {
    if (low_latency)
      near.tx.ring_low_latency();
    else
      near.tx.ring();
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned lead = 0; lead < 8; ++lead) {
      for (const std::uint32_t bytes : {0U, 32U, 96U, 192U}) {  // 32 plus these: 64, 64, 128, 256
        SCOPED_TRACE("lead " + std::to_string(lead) + ", bytes " + std::to_string(bytes));
        for (unsigned i = 0; i < lead; ++i)
          ASSERT_TRUE(near.tx.push(sticky(near)));  // 32 bytes each
        std::memset(near.data.data(), static_cast<int>(++user), 4096);
        ASSERT_TRUE(near.tx.push(sticky(near)));
        if (bytes == 0) {
          ASSERT_TRUE(
              near.tx.push(near.dma(opcode::kPut, far.own, 0, 200, kBits, user, put_index(0))));
        } else {
          push_small_message(near, far, bytes, user);
        }
        go();
        const auto ack = near.expect(EventType::kAck);
        EXPECT_EQ(ack.code, ReturnCode::kOk);
        EXPECT_EQ(ack.as<InitiatorEvent>().user_ptr, user);
        const std::uint32_t length = bytes == 0 ? 200 : bytes;
        EXPECT_EQ(ack.as<InitiatorEvent>().mlength, length);
        EXPECT_EQ(far.expect(EventType::kPut).code, ReturnCode::kOk);
        EXPECT_EQ(std::memcmp(far.data.data(), near.data.data(), length), 0);
      }
    }
  }
  EXPECT_FALSE(near.tx.failed());
}

TEST_P(CassiniList, EveryCommandSizeAtEachAlignment) {
  every_size_at_each_alignment(*ground(), false);
}

TEST_P(CassiniList, LowLatencyWindows) {
  every_size_at_each_alignment(*ground(), true);
}

TEST_P(CassiniList, FullRing) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  far.append(lasting(far, 5, 0, 4096, kBits));
  for (unsigned round = 0; round < 3; ++round) {
    std::uint64_t pushed = 0;
    while (near.tx.push(near.dma(opcode::kPut, far.own, 0, 8, kBits, pushed, put_index(0))))
      ++pushed;
    EXPECT_EQ(pushed, near.tx.slots() - 4U - 1U) << "the status block, and one stays unused";
    EXPECT_FALSE(near.tx.has_room(SizeCode::k64));
    near.tx.ring();
    for (std::uint64_t i = 0; i < pushed; ++i) {
      near.expect(EventType::kAck, ReturnCode::kOk);
      far.expect(EventType::kPut, ReturnCode::kOk);
    }
    EXPECT_TRUE(near.tx.has_room(SizeCode::k256));
  }
}

TEST_P(CassiniList, AnInvalidCommandIsReported) {
  RawProcess near(*ground(), 0);
  DmaCommand command = near.dma(opcode::kPut, near.own, 0, 8, kBits, 1, put_index(0));
  command.command = command_byte(CommandType::kDma, SizeCode::k64, opcode::kReduction);
  ASSERT_TRUE(near.tx.push(command));
  near.tx.ring();
  const auto failure = near.expect(EventType::kCommandFailure);
  EXPECT_NE(failure.code, ReturnCode::kOk);
  EXPECT_EQ(failure.as<CommandFailureEvent>().cq_id, near.tx.hardware_index());
  EXPECT_EQ(failure.as<CommandFailureEvent>().fail_command, command.command);
  EXPECT_TRUE(near.tx.failed());
}

// --- Point 3: event queues ---

// A process sends to itself, so that events of all sizes share a queue: 16 bytes (ACK), 32 (PUT
// into a plain entry), 64 (PUT into a packing entry, LINK, UNLINK), and NULL events at the end of a
// short line.
TEST_P(CassiniList, EventsOfEachSizeGoRound) {
  RawProcess one(*ground(), 0, {.event_bytes = 4096});
  one.append(lasting(one, 5, 4096, 64, match_bits::kMessage | 9));
  unsigned plain = 0;
  std::size_t rounds = 0;
  for (std::size_t before = one.events.offset(); rounds < 4; ++plain) {
    one.put(one.own, 0, 16, match_bits::kMessage | 9, plain);
    const auto ack = one.expect(EventType::kAck);
    EXPECT_EQ(ack.bytes, 16U);
    EXPECT_EQ(ack.as<InitiatorEvent>().user_ptr, plain);
    EXPECT_EQ(one.expect(EventType::kPut).bytes, 32U);
    if (plain % 3 == 0) {
      one.append(packing(one, 6, 8192, 64, 64));
      one.put(one.own, 0, 16, kBits);
      one.expect(EventType::kAck, ReturnCode::kOk);
      const auto put = one.expect(EventType::kPut);
      EXPECT_EQ(put.bytes, 64U);
      EXPECT_EQ(put.as<TargetLongEvent>().auto_unlinked, 1U);
    }
    if (one.events.offset() < before) ++rounds;
    before = one.events.offset();
    ASSERT_LT(plain, 1000U);
  }
  EXPECT_FALSE(one.events.broken());
  EXPECT_FALSE(one.events.dropped());
}

TEST_P(CassiniList, EventsWithoutRoomAreReportedAsDropped) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1, {.event_bytes = 4096});
  far.append(lasting(far, 5, 0, 64, kBits));
  EXPECT_FALSE(far.events.dropped());
  for (unsigned i = 0; i < 200; ++i) {  // 32 bytes each, and they stay in the queue
    near.put(far.own, 0, 8, kBits, i);
    near.expect(EventType::kAck);
  }
  for (unsigned turns = 0; turns < 100 && !far.events.dropped(); ++turns)
    near.turn();
  EXPECT_TRUE(far.events.dropped());
  EXPECT_FALSE(near.events.dropped());
}

// --- Point 4: lists ---

TEST_P(CassiniList, AppendAndUnlink) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  far.append(far.entry(5, 0, 64, kBits));
  far.unlink(5);
  const auto unlinked = far.expect(EventType::kUnlink);
  EXPECT_EQ(unlinked.code, ReturnCode::kOk);
  EXPECT_EQ(unlinked.as<TargetLongEvent>().buffer_id, 5U);
  EXPECT_EQ(unlinked.as<TargetLongEvent>().auto_unlinked, 0U);
  far.unlink(5);
  far.expect(EventType::kUnlink, ReturnCode::kEntryNotFound);
  near.put(far.own, 0, 8, kBits);
  near.expect(EventType::kAck, ReturnCode::kEntryNotFound);
  far.expect_silence();
}

// One of the two wins, and both ends agree on the result.
TEST_P(CassiniList, UnlinkAgainstArrival) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  unsigned arrived = 0, taken_back = 0;
  for (unsigned round = 0; round < 100; ++round) {
    far.append(far.entry(5, 0, 64, kBits));
    if (round % 8 == 7) {
      far.unlink(5);
      far.turn();
    }
    near.put(far.own, 0, 8, kBits);
    for (unsigned i = 0; i < round % 4; ++i)
      near.turn();
    if (round % 8 != 7) far.unlink(5);
    const auto ack = near.expect(EventType::kAck);
    const auto unlinked = far.expect(EventType::kUnlink);
    if (ack.code == ReturnCode::kOk) {
      ++arrived;
      EXPECT_EQ(unlinked.code, ReturnCode::kEntryNotFound);
      far.expect(EventType::kPut, ReturnCode::kOk);
    } else {
      ++taken_back;
      EXPECT_EQ(ack.code, ReturnCode::kEntryNotFound);
      EXPECT_EQ(unlinked.code, ReturnCode::kOk);
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(arrived, 0U);
  EXPECT_GT(taken_back, 0U);
  far.expect_silence();
}

TEST_P(CassiniList, MinFreeToTheByte) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  const unsigned shift = far.backend().devices().value()[ground()->device(1)].min_free_shift;
  const auto arrives = [&](std::uint32_t length) {
    near.put(far.own, 0, length, kBits);
    near.expect(EventType::kAck, ReturnCode::kOk);
    return far.expect(EventType::kPut).as<TargetLongEvent>();
  };
  far.append(packing(far, 5, 0, 4096, 512U >> shift));
  EXPECT_EQ(arrives(3584).auto_unlinked, 0U) << "exactly that much is left";
  const TargetLongEvent last = arrives(1);
  EXPECT_EQ(last.auto_unlinked, 1U) << "one byte less";
  EXPECT_EQ(last.start, far.iova(3584));
  far.append(packing(far, 6, 0, 4096, 512U >> shift));
  EXPECT_EQ(arrives(3585).auto_unlinked, 1U);
  near.put(far.own, 0, 8, kBits);
  near.expect(EventType::kAck, ReturnCode::kEntryNotFound);
}

TEST_P(CassiniList, LongMessagesAreTruncatedOrRefused) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  std::memset(near.data.data(), 7, 5000);
  far.append(far.entry(5, 0, 3000, kBits));
  near.put(far.own, 0, 5000, kBits);
  EXPECT_EQ(near.expect(EventType::kAck).as<InitiatorEvent>().mlength, 3000U);
  const auto put = far.expect(EventType::kPut);
  EXPECT_EQ(put.bytes, 64U);
  EXPECT_EQ(put.as<TargetLongEvent>().mlength, 3000U);
  EXPECT_EQ(put.as<TargetLongEvent>().rlength, 5000U);
  EXPECT_EQ(far.data[2999], std::byte{7});
  EXPECT_EQ(far.data[3000], std::byte{0});
  TargetCommand whole = far.entry(6, 8192, 3000, kBits);
  whole.no_truncate = 1;
  far.append(whole);
  near.put(far.own, 0, 5000, kBits);
  EXPECT_NE(near.expect(EventType::kAck).code, ReturnCode::kOk);
  EXPECT_EQ(far.data[8192], std::byte{0});
}

// The longest length that a short event can carry, and one byte more.
TEST_P(CassiniList, LengthsAroundTwentyBits) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  for (const std::uint32_t length : {0xfffffU, 0x100000U}) {
    far.append(far.entry(5, 0, length, kBits));
    near.put(far.own, 0, length, kBits);
    EXPECT_EQ(near.expect(EventType::kAck).as<InitiatorEvent>().mlength, length);
    const auto put = far.expect(EventType::kPut);
    EXPECT_EQ(put.bytes, length == 0xfffffU ? 32U : 64U);
    EXPECT_EQ(put.bytes == 32 ? put.as<TargetEvent>().length : put.as<TargetLongEvent>().mlength,
              length);
  }
}

// --- Point 5: matching ---

TEST_P(CassiniList, IgnoreBitsAndDirectedReceives) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  const auto answer = [&](std::uint64_t bits) {
    near.put(far.own, 0, 8, bits);
    return near.expect(EventType::kAck).code;
  };
  // As in kfilnd's tagged buffers, bits 52 and 53 are ignored; the bit beside them and the tag
  // count.
  TargetCommand entry = lasting(far, 5, 0, 64, match_bits::tagged(9));
  entry.ignore_bits = match_bits::kTaggedIgnore;
  entry.match_id = match_id(near.own, 9);
  far.append(entry);
  EXPECT_EQ(answer(match_bits::tagged(9)), ReturnCode::kOk);
  EXPECT_EQ(answer(match_bits::tagged_rma(9)), ReturnCode::kOk);
  EXPECT_EQ(answer(match_bits::tagged_data(9)), ReturnCode::kOk);
  EXPECT_EQ(answer(match_bits::tagged(8)), ReturnCode::kEntryNotFound);
  EXPECT_EQ(answer(match_bits::kVersion | 9), ReturnCode::kEntryNotFound);
  far.unlink(5);
  far.expect(EventType::kUnlink, ReturnCode::kOk);
  // For another process, and for a process of the same number on another NIC.
  for (const Process other : {Process{.nic = near.own.nic, .pid = near.own.pid + 1},
                              Process{.nic = near.own.nic + 1, .pid = near.own.pid}}) {
    entry.match_id = match_id(other, 9);
    far.append(entry);
    EXPECT_EQ(answer(match_bits::tagged(9)), ReturnCode::kEntryNotFound);
    far.unlink(5);
    far.expect(EventType::kUnlink, ReturnCode::kOk);
  }
}

// --- Points 5 and 7: the initiator's result and its meaning for LNet ---

class CassiniCodes : public GroundTest {
 protected:
  static void check(RawProcess& near, Process to, ReturnCode code, Errc errc, bool by_target,
                    unsigned index = put_index(0)) {
    near.put(to, 0, 8, kBits, 1, index);
    const auto ack = near.expect(EventType::kAck);
    EXPECT_EQ(ack.code, code) << name_of(ack.code);
    EXPECT_EQ(ack.as<InitiatorEvent>().tgt_error, by_target ? 1U : 0U);
    EXPECT_EQ(errc_of(ack.code), errc);
  }
};
PLNET_ON_EVERY_GROUND(CassiniCodes);

TEST_P(CassiniCodes, AnAbsentPeer) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  check(near, {.nic = 0x77777, .pid = 3}, ReturnCode::kUndeliverable, Errc::kNoRoute, false);
  check(near, {.nic = far.own.nic, .pid = 99}, ReturnCode::kPtlteNotFound, Errc::kNoRoute, true);
  check(near, far.own, ReturnCode::kPtlteNotFound, Errc::kNoRoute, true, put_index(1));
}

TEST_P(CassiniCodes, AnotherVni) {
  RawProcess near(*ground(), 0, {.vni = 10});
  RawProcess far(*ground(), 1);
  far.append(far.entry(5, 0, 64, kBits));
  check(near, far.own, ReturnCode::kVniNotFound, Errc::kNoRoute, true);
}

TEST_P(CassiniCodes, NoBufferOrADisabledPortal) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  check(near, far.own, ReturnCode::kEntryNotFound, Errc::kRefused, true);
  far.set_state(PortalState::kDisabled);
  check(near, far.own, ReturnCode::kPtDisabled, Errc::kRefused, true);
  far.set_state(PortalState::kEnabled);
  far.append(far.entry(5, 0, 64, kBits));
  check(near, far.own, ReturnCode::kOk, Errc::kIo, false);
}

// The operation is executed and the initiator receives a failure. Only the software device does
// this on request.
TEST_P(CassiniCodes, TheAnswerGetsLost) {
  if (GetParam() != GroundKind::kSoft) GTEST_SKIP() << "nothing here loses answers";
  SoftGround losing({.seed = 3, .acknowledgement_lost = 1});
  RawProcess near(losing, 0);
  RawProcess far(losing, 1);
  far.append(lasting(far, 5, 0, 64, kBits));
  unsigned undeliverable = 0, canceled = 0;
  for (unsigned i = 0; i < 40; ++i) {
    near.put(far.own, 0, 8, kBits);
    const ReturnCode code = near.expect(EventType::kAck).code;
    far.expect(EventType::kPut, ReturnCode::kOk);
    undeliverable += code == ReturnCode::kUndeliverable ? 1U : 0U;
    canceled += code == ReturnCode::kCanceled ? 1U : 0U;
  }
  EXPECT_EQ(undeliverable + canceled, 40U);
  EXPECT_GT(undeliverable, 0U);
  EXPECT_GT(canceled, 0U);
  EXPECT_EQ(errc_of(ReturnCode::kCanceled), Errc::kIo) << "never done again: it may have been";
}

TEST_P(CassiniCodes, OperationThatIsNotAllowed) {
  RawProcess near(*ground(), 0);
  RawProcess far(*ground(), 1);
  TargetCommand entry = far.entry(5, 0, 64, kBits);
  entry.op_put = 0;
  far.append(entry);
  check(near, far.own, ReturnCode::kOpViolation, Errc::kProtocol, true);
}

}  // namespace
}  // namespace plnet::cassini::conformance_list_test
