// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include <gtest/gtest.h>

#include "drivers/net/fault/verbs.hpp"

namespace plnet::fault_verbs_test {
namespace {

using drivers::Direction;
using drivers::Fault;
using drivers::FaultPlan;
using drivers::FaultRule;
using drivers::FaultVerbsDriver;
using drivers::Trigger;
using o2iblnd::Ipv4Endpoint;
using o2iblnd::QueuePairId;
using o2iblnd::WorkCompletion;

constexpr QueuePairId kPair{.index = 2, .generation = 1};

class Below final : public o2iblnd::VerbsDriver {
 public:
  bool post_chain(QueuePairId, std::span<const o2iblnd::WorkRequest>) override {
    log += "post ";
    return true;
  }
  std::size_t post_receives(QueuePairId, std::span<const o2iblnd::ReceiveRequest> burst) override {
    return burst.size();
  }
  Result<o2iblnd::RemoteKey> remote_key(const Fragment&) override { return o2iblnd::RemoteKey{}; }
  Result<QueuePairId> connect(const Ipv4Endpoint&, const Ipv4Endpoint&,
                              const o2iblnd::QueuePairSize&, const o2iblnd::ConnectParameters&,
                              std::span<const std::byte>) override {
    return kPair;
  }
  Result<void> listen(const Ipv4Endpoint&) override { return {}; }
  void stop_listening(const Ipv4Endpoint&) override {}
  Result<void> prepare(QueuePairId, const o2iblnd::QueuePairSize&) override { return {}; }
  Result<void> accept(QueuePairId, const o2iblnd::ConnectParameters&,
                      std::span<const std::byte>) override {
    return {};
  }
  void reject(QueuePairId, std::span<const std::byte>) override {}
  void to_error(QueuePairId) override { log += "error "; }
  const o2iblnd::DeviceLimits& limits() const override { return limits_; }
  CounterView counters() const override { return {}; }

  std::string log;

 private:
  o2iblnd::DeviceLimits limits_;
};

class Above final : public o2iblnd::VerbsEvents {
 public:
  void on_completions(std::span<const WorkCompletion> burst) override {
    for (const WorkCompletion& completion : burst) {
      log += std::to_string(completion.cookie);
      if (!completion.status) log.append("!").append(name_of(completion.status.error()));
      log += " ";
    }
  }
  void on_connect_request(QueuePairId, const Ipv4Endpoint&, const Ipv4Endpoint&,
                          std::span<const std::byte>) override {}
  void on_established(QueuePairId, std::span<const std::byte>) override {}
  void on_rejected(QueuePairId, o2iblnd::RejectKind, std::span<const std::byte>) override {}
  void on_disconnected(QueuePairId, Errc) override { log += "disconnected "; }
  void on_drained(QueuePairId) override { log += "drained "; }
  void on_device(bool, Errc) override {}

  std::string log;
};

struct FaultVerbs : testing::Test {
  FaultVerbs() { fault.attach(below); }
  void plan(Fault kind, Direction direction, Errc error = Errc::kIo) {
    FaultPlan plan;
    ASSERT_TRUE(plan.add({.fault = kind,
                          .direction = direction,
                          .trigger = Trigger::kAtNth,
                          .nth = 1,
                          .delay = std::chrono::microseconds(10),
                          .error = error}));
    ASSERT_TRUE(fault.set_plan(plan));
  }
  void complete(std::uint64_t cookie) {
    const WorkCompletion completion{.queue_pair = kPair, .cookie = cookie};
    fault.on_completions({&completion, 1});
  }
  bool post() { return fault.post_chain(kPair, {}); }
  static Instant at(int usec) { return Instant{} + std::chrono::microseconds(usec); }

  Above above;
  Below below;
  FaultVerbsDriver fault{above, Random(1)};
};

TEST_F(FaultVerbs, ADelayHoldsLaterRequestsInOrder) {
  plan(Fault::kDelay, Direction::kRx);
  complete(1);
  complete(2);
  EXPECT_EQ(above.log, "");
  EXPECT_EQ(fault.next_deadline(), at(10));
  fault.poll(at(9));
  EXPECT_EQ(above.log, "");
  EXPECT_EQ(fault.poll(at(10)), 2U);
  complete(3);
  EXPECT_EQ(above.log, "1 2 3 ");
  EXPECT_EQ(fault.judge().counts(0).applied(), 1U);
}

TEST_F(FaultVerbs, TheEndOfAQueuePairDoesNotOvertakeItsCompletions) {
  plan(Fault::kDelay, Direction::kRx);
  complete(1);
  fault.on_disconnected(kPair, Errc::kReset);
  fault.on_drained(kPair);
  EXPECT_EQ(above.log, "1 disconnected drained ");
}

TEST_F(FaultVerbs, HoldingIsBounded) {
  plan(Fault::kDelay, Direction::kRx);
  for (std::uint64_t i = 0; i < drivers::kHeldWorkMax; ++i)
    complete(1);
  EXPECT_EQ(above.log, "");
  complete(2);
  EXPECT_EQ(above.log.size(), 2 * drivers::kHeldWorkMax + 2);
}

TEST_F(FaultVerbs, AFailureBreaksTheQueuePair) {
  plan(Fault::kFail, Direction::kRx);
  complete(1);
  EXPECT_EQ(above.log, "1!Io ");
  EXPECT_EQ(below.log, "error ");
}

TEST_F(FaultVerbs, NoRequestSucceedsAfterAFailureUntilDrained) {
  plan(Fault::kFail, Direction::kRx);
  complete(1);
  complete(2);
  fault.on_disconnected(kPair, Errc::kClosed);
  complete(3);
  fault.on_drained(kPair);
  EXPECT_EQ(above.log, "1!Io 2!Aborted disconnected 3!Aborted drained ");
  complete(4);
  EXPECT_TRUE(above.log.ends_with("drained 4 "));
}

TEST_F(FaultVerbs, AResetLetsTheCompletionThrough) {
  plan(Fault::kReset, Direction::kRx);
  complete(1);
  EXPECT_EQ(above.log, "1 ");
  EXPECT_EQ(below.log, "error ");
}

TEST_F(FaultVerbs, AResetOnSendBreaksUnderThePostedChain) {
  plan(Fault::kReset, Direction::kTx);
  EXPECT_TRUE(post());
  EXPECT_EQ(below.log, "post error ");
}

TEST_F(FaultVerbs, AStallRefusesPosts) {
  plan(Fault::kStall, Direction::kTx);
  EXPECT_FALSE(post());
  EXPECT_EQ(fault.next_deadline(), at(10)) << "nothing else wakes a refused peer";
  EXPECT_EQ(fault.poll(at(9)), 0U);
  EXPECT_FALSE(post());
  EXPECT_EQ(fault.poll(at(10)), 1U);
  EXPECT_EQ(fault.next_deadline(), Instant::max());
  EXPECT_TRUE(post());
  EXPECT_EQ(below.log, "post ");
}

TEST_F(FaultVerbs, AFlushedRequestIsNotDrawn) {
  plan(Fault::kFail, Direction::kRx);
  const WorkCompletion flushed{
      .queue_pair = kPair, .status = std::unexpected(Errc::kAborted), .cookie = 5};
  fault.on_completions({&flushed, 1});
  EXPECT_EQ(above.log, "5!Aborted ");
  EXPECT_EQ(fault.judge().counts(0).seen, 0U);
}

}  // namespace
}  // namespace plnet::fault_verbs_test
