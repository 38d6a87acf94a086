// SPDX-License-Identifier: BSD-3-Clause
// A test as specified by a user, the checks of the specification, and the console's reports about
// batches and tests.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "lib/selftest/console/console_node.hpp"
#include "lib/selftest/console/limits.hpp"
#include "lib/selftest/console/refusal.hpp"
#include "lib/selftest/srpc_tests.hpp"

namespace plnet::selftest {

struct PingTest {};
struct BrwTest {
  BulkOperation operation = BulkOperation::kRead;
  Check check = Check::kNone;
  std::uint32_t length = 4096;
  std::uint32_t client_offset = 0;  // of the data in its first page
  std::uint32_t server_offset = 0;
};

struct AddTest {
  std::string batch;
  std::string from;  // group of clients
  std::string to;    // group of servers
  std::variant<PingTest, BrwTest> test;
  std::int32_t loop = -1;  // iterations of each unit; negative: until stopped
  std::uint32_t concurrency = 1;
  std::uint32_t distribute = 1;  // clients that share a set of servers
  std::uint32_t span = 1;        // servers in the set
  // Kernels before June 2026 crash when they serve Check::kDiscard. It is refused unless the user
  // confirms that no node is that old.
  bool nodes_know_discard = false;
};

// Checks that every kernel version can run the test. `features`: of the session.
[[nodiscard]] Answer<void> judge(const AddTest& test, std::uint32_t features);

[[nodiscard]] TestParameters parameters_of(const AddTest& test, std::uint32_t features,
                                           bool for_client);
[[nodiscard]] inline Service service_of(const AddTest& test) {
  return std::holds_alternative<BrwTest>(test.test) ? Service::kBrw : Service::kPing;
}

struct TestInfo {
  Service service = Service::kPing;  // kPing or kBrw
  std::int32_t loop = 0;
  std::uint32_t concurrency = 0;
  StateCounts clients;
  StateCounts servers;
};

// Values are those of `lst`.
enum class BatchState : std::uint8_t { kIdle = 176, kRunning = 177 };

struct BatchInfo {
  std::uint64_t id = 0;
  std::string name;
  std::uint32_t tests = 0;
  BatchState state = BatchState::kIdle;
  StateCounts clients;
  StateCounts servers;
};

}  // namespace plnet::selftest
