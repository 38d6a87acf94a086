// SPDX-License-Identifier: BSD-3-Clause
// Counts of messages and exchanges.
#include "lib/trace/show/tally.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::tally_test {
namespace {

// Five requests and their replies after 100 us, 200 us, …; the last one failed.
void add_pings(Tally& tally) {
  const auto request = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  PairUp pairs;
  std::uint64_t number = 0;
  const auto add = [&](const Record& record) {
    const Message message = decode(record);
    const Paired paired = pairs.add(message);
    tally.add({.number = ++number, .message = message, .paired = paired});
  };
  for (std::uint64_t i = 0; i < 5; ++i) {
    add(records::put({.portal = portal::kOstIo,
                      .match_bits = 0x1000 + 128 * i,
                      .time_ns = 1'000'000'000 + i * 250'000'000},
                     request));
  }
}

bool holds(const Tally& tally, const char* text) {
  const auto assertion = Assertion::parse(text);
  EXPECT_TRUE(assertion.has_value()) << text;
  return assertion && assertion->holds(tally);
}

TEST(TraceTally, CountsAndCompares) {
  Tally tally;
  EXPECT_TRUE(holds(tally, "count=0"));
  EXPECT_TRUE(holds(tally, "rate=0"));
  EXPECT_TRUE(holds(tally, "latency_p99=0"));
  add_pings(tally);
  for (const char* const text : {"count=5", "count == 5", "requests>=5", "errors=0", "errors<1",
                                 "seconds=1", "rate=5", "bytes!=0", "bytes<1M", "bytes>0.5K",
                                 "latency_max<1ms", "drops=0", "resends=0", "replies=0"})
    EXPECT_TRUE(holds(tally, text)) << text;
  for (const char* const text : {"count=4", "count!=5", "count<5", "count>5", "rate>5"})
    EXPECT_FALSE(holds(tally, text)) << text;
}

TEST(TraceTally, LatenciesAreInMicroseconds) {
  Tally tally;
  tally.latencies_ns.record(3'000'000);
  EXPECT_TRUE(holds(tally, "latency_max=3000"));
  EXPECT_TRUE(holds(tally, "latency_max=3ms"));
  EXPECT_TRUE(holds(tally, "latency_max<1s"));
  EXPECT_TRUE(holds(tally, "latency_mean=3000us"));
}

TEST(TraceTally, ErrorsNameTheExpectation) {
  for (const auto& [text, what] : {std::pair{"count", "expected NAME OPERATOR NUMBER"},
                                   {"", "expected NAME OPERATOR NUMBER"},
                                   {"many=4", "is not one of count, "},
                                   {"count!4", "expected =, !=, "},
                                   {"count=", "expected a number"},
                                   {"count=4x", "expected a number"},
                                   {"count=nan", "expected a number"},
                                   {"count=4ms", "expected a number"},
                                   {"count=inf", "expected a number"}}) {
    const auto assertion = Assertion::parse(text);
    ASSERT_FALSE(assertion.has_value()) << text;
    EXPECT_NE(assertion.error().what.find(what), std::string::npos) << assertion.error().what;
  }
  EXPECT_FALSE(Assertion::parse(std::string(1000, '=')).has_value());
}

}  // namespace
}  // namespace plnet::trace::tally_test
