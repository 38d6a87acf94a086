// SPDX-License-Identifier: BSD-3-Clause
// Completion statuses; no device is needed.
#include "drivers/net/mlx/status.hpp"

#include <gtest/gtest.h>

namespace plnet::mlx::status_test {
namespace {

TEST(MlxStatus, EachCauseHasItsError) {
  EXPECT_TRUE(status_of(IBV_WC_SUCCESS).has_value());
  // A flush has no cause of its own; the first error of a queue pair has.
  EXPECT_EQ(status_of(IBV_WC_WR_FLUSH_ERR).error(), Errc::kAborted);
  EXPECT_EQ(status_of(IBV_WC_RETRY_EXC_ERR).error(), Errc::kTimedOut);
  // The only status that proves that the peer has not seen the message.
  EXPECT_EQ(status_of(IBV_WC_RNR_RETRY_EXC_ERR).error(), Errc::kNoSpace);
  for (int i = IBV_WC_SUCCESS; i <= IBV_WC_TM_RNDV_INCOMPLETE; ++i) {
    const auto status = status_of(static_cast<ibv_wc_status>(i));
    EXPECT_EQ(status.has_value(), i == IBV_WC_SUCCESS) << i;
    if (!status && i != IBV_WC_RNR_RETRY_EXC_ERR) {
      EXPECT_NE(status.error(), Errc::kNoSpace) << i;
    }
  }
  for (const auto ours : {IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR})
    EXPECT_EQ(status_of(ours).error(), Errc::kInvalid);
  EXPECT_EQ(status_of(IBV_WC_REM_ACCESS_ERR).error(), Errc::kNotPermitted);
}

}  // namespace
}  // namespace plnet::mlx::status_test
