// SPDX-License-Identifier: BSD-3-Clause
// Command queues: every size at each alignment, wrap, full ring, windows, bad commands.
#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::queue_test {
namespace {

using rigs::head;
using rigs::Host;
using rigs::HostOptions;
using rigs::Slots;

struct Pair {
  explicit Pair(const HostOptions& options = {})
      : a(fabric, options), b(fabric, [&] {
          HostOptions second = options;
          second.address = 2;
          return second;
        }()) {}
  Fabric fabric;
  Host a, b;
};

TEST(SoftQueue, EverySizeAtEachAlignment) {
  for (unsigned start = 0; start < 8; ++start) {
    for (unsigned code = 0; code < 4; ++code) {
      Pair pair;
      Slots noop;
      for (unsigned i = 0; i < start; ++i)
        pair.a.tx.push_here(noop.data(), 32);
      // A state command of 32 bytes, a small message of 64, 128, 256.
      Slots state;
      head(state.data(), CommandType::kIdc, 0, DmaOpcode::kCstate);
      layout::Cstate::Length::set(state.data(), 32);
      layout::Cstate::Eq::set(state.data(), pair.a.eq);
      layout::Cstate::EventSendDisable::set(state.data(), 1);
      pair.a.tx.push(state.data(), 0);
      if (code > 0) {
        const unsigned length = 32U << code;
        Slots message;
        head(message.data(), CommandType::kIdc, code, DmaOpcode::kSmallMessage);
        layout::IdcMessage::Length::set(message.data(), length == 256 ? 224 : length);
        layout::IdcMessage::Nid::set(message.data(), 99);  // an unused address
        pair.a.tx.push(message.data(), code);
      }
      pair.a.tx.ring();
      pair.fabric.step(1);
      EXPECT_FALSE(pair.a.nic.command_queue(pair.a.txq)->stopped());
      EXPECT_EQ(pair.a.nic.tables().stats.get(NicStats::Id::kCommands), code > 0 ? 3U : 2U)
          << "with the SETSTATE of the beginning";
      if (code > 0) pair.a.expect(EventType::kAck, ReturnCode::kUndeliverable);
    }
  }
}

TEST(SoftQueue, UnalignedCommandsStopTheQueue) {
  Pair pair;
  Slots noop;
  pair.a.tx.push_here(noop.data(), 32);
  Slots dma;
  head(dma.data(), CommandType::kDma, 1, DmaOpcode::kPut);
  pair.a.tx.push_here(dma.data(), 64);
  pair.a.tx.ring();
  const auto event = pair.a.expect(EventType::kCommandFailure, ReturnCode::kCmdAlignError);
  EXPECT_EQ(event.get<layout::CommandFailure::FailLoc>(), 4U);
  EXPECT_EQ(event.get<layout::CommandFailure::FailOpcode>(), 1U);
  EXPECT_EQ(event.get<layout::CommandFailure::IsTarget>(), 0U);
  EXPECT_EQ(event.get<layout::CommandFailure::CqId>(), pair.a.txq);
  const std::uint64_t status = pair.a.cq_status(pair.a.txq);
  const auto* bytes = reinterpret_cast<const std::byte*>(&status);
  EXPECT_EQ(layout::CqStatus::ReturnCodeField::get(bytes), 49U);
  EXPECT_EQ(layout::CqStatus::FailLoc32::get(bytes), 1U);
  EXPECT_EQ(layout::CqStatus::FailOpcode::get(bytes), 1U);
  // No further command runs.
  pair.a.put(pair.b, pair.a.arena.data(), 1, 1);
  pair.a.expect_silence();
}

// Invalid commands and their errors.
struct Bad {
  const char* name;
  bool target;
  ReturnCode code;
  void (*make)(Host&, std::byte*);
  unsigned size_code;
};
class SoftQueueBad : public ::testing::TestWithParam<Bad> {};

TEST_P(SoftQueueBad, StopsTheQueue) {
  Pair pair;
  Slots slot;
  GetParam().make(pair.a, slot.data());
  (GetParam().target ? pair.a.target : pair.a.tx).push(slot.data(), GetParam().size_code);
  (GetParam().target ? pair.a.target : pair.a.tx).ring();
  const auto event = pair.a.expect(EventType::kCommandFailure, GetParam().code);
  EXPECT_EQ(event.get<layout::CommandFailure::IsTarget>(), GetParam().target ? 1U : 0U);
  EXPECT_TRUE(pair.a.nic.command_queue(GetParam().target ? pair.a.tgq : pair.a.txq)->stopped());
}

void dma(Host& host, std::byte* at, DmaOpcode opcode, unsigned size) {
  head(at, CommandType::kDma, size, opcode);
  layout::FullDma::Eq::set(at, host.eq);
}
void append(Host& host, std::byte* at) {
  using Le = layout::Target;
  head(at, 1, CqOpcode::kAppend);
  Le::PtlteIndex::set(at, host.portal);
  Le::BufferId::set(at, 1);
  Le::Lac::set(at, host.lac());
  Le::Start::set(at, host.iova(host.arena.data()));
  Le::Length::set(at, 64);
}

const Bad kBads[] = {
    {"put_of_32", false, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kPut, 0); }, 0},
    {"put_of_128", false, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kPut, 2); }, 2},
    {"rendezvous", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kRendezvousPut, 1); }, 1},
    {"atomic", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kAtomic, 2); }, 2},
    {"fetching_atomic", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kFetchingAtomic, 2); }, 2},
    {"ethernet", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kEthernetTx, 1); }, 1},
    {"reduction", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kReduction, 1); }, 1},
    {"reduction_flag", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) {
       dma(h, at, DmaOpcode::kPut, 1);
       layout::FullDma::Reduction::set(at, 1);
     },
     1},
    {"eager_length", false, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       dma(h, at, DmaOpcode::kPut, 1);
       layout::FullDma::EagerLength::set(at, 1);
     },
     1},
    {"nomatch_not_restricted", false, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kNomatchPut, 0); }, 0},
    {"foreign_eq", false, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       dma(h, at, DmaOpcode::kPut, 1);
       layout::FullDma::Eq::set(at, 77);
     },
     1},
    {"foreign_ct", false, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       dma(h, at, DmaOpcode::kPut, 1);
       layout::FullDma::Ct::set(at, 5);
     },
     1},
    {"idc_without_state", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) {
       head(at, CommandType::kIdc, 0, DmaOpcode::kPut);
       layout::IdcPut::Length::set(at, 16);
     },
     0},
    {"idc_length_and_size", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) {
       head(at, CommandType::kIdc, 1, DmaOpcode::kPut);
       layout::IdcPut::Length::set(at, 32);
     },
     1},
    {"idc_too_long", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) {
       head(at, CommandType::kIdc, 3, DmaOpcode::kSmallMessage);
       layout::IdcPut::Length::set(at, 225);
     },
     3},
    {"message_of_32", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) {
       head(at, CommandType::kIdc, 0, DmaOpcode::kSmallMessage);
       layout::IdcPut::Length::set(at, 32);
     },
     0},
    {"triggered", false, ReturnCode::kIllegalOp,
     [](Host&, std::byte* at) { head(at, CommandType::kCt, 2, 5U); }, 2},
    {"counter_0", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) { head(at, CommandType::kCt, 1, 1U); }, 1},
    {"lcid_alone", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) { head(at, 1, CqOpcode::kLcid); }, 1},
    {"unknown_cq_command", false, ReturnCode::kIllegalOp,
     [](Host&, std::byte* at) { head(at, CommandType::kCq, 1, 3U); }, 1},
    {"target_command_on_transmit", false, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { append(h, at); }, 1},
    {"dirty_noop", false, ReturnCode::kCmdInvalidArg,
     [](Host&, std::byte* at) { at[7] = std::byte{1}; }, 0},
    {"dma_on_target", true, ReturnCode::kIllegalOp,
     [](Host& h, std::byte* at) { dma(h, at, DmaOpcode::kPut, 1); }, 1},
    {"fence_on_target", true, ReturnCode::kIllegalOp,
     [](Host&, std::byte* at) { head(at, 1, CqOpcode::kFence); }, 1},
    {"unknown_target_command", true, ReturnCode::kIllegalOp,
     [](Host&, std::byte* at) { head(at, CommandType::kCq, 1, 13U); }, 1},
    {"target_command_of_128", true, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       append(h, at);
       layout::Command::CmdSize::set(at, 2);
     },
     2},
    {"append_to_nobody", true, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       append(h, at);
       layout::Target::PtlteIndex::set(at, 99);
     },
     1},
    {"append_nothing", true, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       append(h, at);
       layout::Target::Length::set(at, 0);
     },
     1},
    {"append_buffer_0", true, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       append(h, at);
       layout::Target::BufferId::set(at, 0);
     },
     1},
    {"append_unexpected", true, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       append(h, at);
       layout::Target::PtlList::set(at, 3);
     },
     1},
    {"append_past_the_end", true, ReturnCode::kAddrOutOfRange,
     [](Host& h, std::byte* at) {
       append(h, at);
       layout::Target::Start::set(at, ~std::uint64_t{0});
     },
     1},
    {"state_of_ethernet", true, ReturnCode::kCmdInvalidArg,
     [](Host& h, std::byte* at) {
       head(at, 1, CqOpcode::kSetstate);
       layout::SetState::PtlteIndex::set(at, h.portal);
       layout::SetState::PtlteState::set(at, 4);
     },
     1},
};
INSTANTIATE_TEST_SUITE_P(All, SoftQueueBad, ::testing::ValuesIn(kBads),
                         [](const auto& one) { return one.param.name; });

