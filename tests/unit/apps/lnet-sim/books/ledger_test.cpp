// SPDX-License-Identifier: BSD-3-Clause
// The ledger: each violation is reported by its name.
#include "apps/lnet-sim/books/ledger.hpp"

#include <gtest/gtest.h>

namespace plnet::sim::ledger_test {
namespace {

struct LedgerTest : testing::Test {
  Ledger ledger{8, [](std::uint64_t) {}};
};

TEST_F(LedgerTest, AnOperationThatIsOverIsNotFound) {
  Operation* const operation = ledger.begin(Instant{});
  const std::uint64_t id = ledger.id_of(*operation);
  EXPECT_EQ(ledger.find(id), operation);
  ledger.delivered(*operation);
  EXPECT_EQ(ledger.find(id), operation) << "its initiator was not notified";
  ledger.ended(*operation);
  EXPECT_EQ(ledger.find(id), nullptr);
  EXPECT_FALSE(ledger.violated());
}

TEST_F(LedgerTest, ARecordUsedAgainDoesNotPassForTheOldOne) {
  Operation* const first = ledger.begin(Instant{});
  const std::uint64_t id = ledger.id_of(*first);
  ledger.delivered(*first);
  ledger.ended(*first);
  Operation* const second = ledger.begin(Instant{});
  EXPECT_EQ(second, first);
  EXPECT_EQ(ledger.find(id), nullptr);
}

TEST_F(LedgerTest, TwiceDeliveredIsAViolation) {
  Operation* const operation = ledger.begin(Instant{});
  ledger.delivered(*operation);
  ledger.delivered(*operation);
  EXPECT_TRUE(ledger.violation().starts_with("delivered twice")) << ledger.violation();
}

TEST_F(LedgerTest, MessagesThatNeverArriveAreCounted) {
  Operation* const operation = ledger.begin(Instant{});
  operation->sent = operation->sent_well = true;
  ledger.ended(*operation);
  EXPECT_EQ(ledger.never_delivered(), 1U);
  EXPECT_NE(ledger.find(ledger.id_of(*operation)), nullptr) << "it may still come";
}

}  // namespace
}  // namespace plnet::sim::ledger_test
