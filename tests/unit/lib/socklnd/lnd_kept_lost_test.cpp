// SPDX-License-Identifier: BSD-3-Clause
// Payloads kept in a socket that does not give the bytes that the system has counted.
#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/keeping_site.hpp"

namespace plnet::socklnd::lnd_kept_lost_test {
namespace {

class KeptLost : public KeepingSite {
 protected:
  void expect_lost(const KeepingCore::Out& sent) {
    EXPECT_EQ(sent.ended, 1U);
    EXPECT_EQ(sent.status, Result<void>(std::unexpected(Errc::kIo)));
    EXPECT_TRUE(driver.at(to).written.empty());
    EXPECT_EQ(near->count(Id::kKeptLost), 1U);
  }
};

TEST_F(KeptLost, WhenItIsReadBeforeItIsForwarded) {
  keep_one(kCookie);
  driver.fails_to_fetch = true;
  flush();
  EXPECT_FALSE(core.in[0].lost);
  flush();
  EXPECT_TRUE(core.in[0].lost);
  EXPECT_TRUE(driver.at(from).closing);
  driver.report_closed();
  flush();
  EXPECT_TRUE(near->idle());
  const KeepingCore::Out& sent = forward(0);
  flush();
  expect_lost(sent);
}

TEST_F(KeptLost, WhenTheNextHopTakesNothing) {
  keep_one();
  driver.at(to).room = 0;
  const KeepingCore::Out& sent = forward(0);
  driver.fails_to_fetch = true;
  flush();
  flush();
  EXPECT_TRUE(driver.at(from).closing);
  EXPECT_FALSE(driver.at(to).closing);
  expect_lost(sent);
}

TEST_F(KeptLost, WhenTheNextHopHasItsBeginning) {
  keep_one();
  driver.at(to).room = kHead + 10;
  const KeepingCore::Out& sent = forward(0);
  driver.fails_to_fetch = true;
  flush();
  EXPECT_TRUE(driver.at(from).closing);
  EXPECT_TRUE(driver.at(to).closing) << "the peer waits for the rest";
  driver.report_closed();
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_EQ(sent.status, Result<void>(std::unexpected(Errc::kIo)));
  EXPECT_EQ(driver.at(to).written.size(), kHead + 10);
}

TEST_F(KeptLost, BehindAnotherMessage) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  driver.bring(from, message(0, 500));
  keep_one();
  (void)forward(0);
  driver.fails_to_fetch = true;
  const KeepingCore::Out& sent = forward(1);
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_EQ(sent.status, Result<void>(std::unexpected(Errc::kIo)));
  EXPECT_EQ(driver.at(to).written, message(0, 500));
}

TEST_F(KeptLost, BeforeThereIsAConnection) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = 1;
  keep_one();
  driver.fails_to_fetch = true;
  const KeepingCore::Out& sent = forward(0);
  flush();
  EXPECT_EQ(driver.connects, 0U);
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_EQ(sent.status, Result<void>(std::unexpected(Errc::kIo)));
}

TEST_F(KeptLost, WithASiblingConnection) {
  const auto control = arrive(*near, ConnectionType::kControl);
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  keep_one();
  driver.fails_to_fetch = true;
  driver.end(control, Errc::kReset);
  flush();
  EXPECT_TRUE(driver.at(from).closing);
  EXPECT_TRUE(core.in[0].lost);
  driver.report_closed();
  EXPECT_TRUE(near->idle());
  const KeepingCore::Out& sent = forward(0);
  flush();
  expect_lost(sent);
}

}  // namespace
}  // namespace plnet::socklnd::lnd_kept_lost_test