TEST(SoftQueue, LacWithoutMappingIsRefused) {
  Pair pair;
  pair.a.append(pair.a.arena.data(), 64, 1, 1, [&](std::byte* at) {
    for (unsigned lac = 0; lac < 8; ++lac) {
      const bool mapped = lac == pair.a.lac() || lac == pair.a.nic.mapping(pair.a.eq_mapping).lac;
      if (!mapped) layout::Target::Lac::set(at, lac);
    }
  });
  pair.a.expect(EventType::kCommandFailure, ReturnCode::kInvalidAc);
}

TEST(SoftQueue, WritePointerOutsideTheRing) {
  for (const std::uint64_t wrong : {std::uint64_t{3}, std::uint64_t{256}, ~std::uint64_t{0}}) {
    Pair pair;
    pair.a.tx.ring_value(wrong);
    pair.a.expect(EventType::kCommandFailure, ReturnCode::kCmdInvalidArg);
  }
}

// With 136 of 200 commands left for the NIC there is room for 115 more in 252 slots.
TEST(SoftQueue, AProducerThatLapsItsQueueIsCaught) {
  for (const unsigned more : {115U, 116U}) {
    Pair pair({.slots = 256});
    const NicStats& stats = pair.a.nic.tables().stats;
    const std::uint64_t before = stats.get(NicStats::Id::kCommands);
    for (unsigned i = 0; i < 200; ++i)
      pair.a.put(pair.b, pair.a.arena.data(), 0, i, i);
    (void)pair.fabric.step(rigs::Host::now_ns += 1000);
    ASSERT_EQ(stats.get(NicStats::Id::kCommands) - before, 64U);
    for (unsigned i = 0; i < more; ++i)
      pair.a.put(pair.b, pair.a.arena.data(), 0, i, i);
    for (unsigned i = 0; i < 10; ++i)
      (void)pair.fabric.step(rigs::Host::now_ns += 1000);
    const unsigned failures = more == 115 ? 0 : 1;
    EXPECT_EQ(stats.get(NicStats::Id::kCommandFailures), failures);
    EXPECT_EQ(stats.get(NicStats::Id::kCommands) - before, failures == 0 ? 315U : 64U);
  }
}

