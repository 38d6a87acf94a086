// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/faults/fault_spec.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet::fault_spec_test {
namespace {

TEST(FaultSpec, NeedsEitherARateOrAnInterval) {
  EXPECT_FALSE(complete({}).has_value());
  EXPECT_FALSE(complete({.rate = 1, .interval_s = 1}).has_value());
  EXPECT_TRUE(complete({.rate = 1}).has_value());
  EXPECT_TRUE(complete({.interval_s = 1}).has_value());
}

TEST(FaultSpec, NeedsASourceAndADestination) {
  FaultSpec spec{.destination = {}, .rate = 1};
  ASSERT_FALSE(complete(spec).has_value());
  EXPECT_EQ(complete(spec).error().code, Errc::kMissing);
  spec.destination = Nid::any();
  EXPECT_TRUE(complete(spec).has_value());
}

TEST(FaultSpec, ADelayNeedsALatencyAndNoDropSettings) {
  EXPECT_FALSE(complete({.kind = FaultKind::kDelay, .rate = 1}).has_value());
  EXPECT_TRUE(complete({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1}).has_value());
  EXPECT_FALSE(
      complete({.kind = FaultKind::kDelay, .rate = 1, .all = true, .latency_s = 1}).has_value());
  EXPECT_FALSE(complete({.rate = 1, .latency_s = 1}).has_value());
}

TEST(FaultSpec, WithPortalsMeansThoseThatHaveOne) {
  EXPECT_EQ(complete({.portals = 1, .rate = 1})->types, 0b0110U);
  EXPECT_EQ(complete({.rate = 1})->types, kFaultTypesAll);
  EXPECT_FALSE(complete({.portals = 1, .types = 0b1001, .rate = 1}).has_value());
}

TEST(FaultSpec, WithBitsThatMeanNothingIsRefused) {
  EXPECT_FALSE(complete({.types = 0x10, .rate = 1}).has_value());
  EXPECT_FALSE(complete({.rate = 1, .health_errors = 1}).has_value());
  EXPECT_FALSE(complete({.rate = 1, .health_errors = 1U << 11}).has_value());
  EXPECT_TRUE(complete({.rate = 1, .health_errors = kFaultHealthRandom}).has_value());
  EXPECT_FALSE(complete({.rate = 1, .random = true}).has_value());
}

TEST(FaultSpec, ALocalNidIsRefusedWhereItHasNoMeaning) {
  const Nid local = Nid::of(NetType::kTcp, 0, 1);
  EXPECT_TRUE(complete({.local = local, .rate = 1}).has_value());
  EXPECT_FALSE(
      complete({.kind = FaultKind::kDelay, .local = local, .rate = 1, .latency_s = 1}).has_value());
  EXPECT_FALSE(complete({.local = local, .rate = 1, .health_errors = kFaultHealthRandom}));
  EXPECT_TRUE(
      complete({.local = local, .rate = 1, .health_errors = kFaultHealthRandom, .all = true}));
}

TEST(FaultSpec, IsNamedByItsKindAndNids) {
  const Nid one = Nid::of(NetType::kTcp, 0, 1);
  const Nid two = Nid::of(NetType::kTcp, 0, 2);
  const FaultSpec spec{.source = one, .rate = 1};
  EXPECT_TRUE(is_named(spec, FaultKind::kDrop, one, Nid::any()));
  EXPECT_TRUE(is_named(spec, FaultKind::kDrop, Nid::any(), Nid::any()));
  EXPECT_FALSE(is_named(spec, FaultKind::kDelay, one, Nid::any()));
  EXPECT_FALSE(is_named(spec, FaultKind::kDrop, two, Nid::any()));
  EXPECT_FALSE(is_named(spec, FaultKind::kDrop, one, two)) << "its destination is any, not two";
}

TEST(FaultText, ReadsListsInAnyCase) {
  EXPECT_EQ(parse_fault_types("put, REPLY").value(), 0b1010U);
  EXPECT_EQ(parse_fault_types("").value(), 0U);
  EXPECT_EQ(parse_fault_types("PUT,HELLO").error().what,
            "column 5 of \"PUT,HELLO\": expected PUT, ACK, GET or REPLY");
  EXPECT_EQ(parse_fault_health("Local_Timeout").value(), 1U << 6);
  EXPECT_EQ(parse_fault_health("local_timeout,random").value(), kFaultHealthRandom);
  EXPECT_FALSE(parse_fault_health("ok").has_value());
  EXPECT_FALSE(parse_fault_health("PUT").has_value());
}

TEST(FaultText, PortalsAreNumbersOrRanges) {
  EXPECT_EQ(parse_fault_portals("1,26").value(), 1ULL << 1 | 1ULL << 26);
  EXPECT_EQ(parse_fault_portals("[0-3,63]").value(), 0xfULL | 1ULL << 63);
  EXPECT_EQ(parse_fault_portals("0x3").value(), 1ULL << 3);
  EXPECT_EQ(parse_fault_portals("*").value(), ~0ULL);
  EXPECT_EQ(parse_fault_portals("").value(), 0ULL);
  EXPECT_FALSE(parse_fault_portals("64").has_value());
  EXPECT_FALSE(parse_fault_portals("1,").has_value());
}

TEST(FaultText, IsReadBackAsItIsPrinted) {
  for (std::uint32_t types = 1; types < kFaultTypesAll; ++types)
    EXPECT_EQ(parse_fault_types(text_of_fault_types(types)).value(), types);
  EXPECT_EQ(text_of_fault_types(kFaultTypesAll), "") << "nothing means all";
  for (std::uint32_t bit = 1; bit <= 10; ++bit) {
    const std::uint32_t errors = 1U << bit | 1U << 3;
    EXPECT_EQ(parse_fault_health(text_of_fault_health(errors)).value(), errors);
  }
  EXPECT_EQ(text_of_fault_health(kFaultHealthRandom), "random");
  for (const std::uint64_t portals : {0ULL, 1ULL, 0x8000000000000001ULL, ~0ULL})
    EXPECT_EQ(parse_fault_portals(text_of_fault_portals(portals)).value(), portals);
  for (const char* const text : {"*", "*@tcp1", "10.0.0.1@tcp", "7@kfi"})
    EXPECT_EQ(text_of_fault_nid(parse_nid_or_any(text).value()), text);
}

}  // namespace
}  // namespace plnet::lnet::fault_spec_test
