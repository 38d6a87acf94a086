// SPDX-License-Identifier: BSD-3-Clause
// Random settings: exported, printed and read back they are the same.
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/runtime/control/yaml_printer.hpp"
#include "node/net/tcp/settings.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::settings_round_trip_test {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  unsigned below(unsigned count) { return static_cast<unsigned>(random_() % count); }
  bool coin() { return below(2) == 1; }

 private:
  std::mt19937_64 random_;
};

std::vector<unsigned> some_numbers(Dice& dice, unsigned highest) {
  std::vector<unsigned> numbers;
  for (unsigned n = 0; n <= highest; ++n) {
    if (dice.below(4) == 0) numbers.push_back(n);
  }
  return numbers;
}

// Each CPT takes its own range of CPUs and queues, so that the list is valid.
CptRequest some_cpt(Dice& dice, unsigned index) {
  constexpr int kEach = 8;
  CptRequest cpt;
  const unsigned shards = 1 + dice.below(kEach);
  for (unsigned i = 0; i < shards; ++i) {
    const int number = static_cast<int>(index * kEach + i);
    if (dice.coin()) {
      cpt.shards.push_back({.cpu = number});
    } else {
      cpt.shards.push_back({.core = number, .smt = static_cast<int>(dice.below(3)) - 1});
    }
  }
  if (dice.coin()) cpt.memory_node = static_cast<int>(dice.below(1024));
  for (unsigned i = dice.below(3); i > 0; --i) {
    std::vector<unsigned> queues = some_numbers(dice, 9);
    queues.push_back(10);
    cpt.nic_queues.push_back({fmt::format("eth{}.{}", index, i), std::move(queues)});
  }
  return cpt;
}

Settings some_settings(Dice& dice) {
  static constexpr std::array<const char*, 5> kPatterns{"", "N", "0[0-3] 1[4-7]", "N X[0]",
                                                        " 0[*] "};
  static constexpr std::array<const char*, 4> kListen{"", "127.0.0.1:9417", "[::1]:0",
                                                      "0.0.0.0:65535"};
  static constexpr std::array<const char*, 3> kControls{"auto", "system", "bbr2"};
  Settings settings;
  settings.cpts.by = static_cast<CptPlanRequest::By>(dice.below(6));
  settings.cpts.partitions = dice.below(257);
  settings.cpts.pattern = kPatterns[dice.below(kPatterns.size())];
  settings.cpts.shards_per_cpt = dice.below(257);
  settings.cpts.reserved_cpus = some_numbers(dice, 40);
  const unsigned cpts = dice.below(6) + (settings.cpts.by == CptPlanRequest::By::kList ? 1 : 0);
  for (unsigned i = 0; i < cpts; ++i)
    settings.cpts.list.push_back(some_cpt(dice, i));
  settings.pollers = {.idle = static_cast<IdlePolicy>(dice.below(5)),
                      .turn_limit_usec = dice.below(1'000'001)};
  settings.memory = {.arena_mib = 1 + dice.below(1U << 20U)};
  settings.exchange = {
      .enable = dice.coin(), .in_flight = 1 + dice.below(4096), .work_nsec = dice.below(1'000'001)};
  settings.sections.of<node::TcpSettings>() = {
      .busy_poll_usec = dice.below(10'001),
      .busy_poll_budget = dice.below(65'536),
      .relay_bytes_min = dice.below(1'048'577),
      .down_grace_msec = dice.below(600'001),
      .silence_sec = dice.below(3'601),
      .payload_rate_min = dice.below(1'048'577),
      .congestion_control = kControls[dice.below(kControls.size())]};
  settings.selftest = {.enable = dice.coin(),
                       .session_timeout_sec = dice.below(86'401),
                       .rpc_timeout_sec = dice.below(86'401),
                       .client_mib = 1 + dice.below(1024),
                       .client_requests = 1 + dice.below(16'384),
                       .server_mib = 1 + dice.below(256)};
  settings.log = {.level = static_cast<LogLevel>(dice.below(4))};
  settings.metrics = {.listen = kListen[dice.below(kListen.size())]};
  return settings;
}

class RoundTrip : public testing::TestWithParam<ExportForm> {};

TEST_P(RoundTrip, RandomSettingsSurvive) {
  Dice dice(20);
  for (std::uint64_t round = 0; round < mocks::seeds_of(1000); ++round) {
    const Settings settings = some_settings(dice);
    const Settings others = some_settings(dice);
    ASSERT_TRUE(check_settings(settings).empty()) << check_settings(settings)[0].what;
    const std::string text = print_yaml(export_settings(settings, GetParam()));
    const auto read = read_settings(text, "export.yaml");
    ASSERT_TRUE(read.has_value()) << read.error().text();
    ASSERT_EQ(*read, settings) << text;
    ASSERT_EQ(print_yaml(export_settings(*read, GetParam())), text);
    // JSON is YAML in flow style.
    const std::string json = export_settings(settings, GetParam()).dump();
    ASSERT_EQ(read_settings(json, "export.json").value_or(others), settings) << json;
    // A restore does not depend on the previous settings.
    ASSERT_EQ(read_settings(text, "export.yaml", others).value_or(others), settings) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RoundTrip, testing::Values(ExportForm::kFull, ExportForm::kBackup),
                         [](const auto& form) {
                           return form.param == ExportForm::kFull ? "Full" : "Backup";
                         });

TEST(SettingsExport, LooksLikeTheFile) {
  Settings settings;
  settings.cpts.by = CptPlanRequest::By::kList;
  settings.cpts.list = {{.shards = {{.cpu = 2}, {.core = 3, .smt = 1}},
                         .memory_node = 1,
                         .nic_queues = {{"eth0", {0, 1, 2, 3}}}}};
  EXPECT_EQ(export_settings(settings, ExportForm::kBackup).dump(),
            R"({"plnet":{"cpts":{"by":"list","partitions":0,"pattern":"","shards_per_cpt":0,)"
            R"("reserved_cpus":"","list":[{"shards":[{"cpu":2},{"core":3,"smt":1}],)"
            R"("memory node":1,"nic queues":{"eth0":"0-3"}}]},)"
            R"("pollers":{"idle":"auto","turn_limit_usec":1000},"memory":{"arena_mib":64},)"
            R"("exchange":{"enable":0,"in_flight":32,"work_nsec":0},)"
            R"("lnet":{"peers":0,"new_peers_per_sec":0,"peers_of_one":0,"messages":0,)"
            R"("receives":0,"descriptors":0,)"
            R"("placement":"lustre-2.17"},)"
            R"("tcp":{"busy_poll_usec":0,"busy_poll_budget":0,"relay_bytes_min":131072,)"
            R"("down_grace_msec":1000,"silence_sec":5,"payload_rate_min":16384,)"
            R"("congestion_control":"auto","any_address":0},)"
            R"("kfi":{"library":"libcxi.so.1","interfaces":[]},)"
            R"("o2ib":{"connections":1024,"nis":0},)"
            R"("selftest":{"enable":0,"session_timeout_sec":100,"rpc_timeout_sec":64,)"
            R"("client_mib":64,)"
            R"("client_requests":1024,"server_mib":32},)"
            R"("log":{"level":"info"},)"
            R"("metrics":{"listen":""},"status_page":{"listen":""}}})");
  const Value full = export_settings(settings, ExportForm::kFull);
  EXPECT_EQ(full["plnet"]["cpts"]["list"][0]["shards"][0].dump(),
            R"({"cpu":2,"core":-1,"smt":-1})");
}

}  // namespace
}  // namespace plnet::runtime::settings_round_trip_test
