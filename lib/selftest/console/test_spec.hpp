// SPDX-License-Identifier: BSD-3-Clause
// What a user says of a test, what a console refuses of it, and what it tells of batches and tests.
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
  std::uint32_t distribute = 1;  // so many clients share
  std::uint32_t span = 1;        // so many servers
  // Kernels before June 2026 crash when they serve Check::kDiscard: it is refused unless the user
  // says that no node is as old as that.
  bool nodes_know_discard = false;
};

// Whether any kernel can be asked this, whoever the nodes are. `features`: of the session.
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
