// SPDX-License-Identifier: BSD-3-Clause
// Durations of test RPCs that this node began, from the turn of the shard that sent a request to
// the turn in which all its parts had ended. The wire carries no such figures: they are for readers
// on the node itself. Counted since the start; readers subtract for an interval.
#pragma once

#include <array>

#include "lib/base/histogram.hpp"
#include "lib/selftest/session.hpp"

namespace plnet::selftest {

// In nanoseconds. Written by the shard of the framework, read by any thread.
struct TestLatency {
  Histogram ping;
  Histogram read;
  Histogram write;

  [[nodiscard]] Histogram& of(const TestInstance& test) {
    if (test.service == Service::kPing) return ping;
    return test.bulk.operation == BulkOperation::kRead ? read : write;
  }
};

// All of them, for reports.
struct TestLatencyRow {
  const char* test;
  Histogram TestLatency::* histogram;
};
inline constexpr std::array<TestLatencyRow, 3> kTestLatencies{
    {{"ping", &TestLatency::ping}, {"read", &TestLatency::read}, {"write", &TestLatency::write}}};

}  // namespace plnet::selftest