TEST(SoftQueue, CommandWhoseEndWasNeverWritten) {
  Pair pair;
  Slots message;
  head(message.data(), CommandType::kIdc, 3, DmaOpcode::kSmallMessage);
  layout::IdcMessage::Length::set(message.data(), 224);
  pair.a.tx.push(message.data(), 3);
  pair.a.tx.ring_value(5);
  pair.a.expect(EventType::kCommandFailure, ReturnCode::kCmdInvalidArg);
}

TEST(SoftQueue, ReservedBitsAreCountedAndNoMore) {
  Pair pair;
  pair.a.dma(DmaOpcode::kPut, pair.b, pair.a.arena.data(), 1, 1, 1,
             [](std::byte* at) { at[1] |= std::byte{0x80}; });
  pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound);
  EXPECT_EQ(pair.a.nic.tables().stats.get(NicStats::Id::kReservedBits), 1U);
}

TEST(SoftQueue, WrapsManyTimes) {
  Pair pair({.slots = 64});
  for (unsigned i = 0; i < 500; ++i) {
    pair.b.append(pair.b.arena.data(), 64, 1 + i, i);
    pair.a.put(pair.b, pair.a.arena.data(), 8, i, i);
    EXPECT_EQ(pair.a.expect(EventType::kAck).get<layout::InitiatorShort::UserPtr>(), i);
    EXPECT_EQ(pair.b.expect(EventType::kPut).get<layout::TargetShort::BufferId>(), 1 + i);
  }
  EXPECT_EQ(pair.a.nic.tables().stats.get(NicStats::Id::kEventsUncleared), 0U);
}

