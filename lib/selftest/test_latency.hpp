// SPDX-License-Identifier: BSD-3-Clause
// How long the RPCs of tests took that this node began, from the turn of the shard that sent a
// request to the turn that saw all of it end. The wire carries no such thing: this is for readers
// on the node itself. Since the node began; who wants a while subtracts.
#pragma once

#include <array>

#include "lib/base/histogram.hpp"
#include "lib/selftest/session.hpp"

namespace plnet::selftest {

// In nanoseconds. The shard of the framework writes, anybody reads.
struct TestLatency {
  Histogram ping;
  Histogram read;
  Histogram write;

  [[nodiscard]] Histogram& of(const TestInstance& test) {
    if (test.service == Service::kPing) return ping;
    return test.bulk.operation == BulkOperation::kRead ? read : write;
  }
};

// All of them, for those who tell of them.
struct TestLatencyRow {
  const char* test;
  Histogram TestLatency::* histogram;
};
inline constexpr std::array<TestLatencyRow, 3> kTestLatencies{
    {{"ping", &TestLatency::ping}, {"read", &TestLatency::read}, {"write", &TestLatency::write}}};

}  // namespace plnet::selftest
