// SPDX-License-Identifier: BSD-3-Clause
// The settings of `lnetctl global show` and `lnetctl set`, under the kernel's names and with the
// defaults of 2.17 (lustre-release lnet/lnet/api-ni.c: module_param lines). The admin thread
// writes, every shard reads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"

namespace plnet::lnet {

enum class ResponseTracking : std::int32_t { kInternalOnly = 0, kGets = 1, kPuts = 2, kAll = 3 };

// As `lnetctl routing show` prints it (lustre-release lnet/include/lnet/lib-types.h). A node
// forwards in every state but disabled.
enum class RoutingState : std::int32_t {
  kDisabled = 0,
  kEnabled = 1,
  kStopping = 2,
  kStarting = 3,
};

struct Parameters {
  Relaxed<std::int32_t> numa_range{0};
  Relaxed<std::int32_t> max_interfaces{200};
  Relaxed<std::int32_t> discovery{1};
  Relaxed<std::int32_t> drop_asym_route{0};
  Relaxed<std::int32_t> retry_count{2};
  Relaxed<std::int32_t> transaction_timeout_s{150};
  Relaxed<std::int32_t> health_sensitivity{100};
  Relaxed<std::int32_t> recovery_interval_s{1};
  Relaxed<std::int32_t> router_sensitivity{100};
  Relaxed<std::int32_t> response_tracking{3};
  Relaxed<std::int32_t> recovery_limit_s{0};
  Relaxed<std::int32_t> max_recovery_ping_interval_s{900};
  Relaxed<std::int32_t> peer_buffer_credits{0};
  Relaxed<std::int32_t> routing{0};  // RoutingState

  // Checks of gateways. Of the kernel's parameters 2.17 uses only these; it ignores
  // live_router_check_interval and dead_router_check_interval, too.
  Relaxed<std::int32_t> alive_router_check_interval_s{
      60};  // 0 or less: a gateway is checked when it is first used
  Relaxed<std::int32_t> router_ping_timeout_s{50};
  Relaxed<std::int32_t> check_routers_before_use{0};
  Relaxed<std::int32_t> avoid_asym_router_failure{1};
  Relaxed<std::int32_t> auto_down{1};  // an LND's report takes a peer down

  [[nodiscard]] bool routes() const { return routing.get() != 0; }
  // lustre-release lnet/lnet/api-ni.c: lnet_set_lnd_timeout()
  [[nodiscard]] std::int32_t lnd_timeout_s() const {
    PLNET_DEBUG_CHECK(retry_count.get() >= 0, "the number of retries is not negative");
    const std::int32_t timeout = (transaction_timeout_s.get() - 1) / (retry_count.get() + 1);
    return timeout < 1 ? 1 : timeout;
  }
  // The time in which a peer notices by itself that a router is up or down.
  [[nodiscard]] Duration router_notice() const {
    return std::chrono::seconds(std::max(alive_router_check_interval_s.get(), 0)) +
           std::chrono::seconds(std::max(router_ping_timeout_s.get(), 0));
  }
  [[nodiscard]] Duration transaction_timeout() const {
    PLNET_DEBUG_CHECK(transaction_timeout_s.get() > 0, "a transaction has time");
    return std::chrono::seconds(transaction_timeout_s.get());
  }
};

}  // namespace plnet::lnet
