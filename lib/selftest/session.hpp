// SPDX-License-Identifier: BSD-3-Clause
// A node's state of a session: batches of tests, and for each test that runs here as a client its
// units, one for each destination and concurrent request. Everything comes from pools (Framework).
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/selftest/pace.hpp"
#include "lib/selftest/requester.hpp"
#include "lib/selftest/srpc_tests.hpp"

namespace plnet::selftest {

struct Batch;
struct Session;
struct TestInstance;

// Lists of a test that has a pace, and of its units.
struct PacedTest {};
struct IdleUnit {};

// Parameters of bulk data, independent of their wire format.
struct BulkSetup {
  BulkOperation operation = BulkOperation::kRead;
  Check check = Check::kNone;
  std::uint32_t length = 0;
  std::uint32_t offset = 0;  // of the data in its first page
};

struct TestUnit : ListNode<>, ListNode<IdleUnit> {
  TestInstance* test = nullptr;
  lnet::ProcessId destination;
  ClientRpc* rpc = nullptr;      // as long as the unit exists
  WorkMemory sink;               // of a test that reads
  std::uint32_t iterations = 0;  // left, if the test counts them
  std::uint32_t sequence = 0;    // of the ping under way
  Instant sent_at;               // start of the RPC under way; at a pace: its due time
  bool active = false;
};

struct TestInstance : ListNode<>, ListNode<PacedTest> {
  Batch* batch = nullptr;
  Service service = Service::kPing;
  bool is_client = false;
  bool stop_on_error = false;
  bool stopping = false;
  std::uint32_t loop = 0;  // negative: until stopped
  BulkSetup bulk;
  std::uint32_t active_units = 0;
  WorkMemory memory;  // of the sinks of all units
  IntrusiveList<TestUnit> units;
  // While it runs at a pace: due times of requests, and the units that wait for them.
  bool paced = false;
  ArrivalTimes arrivals;
  Instant starved = Instant::min();  // requests due by then had found no free unit
  IntrusiveList<TestUnit, IdleUnit> idle;

  [[nodiscard]] bool counts_iterations() const { return static_cast<std::int32_t>(loop) > 0; }
};

struct Batch : ListNode<> {
  Session* session = nullptr;
  std::uint64_t id = 0;
  std::uint32_t active_tests = 0;
  IntrusiveList<TestInstance> tests;  // in the order of arrival
};

struct Session : ListNode<> {
  SessionId id;
  std::uint32_t features = 0;
  Name name{};
  std::uint32_t timeout_s = 0;
  std::uint32_t references = 0;
  Instant started;
  std::uint32_t brw_errors = 0;
  std::uint32_t ping_errors = 0;
  std::uint32_t active_batches = 0;
  IntrusiveList<Batch> batches;
};

}  // namespace plnet::selftest