TEST(SoftQueue, FullRingRunsWhole) {
  Pair pair({.slots = 64});
  for (unsigned i = 0; i < 59; ++i)  // 60 slots, one stays empty
    pair.a.put(pair.b, pair.a.arena.data(), 0, i, i);
  for (unsigned i = 0; i < 59; ++i)
    EXPECT_EQ(pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound)
                  .get<layout::InitiatorShort::UserPtr>(),
              i);
  EXPECT_EQ(pair.a.cq_status(pair.a.txq) & 0xffff, 63U);
}

TEST(SoftQueue, StatusIsWrittenAsThePolicySays) {
  for (unsigned policy = 0; policy < 4; ++policy) {
    Pair pair({.policy = policy, .slots = 128});
    pair.a.put(pair.b, pair.a.arena.data(), 0, 1);
    pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound);
    EXPECT_EQ(pair.a.cq_status(pair.a.txq) & 0xffff, policy == 3 ? 4U : 5U) << policy;
    for (unsigned i = 0; i < 100; ++i) {
      pair.a.put(pair.b, pair.a.arena.data(), 0, 1);
      pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound);
    }
    EXPECT_GT(pair.a.cq_status(pair.a.txq) & 0xffff, 64U) << policy;
  }
}

TEST(SoftQueue, LowLatencyWindows) {
  Pair pair;
  const auto command = [&](std::uint64_t user) {
    Slots slot;
    head(slot.data(), CommandType::kDma, 1, DmaOpcode::kPut);
    layout::FullDma::Nid::set(slot.data(), 2);
    layout::FullDma::EndpointDefined::set(slot.data(), 7);
    layout::FullDma::Eq::set(slot.data(), pair.a.eq);
    layout::FullDma::EventSendDisable::set(slot.data(), 1);
    layout::FullDma::UserPtr::set(slot.data(), user);
    return slot;
  };
  const auto expect_user = [&](std::uint64_t user) {
    EXPECT_EQ(pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound)
                  .get<layout::InitiatorShort::UserPtr>(),
              user);
  };
  unsigned user = 0;
  for (unsigned round = 0; round < 40; ++round) {  // past the end of the ring too
    // 64 bytes.
    unsigned at = pair.a.tx.position();
    Slots one = command(++user);
    pair.a.tx.push(one.data(), 1);
    pair.a.tx.window(kWindow64, at, 64);
    expect_user(user);
    // 128 bytes, aligned or behind one skipped slot.
    Slots message;
    head(message.data(), CommandType::kIdc, 0, DmaOpcode::kCstate);
    layout::Cstate::Length::set(message.data(), 32);
    layout::Cstate::Eq::set(message.data(), pair.a.eq);
    layout::Cstate::EventSendDisable::set(message.data(), 1);
    pair.a.tx.push(message.data(), 0);
    pair.a.tx.ring();
    pair.fabric.step(1);
    at = pair.a.tx.position();
    Slots small;
    head(small.data(), CommandType::kIdc, 2, DmaOpcode::kSmallMessage);
    layout::IdcMessage::Length::set(small.data(), 128);
    layout::IdcMessage::Nid::set(small.data(), 2);
    layout::IdcMessage::EndpointDefined::set(small.data(), 7);
    layout::IdcMessage::UserPtr::set(small.data(), ++user);
    pair.a.tx.push(small.data(), 2);
    if (at % 4 == 0) {
      pair.a.tx.window(kWindow128Aligned, at, 128);
    } else {
      const unsigned skipped = at + 2 >= 512 ? kFirstUnit : at + 2;
      pair.a.tx.window(kWindow128Skip, skipped, 128);
    }
    expect_user(user);
  }
  EXPECT_EQ(pair.a.nic.tables().stats.get(NicStats::Id::kLowLatency), 80U);
}

