// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/service/service.hpp"

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/lst/console_json.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "node/host/lnet_shard.hpp"
#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::apps::service_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const runtime::SelftestSettings kSettings{.enable = true, .client_mib = 1, .server_mib = 1};

// A service on the shards of a node that may be added and removed. The test turns the shards; there
// are no pollers.
class SelftestServiceTest : public ::testing::Test {
 protected:
  void house(SelftestHost host, unsigned shards = 1) {
    small_.emplace(shards, 64);
    service_.emplace(kSettings, std::move(host));
    std::size_t descriptors = 64;
    for (unsigned i = 0; i < shards; ++i) {
      const node::ResidentNeeds needs = service_->needs(i);
      descriptors += needs.descriptors;
      bytes_.emplace_back(needs.bytes);
    }
    small_->setup.shard_limits.descriptors = descriptors;
    small_->setup.shard_limits.match_entries = descriptors;
    std::vector<node::ResidentPlace> rooms;
    for (unsigned i = 0; i < shards; ++i) {
      const auto arena = small_->arenas.add({.base = bytes_[i].data(), .size = bytes_[i].size()});
      ASSERT_TRUE(arena);
      places_.push_back(std::make_unique<node::LnetShard>(i));
      rooms.push_back({.shard = i,
                       .lnet = places_.back().get(),
                       .memory = {.at = {.arena = *arena, .offset = 0},
                                  .length = static_cast<std::uint32_t>(bytes_[i].size())},
                       .arenas = &small_->arenas});
    }
    ASSERT_TRUE(service_->move_in(rooms, 1'700'000'000'000'000'000, metrics_));
  }
  void lnet_up() {
    node_ = std::make_unique<lnet::Node>(small_->setup);
    for (const auto& place : places_)
      place->set_node_owner(node_.get());
  }
  void lnet_down() {
    for (const auto& place : places_)
      place->set_node_owner(nullptr);
    turn();
    node_.reset();
  }
  void turn(Duration step = milliseconds(1)) {
    now_ += step;
    for (unsigned i = 0; i < places_.size(); ++i) {
      if (lnet::Node* const node = places_[i]->node_owner()) {
        node->shard(i).begin_turn(now_);
        (void)node->shard(i).poll(now_);
        node->quiescent(i);
      }
      (void)service_->on_shard(i).poll(now_);
    }
  }
  [[nodiscard]] std::size_t objects(std::string_view name) const {
    std::size_t found = 0;
    metrics_.for_each([&](const runtime::MetricSet& set) { found += set.object == name ? 1 : 0; });
    return found;
  }

  ~SelftestServiceTest() override {
    if (node_) lnet_down();
    if (service_) service_->move_out();
  }

  Instant now_{seconds(1000)};
  runtime::Metrics metrics_;
  std::optional<node::SmallNode> small_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::unique_ptr<node::LnetShard>> places_;
  std::unique_ptr<lnet::Node> node_;
  std::optional<SelftestService> service_;
};

TEST_F(SelftestServiceTest, OnlyTheFirstShardHasAFramework) {
  const SelftestService service(kSettings, {.instance = "a"});
  const auto first = service.needs(0);
  const auto other = service.needs(1);
  EXPECT_GT(first.bytes, other.bytes + (std::size_t{1} << 20U));
  EXPECT_GT(first.descriptors, other.descriptors);
  EXPECT_GT(other.bytes, std::size_t{1} << 20U);
  const SelftestService larger({.client_mib = 3, .server_mib = 1}, {.instance = "a"});
  EXPECT_EQ(larger.needs(0).bytes - first.bytes, std::size_t{2} << 20U);
  EXPECT_EQ(larger.needs(1).bytes, other.bytes);
  const SelftestService busier({.client_mib = 1, .client_requests = 1025, .server_mib = 1},
                               {.instance = "a"});
  EXPECT_EQ(busier.needs(0).descriptors - first.descriptors, 3U);
  EXPECT_EQ(busier.needs(0).bytes - first.bytes, selftest::Requester::memory_bytes(1));
  EXPECT_EQ(busier.needs(1).descriptors, other.descriptors);
}

TEST_F(SelftestServiceTest, LivesAsLongAsLnetIsUp) {
  house({.instance = "a"}, 2);
  turn();
  EXPECT_EQ(service_->console_owner(), nullptr);
  EXPECT_EQ(service_->tests_owner(), nullptr);
  EXPECT_EQ(service_->on_shard(0).next_deadline(), Instant::max());
  for (int life = 0; life < 3; ++life) {
    lnet_up();
    turn();
    ASSERT_NE(service_->console_owner(), nullptr);
    ASSERT_NE(service_->tests_owner(), nullptr);
    EXPECT_FALSE(service_->console_owner()->session());
    lnet_down();
    EXPECT_EQ(service_->console_owner(), nullptr);
  }
}

TEST_F(SelftestServiceTest, CountersExistUntilTheServiceIsRemoved) {
  house({.instance = "a"}, 2);
  EXPECT_EQ(objects("selftest_server"), 2U);
  EXPECT_EQ(objects("selftest"), 1U);
  EXPECT_EQ(objects("selftest_session"), 1U);
  EXPECT_EQ(objects("selftest_pace"), 1U);
  EXPECT_NE(metrics_.prometheus_text().find("plnet_selftest_latency"), std::string::npos);
  service_->move_out();
  EXPECT_EQ(metrics_.prometheus_text().find("selftest"), std::string::npos);
}

