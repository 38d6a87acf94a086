// SPDX-License-Identifier: BSD-3-Clause
// Triggered commands: they wait for a counting event, in the order of their thresholds.
#include <cstring>

#include "tests/unit/drivers/cassini/soft/lenient_rig.hpp"

namespace plnet::cassini::soft::triggered_test {
namespace {

using rigs::head;
using rigs::LenientPair;
using rigs::Producer;
using rigs::Slots;
using Ct = layout::Counting;

struct SoftTriggered : LenientPair {
  SoftTriggered() {
    first = a.nic.make_counter(a.group, &shown[0]).value();
    second = a.nic.make_counter(a.group, &shown[1]).value();
    queue =
        a.nic
            .make_command_queue(
                a.group, {.transmit = true, .triggered = true, .lcid = a.lcid, .error_eq = a.eq})
            .value();
    commands.attach(*a.nic.command_queue(queue));
  }
  [[nodiscard]] std::uint64_t success(unsigned counter) {
    return a.nic.tables().counter(counter)->success;
  }
  template <class Change>
  void push(CtOpcode opcode, Change change) {
    Slots slot;
    const unsigned size_code = opcode == CtOpcode::kTriggeredDma ? 2 : 1;
    head(slot.data(), CommandType::kCt, size_code, static_cast<unsigned>(opcode));
    change(slot.data());
    if (size_code == 2) align();
    commands.push_here(slot.data(), 32U << size_code);
    commands.ring();
    fabric.step(1);
  }
  // Such a queue is padded with NOOPs of 64 bytes.
  void align() {
    Slots noop;
    head(noop.data(), CommandType::kCt, 1, static_cast<unsigned>(CtOpcode::kNoop));
    while (commands.position() % 4 != 0)
      commands.push_here(noop.data(), 64);
  }
  void count(unsigned counter, std::uint64_t amount) {
    push(CtOpcode::kInc, [&](std::byte* at) {
      Ct::Ct::set(at, counter);
      Ct::CtSuccess::set(at, amount);
    });
  }
  // second += amount, once first is at the threshold
  void increment_at(std::uint64_t threshold, std::uint64_t amount) {
    push(CtOpcode::kTriggeredInc, [&](std::byte* at) {
      Ct::TrigCt::set(at, first);
      Ct::Threshold::set(at, threshold);
      Ct::Ct::set(at, second);
      Ct::CtSuccess::set(at, amount);
    });
  }
  [[nodiscard]] unsigned in_use() const { return a.nic.resources().used(Resource::kTriggered); }

