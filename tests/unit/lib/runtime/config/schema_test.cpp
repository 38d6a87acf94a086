// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/schema.hpp"

#include <set>

#include <gtest/gtest.h>

#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/settings.hpp"
#include "node/net/tcp/settings.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::schema_test {
namespace {

TEST(Schema, EveryRowIsComplete) {
  std::set<std::string> seen;
  for_each_key(whole_schema(), [&](const std::string& path, const Key& key) {
    EXPECT_TRUE(seen.insert(path).second) << path << " stands there twice";
    EXPECT_FALSE(key.help.empty()) << path;
    EXPECT_EQ(key.name.find_first_of(".[]"), std::string_view::npos) << path;
    switch (key.kind) {
      case KeyKind::kMapping: EXPECT_FALSE(key.children.empty()) << path; return;
      case KeyKind::kInteger: EXPECT_LT(key.low, key.high) << path; break;
      case KeyKind::kBoolean:
      case KeyKind::kTruth:
      case KeyKind::kPlain: break;
      case KeyKind::kWord: EXPECT_GT(key.words.size(), 1U) << path; break;
      case KeyKind::kText: EXPECT_NE(key.check, nullptr) << path; break;
      case KeyKind::kNumberList:
      case KeyKind::kCptList: EXPECT_GT(key.high, 0) << path; break;
      case KeyKind::kDictionary:
        EXPECT_EQ(key.children.size(), 1U) << path;
        EXPECT_NE(key.check, nullptr) << path;
        break;
      case KeyKind::kRecords:
        EXPECT_GT(key.high, 0) << path;
        EXPECT_NE(key.binding.size, nullptr) << path;
        EXPECT_NE(key.binding.item, nullptr) << path;
        EXPECT_NE(key.binding.append, nullptr) << path;
        EXPECT_NE(key.binding.clear, nullptr) << path;
        return;
    }
    for (const char* pseudo : {".INTERFACE", ".OPTION", ".NAME", ".N"}) {
      if (path.ends_with(pseudo)) return;  // describes the values of its dictionary
    }
    EXPECT_NE(key.binding.get, nullptr) << path;
    EXPECT_NE(key.binding.set, nullptr) << path;
  });
  EXPECT_TRUE(seen.contains("plnet.cpts.list[].shards[].smt"));
  EXPECT_TRUE(seen.contains("plnet.metrics.listen"));
}

TEST(Schema, DefaultsLieInTheirRanges) {
  const Document defaults;
  for_each_key(whole_schema(), [&](const std::string& path, const Key& key) {
    if (key.binding.get == nullptr || path.find('[') != std::string::npos) return;
    const Value value = key.binding.get(&defaults);
    if (key.kind == KeyKind::kInteger) {
      EXPECT_GE(value.get<std::int64_t>(), key.low) << path;
      EXPECT_LE(value.get<std::int64_t>(), key.high) << path;
    }
    if (key.kind == KeyKind::kText) {
      EXPECT_TRUE(key.check(value.get_ref<const std::string&>()).has_value()) << path;
    }
  });
}

// In the record of the rows: the document's, or that of a list element.
void expect_words_to_stay(std::span<const Key> keys, void* record) {
  for (const Key& key : keys) {
    if (key.kind == KeyKind::kMapping) expect_words_to_stay(key.children, record);
    if (key.kind == KeyKind::kRecords) {
      expect_words_to_stay(key.children, key.binding.append(record));
    }
    if (key.kind != KeyKind::kWord) continue;
    for (const std::string_view word : key.words) {
      key.binding.set(record, Value(std::string(word)));
      EXPECT_EQ(key.binding.get(record), Value(std::string(word))) << key.name;
    }
  }
}

TEST(Schema, EveryWordMapsToItsEnumerator) {
  Document document;
  expect_words_to_stay(whole_schema().keys(), &document);
}

TEST(Schema, MarksLiveSettings) {
  std::set<std::string> live;
  for_each_key(whole_schema(), [&](const std::string& path, const Key& key) {
    const bool lnet = !path.starts_with("plnet");
    EXPECT_TRUE(!lnet || key.applies == Applies::kLive) << path;
    if (key.applies == Applies::kLive && !lnet) live.insert(path);
  });
  EXPECT_EQ(live, (std::set<std::string>{"plnet.pollers.idle", "plnet.pollers.turn_limit_usec",
                                         "plnet.exchange.enable", "plnet.exchange.in_flight",
                                         "plnet.exchange.work_nsec", "plnet.log.level",
                                         "plnet.metrics.listen", "plnet.status_page.listen"}));
}

TEST(Schema, IgnoresStatisticsOfKernelExports) {
  EXPECT_TRUE(is_ignored("", "statistics"));
  EXPECT_TRUE(is_ignored("net[3].local NI(s)[12]", "health stats"));
  EXPECT_TRUE(is_ignored("peer[0].peer ni[1]", "refcount"));
  EXPECT_FALSE(is_ignored("net[3].local NI(s)[12]", "interfaces"));
  EXPECT_FALSE(is_ignored("", "refcount"));
}

TEST(NearestWord, FindsMisspellingsAndNothingElse) {
  constexpr std::array<std::string_view, 4> kWords{"pollers", "memory", "log", "metrics"};
  EXPECT_EQ(nearest_word("polers", kWords), "pollers");
  EXPECT_EQ(nearest_word("metric", kWords), "metrics");
  EXPECT_EQ(nearest_word("lag", kWords), "log");
  EXPECT_EQ(nearest_word("xyz", kWords), "");
  EXPECT_EQ(nearest_word("", kWords), "");
  EXPECT_EQ(nearest_word(std::string(100'000, 'p'), kWords), "");
}

TEST(Rendering, ReferenceHasARowForEachKey) {
  const std::string reference = render_reference(whole_schema());
  for_each_key(whole_schema(), [&](const std::string& path, const Key&) {
    EXPECT_NE(reference.find("| `" + path + "` |"), std::string::npos) << path;
  });
  EXPECT_NE(
      reference.find("| `plnet.memory.arena_mib` | a number from 1 to 1048576 MiB | `64` | at "
                     "start | Memory for messages on each NUMA node that has shards. |\n"),
      std::string::npos);
}

TEST(Rendering, DefaultFileHoldsTheDefaults) {
  const auto read = read_settings(render_default_file(whole_schema()), "default");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(*read, Settings{});
  // Read over other settings it restores all of them, so it must name every key.
  Settings other;
  other.cpts = {.by = CptPlanRequest::By::kPattern,
                .partitions = 3,
                .pattern = "N",
                .shards_per_cpt = 2,
                .reserved_cpus = {1},
                .list = {{.shards = {{.cpu = 1}}, .nic_queues = {}}}};
  other.pollers = {.idle = IdlePolicy::kYield, .turn_limit_usec = 1};
  other.memory = {.arena_mib = 1};
  other.exchange = {.enable = true, .in_flight = 1, .work_nsec = 1};
  other.sections.of<node::TcpSettings>() = {
      .busy_poll_usec = 1, .busy_poll_budget = 1, .congestion_control = "reno"};
  other.selftest = {.enable = true,
                    .session_timeout_sec = 1,
                    .rpc_timeout_sec = 2,
                    .client_mib = 1,
                    .client_requests = 1,
                    .server_mib = 1};
  other.log = {.level = LogLevel::kDebug};
  other.metrics = {.listen = "[::1]:1"};
  EXPECT_EQ(read_settings(render_default_file(whole_schema()), "default", other).value_or(other),
            Settings{});
}

}  // namespace
}  // namespace plnet::runtime::schema_test
