// SPDX-License-Identifier: BSD-3-Clause
// Faults of a thousand nodes of LNet selftest, from seeds: connections break, pairs of nodes are
// cut, nodes lose power and come back, the console is killed, strangers send invalid messages.
// Sessions end nevertheless, new ones start, and in the end all objects have returned.
// PLNET_SELFTEST_SEEDS=1..50 runs those seeds instead of the few of every check.
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/sim/selftest_session.hpp"
#include "tests/sim/selftest_stranger.hpp"

namespace plnet::sim::selftest_faults_test {
namespace {

using selftest::BrwTest;
using selftest::BulkOperation;
using selftest::PingTest;
using std::chrono::milliseconds;
using std::chrono::seconds;

const auto kNodes = static_cast<unsigned>(mocks::seeds_of(1000));
const unsigned kHalf = kNodes / 2;
constexpr Duration kTrouble = seconds(4);
// Nodes end their session after this silence of the console.
constexpr std::uint32_t kSessionTimeoutS = 24;

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 2;
};

Seeds seeds() {
  Seeds seeds;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  const char* const given = std::getenv("PLNET_SELFTEST_SEEDS");
  if (given == nullptr) return seeds;
  const std::string_view text = given;
  const std::size_t dots = text.find("..");
  (void)std::from_chars(text.data(), text.data() + text.size(), seeds.first);
  seeds.last = seeds.first;
  if (dots != std::string_view::npos)
    (void)std::from_chars(text.data() + dots + 2, text.data() + text.size(), seeds.last);
  return seeds;
}

class BadDay {
 public:
  explicit BadDay(std::uint64_t seed)
      : random_(Random(seed).fork("selftest")),
        console_dies_(seed % 2 == 0),
        strangers_(seed % 3 != 0),
        site_(setup_of(seed)) {}

  void play() {
    site_.start();
    SelftestSession session(site_);
    ASSERT_TRUE(session.begin("bad day"));
    ASSERT_EQ(session.group("clients", 0, kHalf - 1)->succeeded(), kHalf);
    ASSERT_EQ(session.group("servers", kHalf, kNodes - 1)->succeeded(), kHalf);
    const auto concurrency = static_cast<std::uint32_t>(1 + random_.below(2));
    const auto added = session.test(drawn_test(), concurrency);
    ASSERT_TRUE(added.has_value()) << added.error().why;
    ASSERT_EQ(added->succeeded(), kHalf);
    ASSERT_EQ(session.run()->total(), kHalf);
    make_trouble();
    heal();
    if (console_dies_) {
      restart(site_.console());
    } else {
      // Nodes that lost the session refuse; all of them answer or are given up.
      (void)session.stop();
      (void)session.query();
      EXPECT_TRUE(session.end());
    }
    expect_no_session_left();
    expect_a_good_day();
    EXPECT_EQ(site_.close(), "");
  }

  std::uint64_t kills = 0;
  std::uint64_t partitions = 0;
  std::uint64_t resets = 0;
  std::uint64_t said = 0;

 private:
  SelftestSiteSetup setup_of(std::uint64_t seed) {
    SelftestSiteSetup setup{.nodes = kNodes, .seed = seed};
    // In some runs messages come in pieces and late.
    if (seed % 4 == 1) setup.shape = drivers::SimShape::rough();
    setup.shape.link.latency_min = milliseconds(60);
    setup.node = {.peers = 6,
                  .units = 4,
                  .sink_bytes = 2 * 8192,
                  .requests = 8,
                  .sinks = 1,
                  .session_timeout_s = kSessionTimeoutS,
                  .transaction_timeout_s = 20};
    return setup;
  }
  decltype(selftest::AddTest::test) drawn_test() {
    const std::uint64_t kind = random_.below(3);
    if (kind == 0) return PingTest{};
    return BrwTest{.operation = kind == 1 ? BulkOperation::kRead : BulkOperation::kWrite,
                   .check = selftest::Check::kFull,
                   .length = 4096 + 8 * static_cast<std::uint32_t>(random_.below(512))};
  }

