// SPDX-License-Identifier: BSD-3-Clause
// The servers of each client of a test: `distribute` consecutive clients share `span` consecutive
// servers, cyclically. Checked against lustre-release 2.17.57 lnet/selftest/conrpc.c:
// lstcon_dstnodes_prep(), lstcon_testrpc_prep().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/selftest/console/console_node.hpp"
#include "lib/selftest/console/limits.hpp"

namespace plnet::selftest {

struct Distribution {
  std::uint32_t clients = 0;
  std::uint32_t servers = 0;
  std::uint32_t distribute = 1;
  std::uint32_t span = 1;

  [[nodiscard]] constexpr bool possible() const {
    return clients > 0 && servers > 0 && distribute > 0 && span > 0 && span <= servers &&
           span <= kSpanMax;
  }
  // The `nth` server of this client; all indices count from 0.
  [[nodiscard]] constexpr std::uint32_t server_of(std::uint32_t client, std::uint32_t nth) const {
    const std::uint64_t start = std::uint64_t{client / distribute} * span % servers;
    return static_cast<std::uint32_t>((start + nth) % servers);
  }
  // The number of requests for which a server needs buffers at the same time.
  [[nodiscard]] constexpr std::uint32_t server_loop(std::uint32_t concurrency) const {
    const std::uint32_t sharers = ceil_of(clients, distribute);
    const std::uint32_t turns = ceil_of(sharers, ceil_of(servers, span));
    return static_cast<std::uint32_t>(std::uint64_t{turns} * distribute * concurrency);
  }

 private:
  static constexpr std::uint32_t ceil_of(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
  }
};
// Products of these fit into 32 bits.
static_assert(std::uint64_t{2 * kConsoleNodesMax} * kConcurrencyMax < std::uint64_t{1} << 31);

// Writes the page that the client fetches, with zeros after the entries, since without
// kFeatureBulkLength the whole page is sent. Returns the number of bytes to send.
std::uint32_t write_destinations(const Distribution& distribution, std::uint32_t client,
                                 std::span<const lnet::ProcessId> servers, std::uint32_t features,
                                 std::span<std::byte> page);

}  // namespace plnet::selftest
