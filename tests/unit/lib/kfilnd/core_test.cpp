// SPDX-License-Identifier: BSD-3-Clause
// PUT with and without ACK, GET that is placed and GET that matches nothing, PUT that nobody wants,
// over seeds.
#include "tests/unit/lib/kfilnd/core_site.hpp"

namespace plnet::kfilnd {
namespace {

using drivers::SimShape;

class KfilndCore : public CoreSite {};

constexpr auto kLengths = std::to_array<std::uint32_t>({0, 1, 3996, 3997, 65536, 1U << 20U});

TEST_F(KfilndCore, PutsAndGetsOfEverySize) {
  drivers::for_each_seed(10, [&](std::uint64_t seed) {
    build(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm());
    std::vector<std::pair<Fragment*, Fragment*>> copies;  // b's, a's
    std::uint64_t bits = 0;
    for (const std::uint32_t length : kLengths) {
      Fragment& sink = b().attach(++bits, length, kMdPut);
      copies.emplace_back(&sink, &a().put(b().nid, bits, length, true));
      Fragment& source = b().attach(++bits, length, kMdGet);
      b().fill(source, static_cast<std::uint8_t>(bits));
      copies.emplace_back(&source, &a().get(b().nid, bits, length));
    }
    ASSERT_TRUE(run([&] {
      return a().events(EventKind::kAck) == kLengths.size() &&
             a().events(EventKind::kReply) == kLengths.size() &&
             b().events(EventKind::kGet) == kLengths.size();
    }));
    EXPECT_EQ(b().events(EventKind::kPut), kLengths.size());
    EXPECT_EQ(a().failures + b().failures, 0U);
    for (const auto& [theirs, ours] : copies) {
      EXPECT_TRUE(std::ranges::equal(b().bytes(*theirs), a().bytes(*ours)));
    }
    EXPECT_GE(a().lnd().count(KfiLndCounters::Id::kSentBulkPut), 3U);
    EXPECT_EQ(a().lnd().count(KfiLndCounters::Id::kSentBulkGet), 3U);
    EXPECT_EQ(b().lnd().count(KfiLndCounters::Id::kUnexpected), 0U);
  });
}

// kfilnd.md 13, point 9.
TEST_F(KfilndCore, NobodyWantsThem) {
  build(3, SimShape::calm());
  a().get(b().nid, 99, 65536);
  a().put(b().nid, 98, 65536, false);
  ASSERT_TRUE(run([&] { return a().events(EventKind::kSend) == 2; }));
  EXPECT_EQ(b().lnd().count(KfiLndCounters::Id::kSkips), 2U);
  EXPECT_EQ(b().events(EventKind::kPut) + b().events(EventKind::kGet), 0U);
  ASSERT_TRUE(run([&] { return a().lnd().idle() && b().lnd().idle(); }));
}

}  // namespace
}  // namespace plnet::kfilnd
