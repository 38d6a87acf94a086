// SPDX-License-Identifier: BSD-3-Clause
// Path selection compared with a slow, simple model of the same rules, on random sites.
#include "tests/unit/lib/lnet/paths/path_model.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/paths/random_site.hpp"

namespace plnet::lnet::path_model_test {
namespace {

class NoWords final : public PathTrace {
 public:
  void lost(const Ni&, const Ni&, Criterion) override {}
  void lost(const PeerNi&, const PeerNi&, Criterion) override {}
  void lost(const PeerNetView&, const PeerNetView&, Criterion) override {}
  void lost(const Route&, const Route&, Criterion) override {}
  void excluded(const PeerNetView&, Exclusion) override {}
  void excluded(const Route&, Exclusion) override {}
};

// Counts the kinds of results, to check that every kind occurred.
struct Tally {
  int errors = 0;
  int loopback = 0;
  int direct = 0;
  int routed = 0;
  int hinted = 0;
  int hint_missed = 0;
  int recorded = 0;
};

void compare(const ExpectedPath& expected, const Result<Path>& path, Tally& tally) {
  ASSERT_EQ(path.has_value(), !expected.error.has_value());
  if (!path) {
    ++tally.errors;
    ASSERT_EQ(std::optional(path.error()), expected.error);
    return;
  }
  ASSERT_EQ(path->loopback, expected.loopback);
  if (path->loopback) {
    ++tally.loopback;
    return;
  }
  ASSERT_EQ(path->ni, expected.ni);
  ASSERT_EQ(path->next_hop, expected.next_hop);
  ASSERT_EQ(path->destination, expected.final_destination);
  ASSERT_EQ(path->route, expected.route);
  ASSERT_EQ(path->via_router, expected.via_router);
  ASSERT_EQ(path->hint_missed, expected.hint_missed);
  ASSERT_EQ(path->destination->preferred_ni.get(), expected.preferred_after);
  ASSERT_EQ(path->ni->net, path->next_hop->net);
  ++(path->via_router ? tally.routed : tally.direct);
  tally.hinted += path->via_router && path->route == nullptr;
  tally.hint_missed += path->hint_missed;
  tally.recorded += path->record_preference;
}

void run_site(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  RandomSite world(random);
  PathModel model(world.site);
  NoWords trace;
  for (int message = 0; message < 20; ++message) {
    const PathRequest request = world.request();
    const ExpectedPath expected = model.select(request);
    PathSite& site = world.site;
    const auto foreseen =
        explain_path(request, site.local, site.routes, site.sequences, site.parameters, trace);
    const auto path = site.select(request);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", message " + std::to_string(message));
    ASSERT_NO_FATAL_FAILURE(compare(expected, path, tally));
    ASSERT_EQ(foreseen.has_value(), path.has_value());
    if (path) {
      ASSERT_EQ(foreseen->ni, path->ni);
      ASSERT_EQ(foreseen->next_hop, path->next_hop);
      ASSERT_EQ(foreseen->destination, path->destination);
      ASSERT_EQ(foreseen->record_preference, path->record_preference);
    }
    if (random.chance(0.5)) world.stir(0.2);
  }
}

TEST(PathModel, chooses_what_the_model_chooses) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 2500; ++seed)
    ASSERT_NO_FATAL_FAILURE(run_site(seed, tally));
  RecordProperty("direct", tally.direct);
  RecordProperty("routed", tally.routed);
  EXPECT_GT(tally.errors, 1000);
  EXPECT_GT(tally.loopback, 500);
  EXPECT_GT(tally.direct, 10000);
  EXPECT_GT(tally.routed, 5000);
  EXPECT_GT(tally.hinted, 500);
  EXPECT_GT(tally.hint_missed, 200);
  EXPECT_GT(tally.recorded, 500);
}

}  // namespace
}  // namespace plnet::lnet::path_model_test
