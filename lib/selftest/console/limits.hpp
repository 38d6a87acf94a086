// SPDX-License-Identifier: BSD-3-Clause
// Limits of one console. Where the kernel's console has no limit, the limit here is far above what
// that console could serve.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/selftest/srpc_tests.hpp"

namespace plnet::selftest {

inline constexpr std::size_t kConsoleNodesMax = 16'384;
inline constexpr std::size_t kConsoleGroupsMax = 1024;
inline constexpr std::size_t kConsoleBatchesMax = 256;
inline constexpr std::size_t kConsoleTestsMax = 1024;       // of one session
inline constexpr std::size_t kConsoleTransactionsMax = 64;  // pending ones
inline constexpr std::size_t kConsoleNameMax = sizeof(Name) - 1;

// Kernel consoles cut longer lists; kernel clients crash on some of them.
inline constexpr std::uint32_t kSpanMax = kDestinationsPerPage;
inline constexpr std::uint32_t kBulkLengthMax = 1U << 20;
inline constexpr std::uint32_t kBulkWord = 8;  // kernels assert that lengths are multiples of it

inline constexpr std::uint32_t kConsoleTimeoutS = 300;  // of time without commands
inline constexpr Duration kTransactionTimeout = std::chrono::seconds(30);
inline constexpr Duration kTransactionTimeoutMin = std::chrono::seconds(3);
// A shorter wait is too short to call a node DOWN.
inline constexpr Duration kDownTimeoutMin = std::chrono::seconds(6);
// Time for running clients when a session ends, and the interval of queries to them.
inline constexpr Duration kHaltTimeout = std::chrono::seconds(10);
inline constexpr Duration kHaltPause = std::chrono::milliseconds(100);
inline constexpr Duration kPingInterval = std::chrono::seconds(8);

}  // namespace plnet::selftest