struct SoftQueueWindows : ::testing::Test, Pair {
  enum class By { kDoorbell, kWindow, kHalfOfWindow };
  // Returns the unit of the command.
  unsigned begin(By how) {
    Slots slot;
    head(slot.data(), CommandType::kDma, 1, DmaOpcode::kPut);
    layout::FullDma::Nid::set(slot.data(), 2);
    layout::FullDma::EndpointDefined::set(slot.data(), 7);
    layout::FullDma::Eq::set(slot.data(), a.eq);
    layout::FullDma::EventSendDisable::set(slot.data(), 1);
    layout::FullDma::UserPtr::set(slot.data(), begun++);
    const unsigned at = a.tx.position();
    a.tx.push(slot.data(), 1);
    if (how == By::kDoorbell) {
      a.tx.ring();
    } else {
      a.tx.window(kWindow64, at, how == By::kWindow ? 64 : 8);
    }
    return at;
  }
  void expect_all() {
    for (; ended < begun; ++ended)
      EXPECT_EQ(a.expect(EventType::kAck, ReturnCode::kEntryNotFound)
                    .get<layout::InitiatorShort::UserPtr>(),
                ended);
  }
  unsigned begun = 0, ended = 0;
};

TEST_F(SoftQueueWindows, MoreWritesThanSlotsBeforeTheNicLooks) {
  for (unsigned i = 0; i < 40; ++i)
    begin(By::kWindow);
  expect_all();
}

// The first word of a command is in the window, and behind it an earlier command of this slot with
// the same first word, which is still in the ring.
TEST_F(SoftQueueWindows, AWriteThatIsNotCompleteIsNoCommand) {
  for (unsigned i = 0; i < 16; ++i)
    begin(By::kWindow);
  expect_all();
  const unsigned at = begin(By::kHalfOfWindow);
  fabric.step(1);
  a.tx.window(kWindow64, at, 64);
  expect_all();
  for (unsigned i = 0; i < 40; ++i) {
    fabric.step(1);  // the NIC looks where the next command will be
    begin(By::kWindow);
    expect_all();
  }
}

// The slots of what the doorbell announced hold later writes, which lead past the doorbell.
TEST_F(SoftQueueWindows, LaterWritesThanTheDoorbell) {
  for (unsigned round = 0; round < 40; ++round) {  // past the end of the ring too
    for (unsigned i = 0; i < 3; ++i)
      begin(By::kDoorbell);
    for (unsigned i = 0; i < 20; ++i)
      begin(By::kWindow);
    begin(By::kDoorbell);
    for (unsigned i = 0; i < 17; ++i)
      begin(By::kWindow);
    expect_all();
  }
}

TEST(SoftQueue, LcidSwitchChangesTheVni) {
  Pair pair;
  const unsigned other = pair.a.nic.make_profile(pair.a.group, 300, 2).value();
  for (unsigned i = 0; i < pair.a.tx.position() % 4; ++i) {
    Slots noop;
    pair.a.tx.push_here(noop.data(), 32);
  }
  Slots both;
  head(both.data(), 1, CqOpcode::kLcid);
  layout::Cq::Lcid::set(both.data(), other);
  head(both.data() + 64, 1, CqOpcode::kNoop);
  pair.a.tx.push(both.data(), 2);
  pair.a.put(pair.b, pair.a.arena.data(), 8, 1);
  pair.a.expect(EventType::kAck, ReturnCode::kVniNotFound);
}

TEST(SoftQueue, FencePasses) {
  Pair pair;
  Slots fence;
  head(fence.data(), 1, CqOpcode::kFence);
  pair.a.put(pair.b, pair.a.arena.data(), 8, 1, 5);
  pair.a.tx.push(fence.data(), 1);
  pair.a.put(pair.b, pair.a.arena.data(), 8, 1, 6);
  pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound);
  pair.a.expect(EventType::kAck, ReturnCode::kEntryNotFound);
}

}  // namespace
}  // namespace plnet::cassini::soft::queue_test
