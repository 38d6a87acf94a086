// SPDX-License-Identifier: BSD-3-Clause
// A console allocates when a command begins and ends, but not while its RPCs are in flight and not
// for its own pings.
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "lib/selftest/console/console.hpp"
#include "lib/selftest/node.hpp"
#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/lib/selftest/lone_core.hpp"

namespace plnet::selftest::console_no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

const lnet::ProcessId kMyself{.nid = lnet::ShardCore::kLoopbackNid};

// A console that is also its only test node.
class LonelyConsole final : public LnetCounterSource {
 public:
  LonelyConsole() {
    core.set_lazy(kTestPortal, true);
    core.set_lazy(kFrameworkPortal, true);
    node.open();
    console.open();
  }
  [[nodiscard]] LnetCounters read() const override { return {}; }

  void turn(Duration step = std::chrono::microseconds(10)) {
    now += step;
    core.turn(now);
    node.poll(now);
    console.poll(now);
  }
  // Heap calls between the turn in which a command begins and that of its completion.
  template <class Ask>
  HeapCalls under_way(const Ask& ask) {
    bool told = false;
    EXPECT_TRUE(ask([&told](const TransactionResult& result) {
                  told = true;
                  EXPECT_EQ(result.succeeded(), result.total());
                }).has_value());
    turn();
    HeapCalls sum;
    while (!told) {
      const HeapCalls one = heap_calls_of([this] { turn(); });
      if (told) break;
      sum = {sum.news + one.news, sum.deletes + one.deletes};
    }
    return sum;
  }

  Instant now{std::chrono::seconds(1)};
  LoneCore lone{8U << 20, 512};
  mocks::CoreNode& core = lone.node;
  WorkMemory& memory = lone.memory;
  SelftestShared shared{memory};
  RpcStatistics counted;
  SelftestNode node{
      core.shard(0),
      shared,
      counted,
      {},
      *this,
      {.framework =
           {.rpcs = 4, .buffers = 4, .batches = 4, .tests = 8, .units = 16, .sink_bytes = 1U << 20},
       .unix_seconds = 2,
       .start = now},
      memory};
  Console console{core.shard(0),
                  {.rpcs = 4, .lists = 2, .join_buffers = 2, .unix_seconds = 2, .start = now},
                  memory};
};

TEST(SelftestNoAllocation, WhileAConsoleWaits) {
  LonelyConsole one;
  Console& console = one.console;
  const auto add_test = AddTest{.batch = "batch", .from = "g", .to = "g", .test = PingTest{}};
  (void)one.under_way([&](WhenDone done) {
    return console.new_session({.name = "x", .nid = lnet::from_nid64(1)}, std::move(done));
  });
  EXPECT_TRUE(console.add_group("g").has_value());
  const HeapCalls nothing;
  EXPECT_EQ(one.under_way([&](WhenDone done) {
    return console.add_nodes("g", std::array{kMyself}, std::move(done));
  }),
            nothing);
  const HeapCalls two_phases =
      one.under_way([&](WhenDone done) { return console.add_test(add_test, std::move(done)); });
  EXPECT_LT(two_phases.news, 20U) << "where one ends and the other begins";
  EXPECT_EQ(
      one.under_way([&](WhenDone done) { return console.stop("batch", false, std::move(done)); }),
      nothing);
  EXPECT_EQ(one.under_way([&](WhenDone done) {
    return console.query("batch", 0, false, 5, std::move(done));
  }),
            nothing);
  EXPECT_EQ(
      one.under_way([&](WhenDone done) { return console.stat(OfGroup{"g"}, 5, std::move(done)); }),
      nothing);
  const auto before = console.statistics().get(RpcCount::kSent);
  EXPECT_EQ(heap_calls_of([&one] {
              for (int i = 0; i < 500; ++i)
                one.turn(std::chrono::milliseconds(500));
            }),
            nothing);
  EXPECT_GE(console.statistics().get(RpcCount::kSent), before + 4) << "pings";
}

}  // namespace
}  // namespace plnet::selftest::console_no_allocation_test