// The counters belong to the host, as with a kernel node, so they include requests of its own
// console.
TEST_F(SelftestServiceTest, StatIncludesRequestsOfTheOwnConsole) {
  house({.instance = "a"});
  lnet_up();
  turn();
  selftest::Console& console = *service_->console_owner();
  const lnet::ProcessId self{.nid = lnet::Nid::of(lnet::NetType::kLoopback, 0, 0)};
  std::optional<selftest::TransactionResult> told;
  const auto tell = [&told](selftest::TransactionResult result) { told = std::move(result); };
  const auto wait = [&] {
    for (int i = 0; i < 100 && !told; ++i)
      turn();
  };
  ASSERT_TRUE(console.new_session({.name = "a", .key = 5, .nid = self.nid}, tell));
  wait();
  ASSERT_TRUE(console.add_group("g"));
  told.reset();
  ASSERT_TRUE(console.add_nodes("g", std::vector{self}, tell));
  wait();
  ASSERT_TRUE(told);
  ASSERT_EQ(told->succeeded(), 1U);
  told.reset();
  ASSERT_TRUE(console.stat(selftest::OfGroup{"g"}, 5, tell));
  wait();
  ASSERT_TRUE(told);
  ASSERT_EQ(told->succeeded(), 1U);
  const auto* const seen = std::get_if<selftest::StatSeen>(&told->nodes[0].seen);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->rpc.sent, 2U) << "MAKE_SESSION and STAT";
  EXPECT_EQ(seen->rpc.received, 2U);
}

TEST_F(SelftestServiceTest, ANodeOfOneSessionGoesWhenThereIsNone) {
  unsigned calls = 0;
  house({.instance = "lst-5", .when_over = [&calls] { ++calls; }});
  lnet_up();
  for (int i = 0; i < 59; ++i)
    turn(seconds(1));
  EXPECT_EQ(calls, 0U);
  EXPECT_LT(service_->on_shard(0).next_deadline(), now_ + seconds(1));
  turn(seconds(2));
  EXPECT_GT(calls, 0U);
}

TEST_F(SelftestServiceTest, ANodeOfOneSessionGoesSoonAfterIt) {
  unsigned calls = 0;
  house({.instance = "lst-5", .when_over = [&calls] { ++calls; }});
  lnet_up();
  turn();
  selftest::Console& console = *service_->console_owner();
  ASSERT_TRUE(console.new_session(
      {.name = "a", .key = 5, .features = selftest::kFeaturesKnown, .timeout_s = 30, .nid = {}},
      [](const selftest::TransactionResult&) {}));
  service_->session_began_owner();
  for (int i = 0; i < 20; ++i)
    turn(seconds(1));
  EXPECT_EQ(calls, 0U);
  (void)console.end_session([](const selftest::TransactionResult&) {});
  for (int i = 0; i < 4; ++i)
    turn(seconds(1));
  EXPECT_GT(calls, 0U);
}

// Verbs that need no shard, without an event loop.
class SelftestVerbsTest : public SelftestServiceTest {
 protected:
  SelftestVerbsTest() {
    house({.instance = "a"});
    service_->add_verbs(verbs_, admin_);
  }
  std::optional<runtime::VerbReply> ask(const std::string& verb, const nlohmann::json& args) {
    std::optional<runtime::VerbReply> told;
    verbs_.run({.id = {}, .verb = verb, .args = args}, {.uid = 0, .may_change = true},
               [&told](const runtime::VerbReply& reply) { told = reply; });
    return told;
  }

  runtime::SystemClock clock_;
  runtime::SystemWallClock wall_clock_;
  std::unique_ptr<runtime::Log> log_ =
      std::move(*runtime::Log::open({.level = runtime::LogLevel::kError}, clock_, wall_clock_));
  node::LnetAdmin admin_{*log_};
  runtime::VerbTable verbs_;
};

TEST_F(SelftestVerbsTest, ReadersMayNotChangeAnything) {
  for (const char* const verb :
       {"lst stat", "lst host", "lst show_session", "selftest latency", "selftest nids"}) {
    const auto* const row = verbs_.find(verb);
    ASSERT_NE(row, nullptr) << verb;
    EXPECT_EQ(row->row.access, runtime::VerbAccess::kReads) << verb;
  }
  for (const char* const verb :
       {"lst new_session", "lst end_session", "lst run", "lst add_test", "selftest pace"}) {
    const auto* const row = verbs_.find(verb);
    ASSERT_NE(row, nullptr) << verb;
    EXPECT_EQ(row->row.access, runtime::VerbAccess::kChanges) << verb;
  }
}

TEST_F(SelftestVerbsTest, Latency) {
  const auto told = ask("selftest latency", nlohmann::json::object());
  ASSERT_TRUE(told && *told);
  for (const char* const name : {"ping", "read", "write", "pace"})
    EXPECT_TRUE((**told).contains(name)) << name;
  EXPECT_EQ((**told)["pace"]["begun"], 0);
}

TEST_F(SelftestVerbsTest, AnInvalidPaceIsRefused) {
  for (const nlohmann::json& args :
       {nlohmann::json{{"rate", -1}}, nlohmann::json{{"rate", "many"}},
        nlohmann::json{{"rate", 1e9}}, nlohmann::json{{"rate", 5}, {"arrivals", "late"}}}) {
    const auto told = ask("selftest pace", args);
    ASSERT_TRUE(told && *told) << args;
    const auto refused = lst::refusal_of(**told);
    ASSERT_TRUE(refused) << args;
    EXPECT_EQ(refused->number, EINVAL);
    EXPECT_NE(refused->why.find("expected"), std::string::npos);
  }
  EXPECT_FALSE(ask("selftest pace", {{"speed", 1}}).value());
}

}  // namespace
}  // namespace plnet::apps::service_test
