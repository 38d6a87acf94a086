// SPDX-License-Identifier: BSD-3-Clause
// Random console requests and broken connections: nodes answer, and in the end no resource is in
// use.
#include "lib/base/random.hpp"

#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest::random_test {
namespace {

constexpr unsigned kHosts = 3;
constexpr unsigned kSteps = 60;

class RandomSession final : public ConsoleSite {
 public:
  RandomSession(Wire wire, std::uint64_t seed) : ConsoleSite(wire, kHosts), random_(seed) {}

  void run() {
    for (unsigned i = 0; i < kSteps; ++i) {
      step();
      settle(static_cast<unsigned>(random_.below(60)));
    }
  }
  [[nodiscard]] std::uint64_t count(RpcCount id) const {
    std::uint64_t sum = 0;
    for (const auto& host : hosts)
      sum += host->server.statistics().get(id);
    return sum;
  }
  void finish() {
    for (unsigned host = 1; host <= kHosts; ++host)
      make_session(host, {.nid = 1, .stamp = 1}, true);
    pass(std::chrono::seconds(160));  // lost messages have timed out then
    for (unsigned host = 1; host <= kHosts; ++host)
      expect_clean(host);
  }

 private:
  void step() {
    const auto host = static_cast<unsigned>(random_.between(1, kHosts));
    session.stamp = random_.chance(0.9) ? 5 : 6;
    switch (random_.below(10)) {
      case 0: make_session(host, session, random_.chance(0.3)); break;
      case 1: remove_session(host, session); break;
      case 2:
      case 3: add(host); break;
      case 4:
      case 5:
      case 6: batch(host, BatchOperation::kRun); break;
      case 7: batch(host, BatchOperation::kStop, 0, random_.chance(0.5) ? 1 : 0); break;
      case 8: EXPECT_NE(stat(host).status, Status::kIo) << "it answers"; break;
      default: break_connection(); break;
    }
  }
  void add(unsigned host) {
    const bool read = random_.chance(0.5);
    const auto check = static_cast<Check>(random_.between(1, 4));
    const auto words = static_cast<std::uint32_t>(random_.between(1, 8192));
    TestRequest test =
        random_.chance(0.3)
            ? ping_test()
            : brw_test(read ? BulkOperation::kRead : BulkOperation::kWrite, check, words * 8);
    test.loop = random_.chance(0.5) ? ~0U : 3;
    test.concurrency = static_cast<std::uint32_t>(random_.between(1, 4));
    test.stop_on_error = random_.chance(0.5) ? 1 : 0;
    std::vector<unsigned> servers(random_.between(1, 3));
    for (unsigned& server : servers)
      server = static_cast<unsigned>(random_.between(1, kHosts));
    add_client(host, test, servers);
  }
  // Between two test nodes only: the console must receive every answer.
  void break_connection() {
    const auto one = static_cast<unsigned>(random_.between(1, kHosts));
    const auto other = 1 + one % kHosts;
    auto* const stream = dynamic_cast<mocks::MockStreamLnd*>(&nodes.node(one).lnd(1, 0));
    if (stream != nullptr) stream->break_connection(nodes.nid(other));
  }

  Random random_;
};

class RandomTest : public testing::TestWithParam<Wire> {};

TEST_P(RandomTest, AllResourcesReturn) {
  std::uint64_t received = 0;
  std::uint64_t dropped = 0;
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(25); ++seed) {
    SCOPED_TRACE(seed);
    RandomSession site(GetParam(), seed);
    site.run();
    site.finish();
    received += site.count(RpcCount::kReceived);
    dropped += site.count(RpcCount::kDropped);
    if (testing::Test::HasFailure()) break;
  }
  // Many requests succeeded, and many failed.
  EXPECT_GT(received, 2'000U);
  EXPECT_GT(dropped, 10U);
}

INSTANTIATE_TEST_SUITE_P(Wires, RandomTest, testing::Values(Wire::kStream, Wire::kRdma),
                         [](const auto& wire) {
                           return wire.param == Wire::kStream ? "stream" : "rdma";
                         });

}  // namespace
}  // namespace plnet::selftest::random_test