  void make_trouble() {
    if (strangers_) stranger_.emplace(site_, random_.below(1U << 30));
    const Instant end = site_.loop().now() + kTrouble;
    while (site_.loop().now() < end) {
      const auto drawn = static_cast<unsigned>(random_.below(kNodes));
      switch (random_.below(stranger_ ? 5 : 4)) {
        case 0: power_off(site_.node(drawn)); break;
        case 1: part(drawn); break;
        case 2: power_on(); break;
        case 3:
          site_.streams().break_connections_of(site_.node(drawn).id());
          ++resets;
          break;
        default:
          stranger_->bother(drawn);
          ++said;
          break;
      }
      site_.run_for(milliseconds(random_.below(40)));
    }
  }
  void power_off(SelftestHost& host) {
    if (host.state() != SelftestHost::State::kUp) return;
    host.kill();
    off_.push_back(&host);
    ++kills;
  }
  // Nodes that have ended come back as other incarnations.
  void power_on() {
    std::erase_if(off_, [](SelftestHost* host) {
      if (!host->gone()) return false;
      EXPECT_EQ(host->what_is_missing(), "");
      host->destroy();
      host->start();
      return true;
    });
  }
  // Cuts a node from its console or its partner, in one direction or both.
  void part(unsigned drawn) {
    SelftestHost& one = site_.node(drawn);
    SelftestHost& other =
        random_.below(2) == 0 ? site_.console() : site_.node((drawn + kHalf) % kNodes);
    site_.network().block(one.id(), other.id());
    if (random_.below(2) == 0) site_.network().block(other.id(), one.id());
    parted_.emplace_back(one.id(), other.id());
    ++partitions;
    if (parted_.size() > 20) join();
  }
  void join() {
    site_.network().unblock_both(parted_.front().first, parted_.front().second);
    parted_.erase(parted_.begin());
  }
  void heal() {
    while (!parted_.empty())
      join();
    EXPECT_TRUE(site_.run_until(
        [this] {
          power_on();
          return off_.empty();
        },
        seconds(200)));
  }
  void restart(SelftestHost& host) {
    host.kill();
    EXPECT_TRUE(site_.run_until([&] { return host.gone(); }, seconds(200)));
    EXPECT_EQ(host.what_is_missing(), "");
    host.destroy();
    host.start();
  }

  void expect_no_session_left() {
    const auto is_idle = [this] {
      for (unsigned i = 0; i < kNodes; ++i) {
        const selftest::Framework& framework = *site_.node(i).framework();
        if (framework.session() != nullptr || framework.zombies() > 0) return false;
      }
      return true;
    };
    // The session's timeout, and the timeout of its last requests.
    EXPECT_TRUE(site_.run_until(is_idle, seconds(kSessionTimeoutS + 120)));
  }
  // A new session after any history has all nodes, and no errors.
  void expect_a_good_day() {
    site_.run_for(seconds(60));  // LNet detects which nodes are well again
    SelftestSession session(site_);
    ASSERT_TRUE(session.begin("good day"));
    ASSERT_EQ(session.group("clients", 0, kHalf - 1)->succeeded(), kHalf);
    ASSERT_EQ(session.group("servers", kHalf, kNodes - 1)->succeeded(), kHalf);
    ASSERT_EQ(session.test(PingTest{}, 1)->succeeded(), kHalf);
    EXPECT_EQ(session.run()->succeeded(), kHalf);
    site_.run_for(milliseconds(500));
    EXPECT_EQ(session.stop()->succeeded(), kHalf);
    const bool drained = site_.run_until(
        [&] {
          const auto left = session.query();
          return left && left->running == 0;
        },
        seconds(120));
    EXPECT_TRUE(drained);
    EXPECT_EQ(session.end()->succeeded(), kNodes);
  }

  Random random_;
  const bool console_dies_;
  const bool strangers_;
  SelftestSite site_;
  std::optional<SelftestStranger> stranger_;
  std::vector<SelftestHost*> off_;
  std::vector<std::pair<drivers::HostId, drivers::HostId>> parted_;
};

TEST(SelftestFaultsTest, BadDaysEndAndGoodOnesFollow) {
  const Seeds chosen = seeds();
  for (std::uint64_t seed = chosen.first; seed <= chosen.last; ++seed) {
    SCOPED_TRACE(fmt::format(
        "replay: PLNET_SELFTEST_SEEDS={} test_sim --gtest_filter=SelftestFaults*", seed));
    BadDay day(seed);
    day.play();
    EXPECT_GT(day.kills, 5U);
    EXPECT_GT(day.partitions, 5U);
    EXPECT_GT(day.resets, 5U);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace plnet::sim::selftest_faults_test
