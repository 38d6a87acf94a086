// SPDX-License-Identifier: BSD-3-Clause
// Two test nodes with a session.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest {

// Node 1 is the client, node 2 the server.
class TestsTest : public testing::Test, public ConsoleSite {
 protected:
  explicit TestsTest(Wire wire = Wire::kStream, std::size_t units = kUnits,
                     Duration rpc_timeout = kRpcTimeout)
      : ConsoleSite(wire, 2, units, rpc_timeout) {}
  void begin() {
    EXPECT_EQ(make_session(1, session).status, Status::kOk);
    EXPECT_EQ(make_session(2, session).status, Status::kOk);
  }
  void expect_no_errors() {
    for (const unsigned host : {1U, 2U}) {
      const auto seen = stat(host);
      EXPECT_EQ(seen.status, Status::kOk);
      EXPECT_EQ(seen.framework.brw_errors, 0U);
      EXPECT_EQ(seen.framework.ping_errors, 0U);
      EXPECT_EQ(seen.rpc.errors, 0U);
      EXPECT_EQ(seen.rpc.dropped, 0U);
    }
  }
  void end() {
    EXPECT_EQ(remove_session(1, session).status, Status::kOk);
    EXPECT_EQ(remove_session(2, session).status, Status::kOk);
    expect_clean(1);
    expect_clean(2);
  }
};

}  // namespace plnet::selftest
