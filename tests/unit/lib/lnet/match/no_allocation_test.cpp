// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/lib/lnet/match/fixture.hpp"

namespace plnet::lnet::match_no_allocation_test {
namespace {

class Deaf final : public EventHandler {
 public:
  void on_event(const Event& /*event*/) override { ++events; }
  unsigned events = 0;
};

TEST_F(MatchTest, AfterConstructionNothingIsAllocated) {
  Deaf deaf;
  MdSpec once = md(kMdPut | kMdGet);
  once.handler = &deaf;
  once.threshold = 1;
  MdSpec active = md(0);
  active.handler = &deaf;
  const auto before = testrig::heap_calls();
  for (std::uint64_t bits = 0; bits < 1000; ++bits) {
    ASSERT_TRUE(table.attach(me(bits, bits % 2), once).has_value());
    finish(table.match(put(1, bits)).grant);
    const auto bound = table.bind(active);
    const auto send = start(*bound, MessageType::kGet);
    const MatchResult reply = respond(*bound, MessageType::kReply, 1);
    quarantine(*send, Errc::kIo);
    finish(reply.grant);
    table.end_quarantine(*send);
    ASSERT_TRUE(table.unlink(*bound).has_value());
  }
  const auto after = testrig::heap_calls();
  EXPECT_EQ(after.news, before.news);
  EXPECT_EQ(deaf.events, 4000U);
}

}  // namespace
}  // namespace plnet::lnet::match_no_allocation_test
