// SPDX-License-Identifier: BSD-3-Clause
// Random commands to nodes that come, go, lose their session and send invalid answers: each command
// completes once, and in the end no resource is in use.
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/lib/selftest/console/crowd_site.hpp"

namespace plnet::selftest::console_random_test {
namespace {

constexpr unsigned kNodes = 12;

class Chaos : public CrowdSite {
 public:
  explicit Chaos(std::uint64_t seed)
      : CrowdSite({.rpcs = 8, .lists = 2, .join_buffers = 2}),
        random_(seed),
        upsets_(1 + static_cast<std::uint32_t>(seed % 40)) {}

  void step() {
    if (below(upsets_) == 0) upset(crowd.node(1 + below(kNodes)));
    if (below(40) == 0) crowd.hold_unlinks(below(2) == 0);
    command();
    constexpr Duration kSteps[] = {std::chrono::microseconds(1), std::chrono::milliseconds(200),
                                   std::chrono::seconds(9)};
    turn(kSteps[below(3)]);
    for (std::uint32_t i = below(6); i > 0; --i)
      turn();
  }
  // All nodes answer again.
  void finish() {
    for (unsigned i = 1; i <= kNodes; ++i) {
      PretendedNode& node = crowd.node(i);
      node.silent = node.lost = false;
      node.instead = nullptr;
    }
    crowd.hold_unlinks(false);
    pass(std::chrono::seconds(64));
    if (console->session()) (void)end();
    EXPECT_EQ(console->pending(), 0U);
    EXPECT_EQ(told_, asked_);
    for (unsigned i = 1; i <= kNodes; ++i)
      EXPECT_LE(crowd.node(i).lists.size(), crowd.node(i).heard.size());
    expect_clean();
  }

 private:
  [[nodiscard]] std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(random_.below(limit));
  }
  void upset(PretendedNode& node) {
    node.silent = below(6) == 0;
    node.lost = below(8) == 0;
    if (below(5) == 0) node.session = {};
    if (below(9) == 0) node.session = {.nid = 1, .stamp = below(3)};
    if (below(9) == 0) node.features_known = below(2);
    node.instead = nullptr;
    if (below(9) != 0) return;
    node.instead = [this](const Message&) -> std::optional<MessageBytes> {
      MessageBytes bytes = bytes_of(1, DebugReply{.status = static_cast<Status>(below(30))});
      for (std::uint32_t i = below(9); i > 0; --i)
        bytes[below(kMessageBytes)] = static_cast<std::byte>(below(256));
      return bytes;
    };
  }
  void note(const Answer<TransactionId>& begun) {
    if (!begun) return;
    ++asked_;
    last_ = *begun;
  }
  WhenDone listen() {
    return [this, told = false](const TransactionResult& result) mutable {
      EXPECT_FALSE(std::exchange(told, true));
      ++told_;
      std::uint32_t failed = 0;
      for (const NodeResult& node : result.nodes)
        failed += node.rpc_errno != 0 ? 1 : 0;
      EXPECT_EQ(result.rpcs_failed, failed);
      // A completion may start the next command.
      if (below(10) == 0) command();
    };
  }
  [[nodiscard]] std::vector<lnet::ProcessId> some() {
    std::vector<lnet::ProcessId> ids;
    for (std::uint32_t i = below(kNodes); i > 0; --i)
      ids.push_back(Crowd::id(1 + below(kNodes)));
    return ids;
  }
  [[nodiscard]] std::string group() { return std::string(1, static_cast<char>('a' + below(3))); }
  [[nodiscard]] std::string batch() { return below(3) == 0 ? "b" : "batch"; }

  void command() {
    NewSession session = plain_session();
    session.force = below(2) == 0;
    session.features = below(2);
    session.timeout_s = 1 + below(2000);
    AddTest test{.batch = batch(), .from = group(), .to = group(), .test = BrwTest{}};
    test.distribute = 1 + below(3);
    test.span = 1 + below(3);
    switch (below(22)) {
      case 0:
        if (console->session() && below(10) != 0) return;
        return note(console->new_session(session, listen()));
      case 1: return below(9) == 0 ? note(console->end_session(listen())) : void();
      case 2: return (void)console->add_group(group());
      case 3:
      case 4:
      case 5: return note(console->add_nodes(group(), some(), listen()));
      case 6: return note(console->remove_nodes(group(), some(), listen()));
      case 7: return note(console->refresh_group(group(), listen()));
      case 8: return below(3) == 0 ? note(console->del_group(group(), listen())) : void();
      case 9:
        return (void)console->clean_group(
            group(), below(9) == 0 ? static_cast<NodeStates>(below(17)) : kInvalidStates);
      case 10: return (void)console->add_batch(batch());
      case 11:
      case 12: return note(console->add_test(test, listen()));
      case 13: return note(console->run(batch(), 0, listen()));
      case 14: return note(console->stop(batch(), below(2) == 0, listen()));
      case 15: return note(console->query(batch(), below(3), below(2) == 0, below(40), listen()));
      case 16: return note(console->ping(WholeSession{}, below(40), listen()));
      case 17: return note(console->ping(OfNodes{some()}, below(40), listen()));
      case 18: return note(console->stat(OfGroup{group()}, below(40), listen()));
      case 19: return note(console->stat(OfNodes{some()}, below(40), listen()));
      case 20: return console->cancel(last_ - below(2));
      default: return (void)console->batch_nodes(batch(), below(3), below(2) == 0);
    }
  }

  Random random_;
  const std::uint32_t upsets_;  // the share of failures differs from seed to seed
  TransactionId last_ = 1;
  unsigned asked_ = 0;
  unsigned told_ = 0;
};

TEST(ConsoleRandom, CommandsInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(400); ++seed) {
    SCOPED_TRACE(seed);
    Chaos chaos(seed);
    (void)chaos.begin();
    for (int i = 0; i < 400; ++i)
      chaos.step();
    chaos.finish();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace plnet::selftest::console_random_test
