// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "drivers/net/fault/endpoint.hpp"

namespace plnet::fault_endpoint_test {
namespace {

using drivers::Direction;
using drivers::Fault;
using drivers::FaultEndpointDriver;
using drivers::FaultPlan;
using drivers::FaultRule;
using drivers::Trigger;
using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using kfilnd::Tag;
using kfilnd::Target;
using lnet::Payload;

class Below final : public kfilnd::EndpointDriver {
 public:
  Result<void> send(const Target&, std::span<const std::byte>, const Payload&,
                    std::uint64_t) override {
    ++sends;
    return {};
  }
  Result<void> post_tagged(const Target&, Tag, bool, const Payload&, std::uint64_t) override {
    return {};
  }
  Result<void> cancel_tagged(Tag) override { return {}; }
  Result<void> read_tagged(const Target&, Tag, const Payload&, std::uint64_t) override {
    ++sends;
    return {};
  }
  Result<void> write_tagged(const Target&, Tag, const Payload&, std::uint64_t) override {
    return {};
  }
  Result<void> answer_tagged(const Target&, Tag, std::uint64_t, std::uint64_t) override {
    return {};
  }
  Result<void> post_multi_receive(const Fragment&, std::uint64_t) override { return {}; }
  Result<kfilnd::PeerAddress> resolve(std::uint64_t, unsigned) override { return 1; }
  void forget(kfilnd::PeerAddress) override {}
  void shut_down() override {}
  bool quiet() const override { return true; }
  const kfilnd::EndpointLimits& limits() const override { return limits_; }
  CounterView counters() const override { return {}; }

  unsigned sends = 0;

 private:
  kfilnd::EndpointLimits limits_;
};

// Letters: s sent, m message, u buffer unlinked, d remote done; then cookie, length, marks.
class Above final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const FabricCompletion> burst) override {
    for (const FabricCompletion& completion : burst) {
      const char letter = completion.event == FabricEvent::kSent             ? 's'
                          : completion.event == FabricEvent::kMessage        ? 'm'
                          : completion.event == FabricEvent::kBufferUnlinked ? 'u'
                                                                             : 'd';
      log.append(1, letter).append(std::to_string(completion.cookie));
      if (completion.event == FabricEvent::kMessage) {
        log.append(":").append(std::to_string(completion.length));
      }
      if (completion.buffer_unlinked) log += "*";
      if (!completion.status) log.append("!").append(name_of(completion.status.error()));
      log += " ";
    }
  }
  void on_link(bool, std::uint64_t) override {}

  std::string log;
};

struct FaultEndpoint : testing::Test {
  FaultEndpoint() {
    fault.attach(below);
    id = arenas.add({.base = bytes.data(), .size = bytes.size()}).value();
    EXPECT_TRUE(fault.post_multi_receive({{id, 0}, 64}, 7));
  }
  void plan(FaultRule rule) {
    rule.trigger = Trigger::kAtNth;
    rule.nth = 1;
    rule.delay = std::chrono::microseconds(10);
    FaultPlan plan;
    ASSERT_TRUE(plan.add(rule));
    ASSERT_TRUE(fault.set_plan(plan));
  }
  void message(std::uint32_t length, bool last = false) {
    const FabricCompletion completion{
        .event = FabricEvent::kMessage, .cookie = 7, .length = length, .buffer_unlinked = last};
    fault.on_completions({&completion, 1});
  }
  static Instant at(int usec) { return Instant{} + std::chrono::microseconds(usec); }

  std::array<std::byte, 64> bytes{};
  ArenaTable arenas;
  ArenaId id = kNoArena;
  Above above;
  Below below;
  FaultEndpointDriver fault{above, Random(1), &arenas};
};

TEST_F(FaultEndpoint, ADroppedSendIsSentAsFarAsAnybodyKnows) {
  plan({.fault = Fault::kDrop});
  EXPECT_TRUE(fault.send({}, {}, {}, 3));
  EXPECT_EQ(below.sends, 0U);
  EXPECT_EQ(above.log, "");  // no callback from within the call
  EXPECT_FALSE(fault.quiet());
  fault.poll(at(0));
  EXPECT_EQ(above.log, "s3 ");
  EXPECT_TRUE(fault.quiet());
  EXPECT_TRUE(fault.send({}, {}, {}, 4));
  EXPECT_EQ(below.sends, 1U);
}

TEST_F(FaultEndpoint, ADropMayFailLate) {
  plan({.fault = Fault::kDrop, .error = Errc::kTimedOut, .fails_late = true});
  EXPECT_TRUE(fault.send({}, {}, {}, 3));
  fault.poll(at(9));
  EXPECT_EQ(above.log, "");
  fault.poll(at(10));
  EXPECT_EQ(above.log, "s3!TimedOut ");
}

TEST_F(FaultEndpoint, AReadCannotVanishButItCanFail) {
  plan({.fault = Fault::kDrop});
  EXPECT_TRUE(fault.read_tagged({}, 1, {}, 3));
  EXPECT_EQ(below.sends, 1U);
  EXPECT_EQ(fault.judge().counts(0).skipped, 1U);
  plan({.fault = Fault::kFail});
  EXPECT_TRUE(fault.read_tagged({}, 1, {}, 4));
  EXPECT_EQ(below.sends, 1U);
  fault.poll(at(0));
  EXPECT_EQ(above.log, "d4!Io ");
}

