// SPDX-License-Identifier: BSD-3-Clause
// Completion statuses of the device in the words of lib/o2iblnd/queue_pair.hpp. IBTA 11.6.2.
#pragma once

#include <infiniband/verbs.h>

#include "lib/base/result.hpp"

namespace plnet::mlx {

[[nodiscard]] inline Result<void> status_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS: return {};
    case IBV_WC_WR_FLUSH_ERR: return std::unexpected(Errc::kAborted);
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR: return std::unexpected(Errc::kTimedOut);
    case IBV_WC_RNR_RETRY_EXC_ERR: return std::unexpected(Errc::kNoSpace);
    case IBV_WC_LOC_LEN_ERR: return std::unexpected(Errc::kTooBig);
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_EEC_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_RDD_VIOL_ERR:
    case IBV_WC_MW_BIND_ERR: return std::unexpected(Errc::kInvalid);
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_ACCESS_ERR: return std::unexpected(Errc::kNotPermitted);
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR: return std::unexpected(Errc::kProtocol);
    case IBV_WC_FATAL_ERR: return std::unexpected(Errc::kNetworkDown);
    default: return std::unexpected(Errc::kIo);
  }
}

}  // namespace plnet::mlx