  std::uint64_t shown[2]{};
  unsigned first = 0, second = 0, queue = 0;
  Producer commands;
};

TEST_F(SoftTriggered, CountsAtTheThreshold) {
  increment_at(10, 100);
  increment_at(5, 1);
  EXPECT_EQ(in_use(), 2U);
  count(first, 4);
  EXPECT_EQ(success(second), 0U);
  count(first, 1);
  EXPECT_EQ(success(second), 1U) << "the lower threshold first";
  count(first, 20);
  EXPECT_EQ(success(second), 101U);
  EXPECT_EQ(in_use(), 0U);
  increment_at(3, 1);
  EXPECT_EQ(success(second), 102U) << "it had been reached";
}

// As libfabric makes a counter: it resets it by a doorbell and then gives it a value. Both stores
// arrive after the NIC has looked at its doorbells: another queue's PUTs make them in the same
// step.
TEST_F(SoftTriggered, DoorbellIsSeenBeforeALaterCommand) {
  CountingDoorbell& doorbell = *a.nic.counter_doorbell(first);
  const auto write_to = [this](void* word, unsigned bits) {
    const unsigned mapping = b.nic.map(b.group, word, 8, false, true).value();
    b.append(b.arena.data(), 8, bits, bits, [&](std::byte* at) {
      layout::Target::Start::set(at, b.nic.mapping(mapping).iova);
      layout::Target::Lac::set(at, b.nic.mapping(mapping).lac);
    });
  };
  write_to(&doorbell.reset_success.value, 1);
  write_to(a.nic.command_queue(queue)->launch_page(), 2);
  Slots slot;
  head(slot.data(), CommandType::kCt, 1, static_cast<unsigned>(CtOpcode::kSet));
  Ct::Ct::set(slot.data(), first);
  Ct::CtSuccess::set(slot.data(), 2);
  Ct::SetCtSuccess::set(slot.data(), 1);
  commands.push_here(slot.data(), 64);
  const std::uint64_t rung[2]{0, commands.position() / 2};
  std::memcpy(a.arena.data(), rung, sizeof rung);
  a.put(b, a.arena.data(), 8, 1);
  a.put(b, a.arena.data() + 8, 8, 2);
  fabric.step(1);
  fabric.step(2);
  EXPECT_EQ(success(first), 2U);
}

TEST_F(SoftTriggered, EventAndWriteBack) {
  push(CtOpcode::kTriggeredEvent, [&](std::byte* at) {
    Ct::TrigCt::set(at, first);
    Ct::Threshold::set(at, 7);
    Ct::Eq::set(at, a.eq);
  });
  count(first, 7);
  const auto event = a.expect(EventType::kTriggered);
  EXPECT_EQ(event.get<layout::TriggeredEvent::Threshold>(), 7U);
  EXPECT_EQ(event.get<layout::TriggeredEvent::Ct>(), first);
  EXPECT_EQ(layout::CtWriteback::Success::get(reinterpret_cast<std::byte*>(&shown[0])), 7U);
}

TEST_F(SoftTriggered, PutIsSentAtTheThreshold) {
  b.append(b.arena.data(), 64, 1, 7);
  a.arena.data()[0] = std::byte{55};
  push(CtOpcode::kTriggeredDma, [&](std::byte* at) {
    Ct::TrigCt::set(at, first);
    Ct::Threshold::set(at, 1);
    std::byte* const put = at + Ct::kBytes;
    using Dma = layout::FullDma;
    head(put, CommandType::kDma, 1, DmaOpcode::kPut);
    address<Dma>(put, 0);
    Dma::Lac::set(put, a.lac());
    Dma::EventSendDisable::set(put, 1);
    Dma::LocalAddr::set(put, a.iova(a.arena.data()));
    Dma::RequestLen::set(put, 64);
    Dma::Eq::set(put, a.eq);
    Dma::Initiator::set(put, a.id());
    Dma::MatchBits::set(put, 7);
    Dma::Ct::set(put, second);
    Dma::EventCtAck::set(put, 1);
  });
  a.expect_silence();
  count(first, 1);
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(b.arena.data()[0], std::byte{55});
  EXPECT_EQ(success(second), 1U);
}

TEST_F(SoftTriggered, CancelledAndForgotten) {
  increment_at(5, 1);
  push(CtOpcode::kCancel, [&](std::byte* at) { Ct::Ct::set(at, first); });
  EXPECT_EQ(in_use(), 0U);
  count(first, 5);
  EXPECT_EQ(success(second), 0U);
  increment_at(50, 1);
  ASSERT_TRUE(a.nic.drop_command_queue(queue));
  EXPECT_EQ(in_use(), 0U) << "they go with their queue";
  ASSERT_TRUE(a.nic.drop_counter(first));
}

// Two that trigger one another for ever leave time for others.
TEST_F(SoftTriggered, CountingForEverIsBounded) {
  for (std::uint64_t threshold = 1; threshold <= 600; ++threshold)
    push(CtOpcode::kTriggeredInc, [&](std::byte* at) {
      Ct::TrigCt::set(at, first);
      Ct::Threshold::set(at, threshold);
      Ct::Ct::set(at, first);
      Ct::CtSuccess::set(at, 1);
    });
  count(first, 1);
  EXPECT_LT(success(first), 601U);
  for (int i = 0; i < 10; ++i)
    fabric.step(1);
  EXPECT_EQ(success(first), 601U);
}

TEST_F(SoftTriggered, OnlyItsQueueTakesThem) {
  Slots slot;
  head(slot.data(), CommandType::kCt, 1, static_cast<unsigned>(CtOpcode::kTriggeredInc));
  Ct::TrigCt::set(slot.data(), first);
  Ct::Ct::set(slot.data(), second);
  a.tx.push(slot.data(), 1);
  a.tx.ring();
  (void)a.expect(EventType::kCommandFailure, ReturnCode::kIllegalOp);
}

TEST_F(SoftTriggered, DoorbellsOfACounter) {
  CountingDoorbell& doorbell = *a.nic.counter_doorbell(first);
  increment_at(5, 1);
  doorbell.success.value = 5;
  fabric.step(1);
  EXPECT_EQ(success(first), 5U);
  EXPECT_EQ(success(second), 1U);
  doorbell.failure.value = 2;
  fabric.step(1);
  EXPECT_EQ(layout::CtWriteback::Failure::get(reinterpret_cast<std::byte*>(&shown[0])), 2U);
  doorbell.reset_success.value = 0;
  fabric.step(1);
  EXPECT_EQ(success(first), 0U);
}

}  // namespace
}  // namespace plnet::cassini::soft::triggered_test
