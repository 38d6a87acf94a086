// SPDX-License-Identifier: BSD-3-Clause
// After start the o2ib LND's message path allocates nothing and frees nothing, for every outcome of
// a message. It is a test of its own because it replaces operator new.
#include <gtest/gtest.h>

#include "bench/o2iblnd/null_pair.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::o2iblnd::no_allocation_test {
namespace {

using lnet::MessageType;
using testrig::heap_calls_of;
using testrig::HeapCalls;
using Id = O2ibCounters::Id;

constexpr std::uint32_t kSmall = 500;
constexpr std::uint32_t kLarge = 60000;

struct Rig : bench::NullO2ibPair {
  void work(unsigned rounds) {
    a.driver().move_bytes(true);
    b.driver().move_bytes(true);
    for (unsigned round = 0; round < rounds; ++round) {
      b.parks = round % 3 == 0;
      b.drops = round % 5 == 0;
      if (round % 4 == 0) a.driver().refuse(7);
      if (round % 4 == 1) b.driver().refuse(7);
      (void)a.send(40, MessageType::kPut, kSmall);
      (void)a.send(8, MessageType::kPut, kLarge);
      (void)a.send(8, MessageType::kGet, kLarge);
      (void)b.send(8, MessageType::kPut, round % 2 == 0 ? 0 : kSmall);
      settle();
    }
  }
};

TEST(O2iblndNoAllocation, Messages) {
  Rig rig;
  rig.work(1);
  EXPECT_EQ(heap_calls_of([&] { rig.work(200); }), HeapCalls{});
  // An unmatched PUT still counts as sent; an unmatched GET fails.
  constexpr std::uint64_t kMessages = 201ULL * 56;
  constexpr std::uint64_t kDroppedGets = 41ULL * 8;
  EXPECT_EQ(rig.a.failed, kDroppedGets);
  EXPECT_EQ(rig.a.sent, kMessages - kDroppedGets);
  EXPECT_EQ(rig.b.headers, kMessages);
  EXPECT_GT(rig.a.lnd().count(Id::kPostsRefused), 0U);
  EXPECT_GT(rig.b.lnd().count(Id::kNaks), 0U);
  EXPECT_GT(rig.b.lnd().count(Id::kParked), 0U);
  EXPECT_GT(rig.a.lnd().count(Id::kNoCredit), 0U);
  EXPECT_EQ(rig.a.lnd().count(Id::kIdleWithCredit), 0U);
}

}  // namespace
}  // namespace plnet::o2iblnd::no_allocation_test