TEST_F(FaultEndpoint, AReceiveStallTakesNoBuffersForAWhile) {
  plan({.fault = Fault::kStall, .direction = Direction::kRx});
  EXPECT_TRUE(fault.post_multi_receive({{id, 0}, 64}, 7));
  message(10);
  EXPECT_EQ(above.log, "m7:10 ") << "arrived bytes are reported";
  EXPECT_FALSE(fault.post_multi_receive({{id, 0}, 64}, 7));
  EXPECT_TRUE(fault.send({}, {}, {}, 3)) << "outgoing messages are not delayed";
  fault.poll(at(9));
  EXPECT_FALSE(fault.post_multi_receive({{id, 0}, 64}, 7));
  fault.poll(at(10));
  EXPECT_TRUE(fault.post_multi_receive({{id, 0}, 64}, 7));
}

TEST_F(FaultEndpoint, AStallAsksToTryAgain) {
  plan({.fault = Fault::kStall});
  EXPECT_EQ(fault.send({}, {}, {}, 3).error(), Errc::kAgain);
  EXPECT_EQ(fault.send({}, {}, {}, 3).error(), Errc::kAgain);
  EXPECT_EQ(fault.next_deadline(), at(10)) << "nothing else wakes a refused peer";
  EXPECT_EQ(fault.poll(at(9)), 0U);
  EXPECT_EQ(fault.poll(at(10)), 1U);
  EXPECT_EQ(fault.next_deadline(), Instant::max());
  EXPECT_TRUE(fault.send({}, {}, {}, 3));
}

TEST_F(FaultEndpoint, AfterShutDownTheRealDriverAnswers) {
  plan({.fault = Fault::kDrop});
  fault.shut_down();
  EXPECT_TRUE(fault.send({}, {}, {}, 3));
  EXPECT_EQ(below.sends, 1U);
  EXPECT_TRUE(fault.quiet());
}

// Sends the next message from within the completion of the last one, endlessly.
struct Restless final : kfilnd::EndpointEvents {
  void on_completions(std::span<const FabricCompletion> burst) override {
    for (const FabricCompletion& completion : burst) {
      if (++ended > 100) return;  // it would not end otherwise
      EXPECT_TRUE(driver->send({}, {}, {}, completion.cookie + 1));
    }
  }
  void on_link(bool, std::uint64_t) override {}
  kfilnd::EndpointDriver* driver = nullptr;
  unsigned ended = 0;
};

TEST(FaultEndpointPoll, EndsThoughEveryEndBringsANewMessage) {
  Restless above;
  Below below;
  FaultEndpointDriver fault(above, Random(1), nullptr);
  fault.attach(below);
  above.driver = &fault;
  FaultPlan all;
  ASSERT_TRUE(all.add({.fault = Fault::kDrop}));
  ASSERT_TRUE(fault.set_plan(all));
  EXPECT_TRUE(fault.send({}, {}, {}, 1));
  for (unsigned i = 1; i <= 3; ++i) {
    EXPECT_EQ(fault.poll(FaultEndpoint::at(0)), 1U);
    EXPECT_EQ(above.ended, i);
  }
}

TEST_F(FaultEndpoint, ADroppedLastMessageStillUnlinksItsBuffer) {
  plan({.fault = Fault::kDrop, .direction = Direction::kRx});
  message(10, true);
  EXPECT_EQ(above.log, "u7 ");
}

TEST_F(FaultEndpoint, ADroppedMessageIsGone) {
  plan({.fault = Fault::kDrop, .direction = Direction::kRx});
  message(10);
  message(12);
  EXPECT_EQ(above.log, "m7:12 ");
}

TEST_F(FaultEndpoint, ADuplicateUnlinksOnce) {
  plan({.fault = Fault::kDuplicate, .direction = Direction::kRx});
  message(10, true);
  EXPECT_EQ(above.log, "m7:10 m7:10* ");
}

TEST_F(FaultEndpoint, ADelayedMessageIsOvertaken) {
  plan({.fault = Fault::kDelay, .direction = Direction::kRx});
  message(10);
  message(12);
  fault.poll(at(10));
  EXPECT_EQ(above.log, "m7:12 m7:10 ");
}

TEST_F(FaultEndpoint, ABufferHasNoEventsAfterItsLastMessage) {
  plan({.fault = Fault::kDelay, .direction = Direction::kRx});
  message(10);
  message(12, true);
  EXPECT_EQ(above.log, "m7:10 m7:12* ");
}

TEST_F(FaultEndpoint, AReorderedMessageWaitsForItsSpan) {
  plan({.fault = Fault::kReorder, .direction = Direction::kRx, .span = 2});
  message(10);
  message(11);
  fault.poll(at(0));
  message(12);
  fault.poll(at(1));
  EXPECT_EQ(above.log, "m7:11 m7:12 m7:10 ");
}

TEST_F(FaultEndpoint, TruncateAndCorruptTouchTheMessage) {
  plan({.fault = Fault::kTruncate, .direction = Direction::kRx});
  message(10);
  EXPECT_EQ(above.log, "m7:5 ");
  plan({.fault = Fault::kCorrupt, .direction = Direction::kRx});
  message(10);
  EXPECT_EQ(std::ranges::count_if(bytes, [](std::byte b) { return b != std::byte{0}; }), 1);
  EXPECT_EQ(fault.judge().counts(0).applied(), 1U);
}

TEST(FaultEndpointPlan, CorruptNeedsArenas) {
  Above above;
  FaultEndpointDriver fault(above, Random(1), nullptr);
  FaultPlan plan;
  ASSERT_TRUE(plan.add({.fault = Fault::kCorrupt, .direction = Direction::kRx}));
  EXPECT_FALSE(fault.set_plan(plan));
}

}  // namespace
}  // namespace plnet::fault_endpoint_test
