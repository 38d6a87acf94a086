// SPDX-License-Identifier: BSD-3-Clause
// PUT with and without ACK, GET with and without a match, and dropped PUT, over seeds.
#include "tests/unit/lib/kfilnd/core_site.hpp"

namespace plnet::kfilnd::core_test {
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

TEST_F(KfilndCore, UnmatchedMessages) {
  build(3, SimShape::calm());
  a().get(b().nid, 99, 65536);
  a().put(b().nid, 98, 65536, false);
  ASSERT_TRUE(run([&] { return a().events(EventKind::kSend) == 2; }));
  EXPECT_EQ(b().lnd().count(KfiLndCounters::Id::kSkips), 2U);
  EXPECT_EQ(b().events(EventKind::kPut) + b().events(EventKind::kGet), 0U);
  ASSERT_TRUE(run([&] { return a().lnd().idle() && b().lnd().idle(); }));
}

constexpr auto kRefused = KfiLndCounters::Id::kRefusedAccess;

AccessRule no_connections_of_a() {
  return {.use = AccessUse::kConnect, .source = NidRangeList::parse("416@kfi").value()};
}

// With any number of receive contexts, and with any home of the peer.
TEST_F(KfilndCore, ARuleOfAccessKeepsAStrangerOut) {
  for (const unsigned contexts : {1U, 2U, 3U}) {
    build(5, SimShape::calm(), {{.kfi_timeout = 5}, {.contexts = contexts}});
    b().node().coordinator().set_access({{no_connections_of_a()}});
    b().attach(1, 100, kMdPut);
    a().put(b().nid, 1, 100, false);
    ASSERT_TRUE(run([&] { return b().count(kRefused) > 0; })) << contexts;
    EXPECT_EQ(b().events(EventKind::kPut), 0U);
    EXPECT_EQ(b().count(KfiLndCounters::Id::kHellosSent), 0U);
    EXPECT_EQ(b().node().shared().directory->find(a().nid), nullptr) << "takes no place";
    EXPECT_GT(b().node().coordinator().access()[0].matched, 0U);
    ASSERT_TRUE(run([&] { return a().events(EventKind::kSend) == 1; })) << "in vain";
    EXPECT_EQ(a().failures, 1U);
    ASSERT_TRUE(run([&] { return a().idle() && b().idle(); }));
  }
}

TEST_F(KfilndCore, AccessRulesDoNotApplyToPeersThatWeGreet) {
  for (const unsigned contexts : {1U, 2U, 3U}) {
    build(6, SimShape::calm(), {{}, {.contexts = contexts}});
    b().node().coordinator().set_access({{no_connections_of_a()}});
    a().attach(2, 100, kMdPut);
    b().put(a().nid, 2, 100, true);
    ASSERT_TRUE(run([&] { return b().events(EventKind::kAck) == 1; })) << contexts;
    EXPECT_EQ(a().events(EventKind::kPut), 1U);
    EXPECT_EQ(b().count(kRefused), 0U);
    EXPECT_EQ(b().node().coordinator().access()[0].matched, 0U);
  }
}

}  // namespace
}  // namespace plnet::kfilnd::core_test
