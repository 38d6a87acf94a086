// SPDX-License-Identifier: BSD-3-Clause
// The times after which a Lustre client gives up an RPC without an answer, and sends it again once
// it has reconnected. They hold for servers that answered quickly before, and use these facts of
// lustre-release:
// - include/lustre_import.h: at_get() is at_min at least; at_est2timeout() is 125 % and 5 s
// - ptlrpc/client.c, niobuf.c: ptlrpc_at_set_req_timeout(); the deadline adds the network's latency
// - ptlrpc/import.c: ptlrpc_connect_import() gives the server INITIAL_CONNECT_TIMEOUT;
//   import_select_connection() adds CONNECTION_SWITCH_INC to the latency with each further attempt
// - ptlrpc/pinger.c: the next attempt to connect begins PING_INTERVAL after the last one
#pragma once

#include <algorithm>

#include "lib/base/clock.hpp"

namespace plnet::sim {

struct RpcTimeouts {
  unsigned obd_timeout_s = 100;
  unsigned at_min_s = 5;

  // The time for an answer, since the client has sent the request.
  [[nodiscard]] Duration of_request() const {
    const unsigned estimate = latency_s();
    return std::chrono::seconds(estimate + estimate / 4 + 5 + latency_s());
  }
  // The time for attempt 1, 2, … to connect.
  [[nodiscard]] Duration of_connect(unsigned attempt) const {
    const unsigned grown = std::min(latency_s() + (attempt - 1) * kSwitchIncrease, switch_max_s());
    return std::chrono::seconds(std::max(kSwitchMin, obd_timeout_s / 20) +
                                std::max(grown, latency_s()));
  }
  // The time between the begins of two attempts to connect.
  [[nodiscard]] Duration between_connects() const {
    return std::chrono::seconds(std::max(obd_timeout_s / 4, 1U));
  }

  friend bool operator==(const RpcTimeouts&, const RpcTimeouts&) = default;

 private:
  static constexpr unsigned kSwitchMin = 5;
  static constexpr unsigned kSwitchIncrease = 5;
  static constexpr unsigned kSwitchMax = 50;

  [[nodiscard]] unsigned latency_s() const { return std::max(at_min_s, 1U); }
  [[nodiscard]] unsigned switch_max_s() const {
    return std::min(kSwitchMax, std::max(kSwitchMin, obd_timeout_s));
  }
};

}  // namespace plnet::sim
