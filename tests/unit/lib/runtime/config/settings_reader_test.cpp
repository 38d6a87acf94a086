// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_reader.hpp"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::settings_reader_test {
namespace {

Settings read_good(std::string_view text, const Settings& base = {}) {
  auto read = read_settings(text, "good.yaml", base);
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return read.value_or(Settings{});
}

// The summaries of all errors, one a line.
std::string read_bad(std::string_view text) {
  const auto read = read_settings(text, "f");
  EXPECT_FALSE(read.has_value()) << text;
  std::string out;
  if (read) return out;
  for (const ConfigError& error : read.error().list())
    out += error.summary() + "\n";
  return out;
}

constexpr std::string_view kEverything = R"(
plnet:
    cpts:
        by: list
        partitions: "2"
        pattern: "0[0-1] 1[2-3]"
        shards_per_cpt: 0x10
        reserved_cpus: "0,4-5"
        list:
            - shards:
                - cpu: 2
                - core: 3
                  smt: 1
              memory node: 1
              nic queues:
                  eth0: "0-3"
                  eth1: 7
            - shards: [{core: 4}]
    pollers: {idle: busy, turn_limit_usec: 010}
    memory:
        arena_mib: 128
    exchange:
        enable: True
        in_flight: 16
        work_nsec: 100
    log:
        level: debug
    metrics:
        listen: "[::1]:9417"
)";

TEST(ReadSettings, NotesWhereThingsStandThatOnlyThePlannerCanJudge) {
  const Settings settings = read_good(kEverything);
  ASSERT_EQ(settings.cpts.list.size(), 2U);
  const CptRequest& first = settings.cpts.list[0];
  EXPECT_EQ(first.shards[0].origin.place, "good.yaml:11:24");
  EXPECT_EQ(first.shards[1].origin.place, "good.yaml:12:25");
  EXPECT_EQ(first.memory_origin.place, "good.yaml:14:28");
  EXPECT_EQ(settings.cpts.list[1].shards[0].origin.place, "good.yaml:18:31");
  EXPECT_EQ(settings.cpts.pattern_origin.place, "good.yaml:6:18");
  EXPECT_EQ(settings.cpts.reserved_origin.place, "good.yaml:8:24");
  const auto later = read_settings("plnet: {log: {level: info}}", "later.yaml", settings);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->cpts.list[0].shards[0].origin.place, "good.yaml:11:24");
}

TEST(ReadSettings, ReadsEveryKey) {
  const Settings settings = read_good(kEverything);
  Settings wanted;
  wanted.cpts = {.by = CptPlanRequest::By::kList,
                 .partitions = 2,
                 .pattern = "0[0-1] 1[2-3]",
                 .shards_per_cpt = 16,
                 .reserved_cpus = {0, 4, 5},
                 .list = {{.shards = {{.cpu = 2}, {.core = 3, .smt = 1}},
                           .memory_node = 1,
                           .nic_queues = {{"eth0", {0, 1, 2, 3}}, {"eth1", {7}}}},
                          {.shards = {{.core = 4}}, .nic_queues = {}}}};
  wanted.pollers = {.idle = IdlePolicy::kBusy, .turn_limit_usec = 8};
  wanted.memory = {.arena_mib = 128};
  wanted.exchange = {.enable = true, .in_flight = 16, .work_nsec = 100};
  wanted.log = {.level = LogLevel::kDebug};
  wanted.metrics = {.listen = "[::1]:9417"};
  EXPECT_EQ(settings, wanted);
}

TEST(ReadSettings, EmptyDocumentsGiveTheDefaults) {
  for (const char* text : {"", "# nothing\n", "plnet:\n", "plnet: {}\n", "plnet:\n    cpts:\n",
                           "statistics:\n    send_count: 3\n"})
    EXPECT_EQ(read_good(text), Settings{}) << text;
}

TEST(ReadSettings, AddingKeepsOtherSettings) {
  const Settings base = read_good(kEverything);
  Settings wanted = base;
  wanted.pollers.idle = IdlePolicy::kSleep;
  EXPECT_EQ(read_good("plnet: {pollers: {idle: sleep}}", base), wanted);
  wanted = base;
  wanted.cpts.list = {{.shards = {{.cpu = 9}}, .nic_queues = {}}};
  EXPECT_EQ(read_good("plnet: {cpts: {list: [{shards: [{cpu: 9}]}]}}", base), wanted);
  EXPECT_EQ(read_good("", base), base);
}

TEST(ReadSettings, MinusOneIsNotGiven) {
  const Settings settings =
      read_good("plnet: {cpts: {list: [{shards: [{cpu: 1, core: -1}], memory node: -1}]}}");
  EXPECT_EQ(settings.cpts.list.at(0), (CptRequest{.shards = {{.cpu = 1}}, .nic_queues = {}}));
  EXPECT_EQ(read_bad("plnet: {cpts: {partitions: -1}}"),
            "f:1:28: plnet.cpts.partitions: '-1' is out of range, expected a number from 0 to "
            "256\n");
}

TEST(ResetSettings, GivesDefaultsBack) {
  const Settings base = read_good(kEverything);
  const auto reset = [&](std::string_view text) {
    auto result = reset_settings(text, "f", base);
    EXPECT_TRUE(result.has_value()) << result.error().text();
    return result.value_or(Settings{});
  };
  Settings wanted = base;
  wanted.pollers.idle = IdlePolicy::kAuto;
  EXPECT_EQ(reset("plnet: {pollers: {idle: whatever}}"), wanted);
  wanted.pollers = {};
  EXPECT_EQ(reset("plnet: {pollers: }"), wanted);
  wanted = base;
  wanted.cpts = {};
  EXPECT_EQ(reset("plnet: {cpts: {}}"), wanted);
  EXPECT_EQ(reset("plnet:\n"), Settings{});
  EXPECT_EQ(reset(""), base);
  const auto unknown = reset_settings("plnet: {polers: }", "f", base);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().list().at(0).where(), "f:1:9");
  // `by: list` needs the list that is removed.
  const auto useless = reset_settings("plnet: {cpts: {list: }}", "f", base);
  ASSERT_FALSE(useless.has_value());
  EXPECT_EQ(useless.error().list().at(0).summary(),
            "f:1:9: plnet.cpts.by: `by: list` without CPTs in plnet.cpts.list, expected at least "
            "one");
}

TEST(ReadSettings, OptionsOfModulesAreAddedAndTakenAwayByName) {
  Settings base;
  base.lnet.module_options = {{"ksocklnd", "nagle", "1"}, {"lnet", "accept_port", "7988"}};
  const auto read =
      read_good("plnet: {module_options: {ksocklnd.tos: 8, ksocklnd.nagle: 0}}", base);
  const std::vector<lnet::ModuleOption> all{
      {"ksocklnd", "nagle", "0"}, {"lnet", "accept_port", "7988"}, {"ksocklnd", "tos", "8"}};
  EXPECT_EQ(read.lnet.module_options, all) << "settings of other files stay";
  EXPECT_EQ(read_good("plnet: {module_options: {}}", read), read);
  const auto one = reset_settings("plnet: {module_options: {ksocklnd.nagle: 0}}", "f", read);
  ASSERT_TRUE(one.has_value()) << one.error().text();
  const std::vector<lnet::ModuleOption> others{all[1], all[2]};
  EXPECT_EQ(one->lnet.module_options, others);
  for (const char* const text : {"plnet: {module_options: }", "plnet: {module_options: {}}"}) {
    const auto none = reset_settings(text, "f", read);
    ASSERT_TRUE(none.has_value()) << none.error().text();
    EXPECT_TRUE(none->lnet.module_options.empty()) << text;
  }
  EXPECT_FALSE(reset_settings("plnet: {module_options: {nagle.: 0}}", "f", read).has_value());
}

TEST(ReadSettings, OptionsThatModulesDoNotHaveAreMistakes) {
  const auto of = [](std::string_view option) {
    return read_bad(fmt::format("plnet: {{module_options: {{{}: 1}}}}", option));
  };
  constexpr std::string_view kPlace = "f:1:26: plnet.module_options: ";
  const auto said = [&](std::string_view option, std::string_view what) {
    return fmt::format("{}'{}': {}\n", kPlace, option, what);
  };
  EXPECT_EQ(of("ksocklnd.sock_timout"),
            said("ksocklnd.sock_timout",
                 "module ksocklnd has no such option; did you mean 'sock_timeout'?"));
  EXPECT_EQ(of("lnet.acept_port"),
            said("lnet.acept_port", "module lnet has no such option; did you mean 'accept_port'?"));
  EXPECT_EQ(of("lnet.networks"), said("lnet.networks", "has a key of its own: net"));
  EXPECT_EQ(of("lnet.lnet_retry_count"),
            said("lnet.lnet_retry_count", "has a key of its own: global.retry_count"));
  EXPECT_EQ(of("lnet.config_on_load"),
            said("lnet.config_on_load",
                 "has no effect here (a node brings LNet up when it starts), expected the file "
                 "without it"));
  EXPECT_EQ(of("ksocklnd.backoff_max"),
            said("ksocklnd.backoff_max",
                 "has no effect here (Linux has no such TCP option; see sock_timeout), expected "
                 "the file without it"));
  EXPECT_EQ(
      of("lnet_selftest.rpc_timeout"),
      said("lnet_selftest.rpc_timeout", "has a key of its own: plnet.selftest.rpc_timeout_sec"));
  EXPECT_EQ(of("lnet_selftest.rpc_timout"),
            said("lnet_selftest.rpc_timout",
                 "module lnet_selftest has no such option; did you mean 'rpc_timeout'?"));
  EXPECT_EQ(of("ksoclnd.nagle"),
            said("ksoclnd.nagle",
                 "expected an option of lnet, ksocklnd, ko2iblnd or kkfilnd; did "
                 "you mean 'ksocklnd'?"));
  EXPECT_EQ(of("nagle"), said("nagle", "expected MODULE.OPTION, such as ksocklnd.nagle"));
  const auto old = read_good("plnet: {module_options: {lnet.portal_rotor: 3, kkfilnd.cksum: 1}}");
  EXPECT_EQ(old.lnet.module_options.size(), 2U) << "as backups of earlier versions have it";
}

TEST(ReadSettings, UnknownKeysSuggestSimilarOnes) {
  EXPECT_EQ(read_bad("plnet:\n    polers:\n        idle: busy\n"),
            "f:2:5: unknown key 'polers' in plnet, expected cpts, pollers, memory, exchange, lnet, "
            "tcp, kfi, o2ib, selftest, log, metrics, status_page or module_options; did you mean "
            "'pollers'?\n");
  EXPECT_EQ(read_bad("plnett:\n"),
            "f:1:1: call back for 'plnett' not found: unknown key, expected net, ip2nets, route, "
            "routing, buffers, peer, numa, global, udsp, fault, access, ping, discover or plnet; "
            "did you mean "
            "'plnet'?\n");
  EXPECT_EQ(read_bad("# x\nfoo: 1\n"),
            "f:2:1: call back for 'foo' not found: unknown key, expected net, ip2nets, route, "
            "routing, buffers, peer, numa, global, udsp, fault, access, ping, discover or plnet\n");
  EXPECT_EQ(
      read_bad("plnet: {cpts: {list: [{shards: [{cpus: 1, cpu: 1}]}]}}"),
      "f:1:34: unknown key 'cpus' in plnet.cpts.list[0].shards[0], expected cpu, core or smt; "
      "did you mean 'cpu'?\n");
}

TEST(ReadSettings, WrongKindsOfValueAreNamed) {
  EXPECT_EQ(read_bad("text"), "f:1:1: a single value, expected a mapping (`key: value` lines)\n");
  EXPECT_EQ(read_bad("- a\n"), "f:1:1: a list, expected a mapping (`key: value` lines)\n");
  EXPECT_EQ(read_bad("plnet: 3\n"),
            "f:1:8: plnet: a single value, expected a mapping (`key: value` lines)\n");
  EXPECT_EQ(read_bad("plnet: {pollers: {idle: }}"),
            "f:1:19: plnet.pollers.idle: no value, expected auto, busy, pause, yield or sleep\n");
  EXPECT_EQ(read_bad("plnet: {memory: {arena_mib: [1]}}"),
            "f:1:29: plnet.memory.arena_mib: a list, expected a number from 1 to 1048576 MiB\n");
  EXPECT_EQ(read_bad("plnet: {cpts: {list: {}}}"),
            "f:1:22: plnet.cpts.list: a mapping, expected a list of at most 256 mappings\n");
  EXPECT_EQ(read_bad("plnet: {cpts: {list: [{shards: [{cpu: 1}], nic queues: 3}]}}"),
            "f:1:56: plnet.cpts.list[0].nic queues: a single value, expected a mapping from names "
            "to values\n");
}

TEST(ReadSettings, WrongScalarsAreNamed) {
  EXPECT_EQ(read_bad("plnet:\n  memory:\n    arena_mib: 0\n"),
            "f:3:16: plnet.memory.arena_mib: '0' is out of range, expected a number from 1 to "
            "1048576 MiB\n");
  EXPECT_EQ(read_bad("plnet: {memory: {arena_mib: 6x}}"),
            "f:1:29: plnet.memory.arena_mib: '6x' is not a number, expected a number from 1 to "
            "1048576 MiB\n");
  EXPECT_EQ(read_bad("plnet: {memory: {arena_mib: 99999999999999999999}}"),
            "f:1:29: plnet.memory.arena_mib: '99999999999999999999' is out of range, expected a "
            "number from 1 to 1048576 MiB\n");
  EXPECT_EQ(read_bad("plnet: {exchange: {enable: yes}}"),
            "f:1:28: plnet.exchange.enable: 'yes' is neither true nor false, expected 0 or 1\n");
  EXPECT_EQ(read_bad("plnet: {pollers: {idle: bsy}}"),
            "f:1:25: plnet.pollers.idle: 'bsy' is not known, expected auto, busy, pause, yield or "
            "sleep; did you mean 'busy'?\n");
  EXPECT_EQ(read_bad("plnet: {tcp: {congestion_control: New Reno}}"),
            "f:1:35: plnet.tcp.congestion_control: 'New Reno' is no congestion control, expected "
            "auto, system or a name that `sysctl net.ipv4.tcp_available_congestion_control` "
            "lists\n");
  EXPECT_EQ(read_bad("plnet: {metrics: {listen: here}}"),
            "f:1:27: plnet.metrics.listen: metrics address 'here': no port; expected ADDRESS:PORT "
            "such as 127.0.0.1:9100 or [::1]:9100, or \"\" for off\n");
  EXPECT_TRUE(
      read_bad("plnet: {cpts: {pattern: \"0[\"}}").starts_with("f:1:25: plnet.cpts.pattern: "));
  EXPECT_EQ(
      read_bad("plnet: {cpts: {reserved_cpus: 9-1}}"),
      "f:1:31: plnet.cpts.reserved_cpus: column 1 of \"9-1\": range 9-1 is in descending order\n");
  EXPECT_EQ(read_bad("plnet: {cpts: {list: [{shards: [{cpu: 1}], nic queues: {a b: 1}}]}}"),
            "f:1:57: plnet.cpts.list[0].nic queues: 'a b': expected the name of a network "
            "interface: 1 to 15 letters, no blank and no '/'\n");
}

TEST(ReadSettings, ListsAreBounded) {
  std::string many = "plnet: {cpts: {list: [";
  for (int i = 0; i < 257; ++i)
    many += "{},";
  EXPECT_EQ(read_bad(many + "]}}"), "f:1:22: plnet.cpts.list: 257 items, expected at most 256\n");
  std::string names = "plnet: {cpts: {list: [{nic queues: {";
  for (int i = 0; i < 65; ++i)
    names += fmt::format("e{}: 0,", i);
  EXPECT_EQ(read_bad(names + "}}]}}"),
            "f:1:36: plnet.cpts.list[0].nic queues: 65 names, expected at most 64\n");
}

TEST(ReadSettings, ShardsMustMakeSense) {
  EXPECT_EQ(read_bad("plnet:\n  cpts:\n    by: list\n"),
            "f:3:9: plnet.cpts.by: `by: list` without CPTs in plnet.cpts.list, expected at least "
            "one\n");
  EXPECT_EQ(read_bad("plnet:\n"
                     "  cpts:\n"
                     "    list:\n"
                     "      - memory node: 1\n"
                     "      - shards:\n"
                     "          - cpu: 1\n"
                     "            core: 2\n"
                     "          - smt: 1\n"
                     "          - cpu: 3\n"
                     "            smt: 1\n"),
            "f:4:9: plnet.cpts.list[0]: no shards, expected at least one\n"
            "f:6:13: plnet.cpts.list[1].shards[0]: both cpu and core are given, expected one of "
            "them\n"
            "f:8:13: plnet.cpts.list[1].shards[1]: neither cpu nor core, expected one of them\n"
            "f:9:13: plnet.cpts.list[1].shards[2]: smt goes with core, expected cpu alone\n");
}

TEST(ReadSettings, ShardsMayShareACpu) {
  const auto read = read_settings(
      "plnet: {cpts: {by: list, list: [{shards: [{cpu: 0}]}, {shards: [{cpu: 0}]}]}}", "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->cpts.list.size(), 2U);
}

TEST(ReadSettings, TwoCptsMayNotServeOneQueue) {
  const std::string text = read_bad(
      "plnet:\n  cpts:\n    list:\n"
      "      - {shards: [{cpu: 1}], nic queues: {eth0: 0-3}}\n"
      "      - {shards: [{cpu: 2}], nic queues: {eth0: 3}}\n");
  EXPECT_TRUE(text.starts_with("f:3:5: plnet.cpts.list: ")) << text;
}

TEST(ReadSettings, ReportsEverythingAtOnceInOrder) {
  EXPECT_EQ(read_bad("foo: 1\n"
                     "plnet:\n"
                     "  pollers:\n"
                     "    idle: bsy\n"
                     "    idle: busy\n"
                     "  cpts:\n"
                     "    by: list\n"
                     "    list: [{shards: [{cpu: x}]}]\n"),
            "f:1:1: call back for 'foo' not found: unknown key, expected net, ip2nets, route, "
            "routing, buffers, peer, numa, global, udsp, fault, access, ping, discover or plnet\n"
            "f:4:11: plnet.pollers.idle: 'bsy' is not known, expected auto, busy, pause, yield or "
            "sleep; did you mean 'busy'?\n"
            "f:5:5: duplicate key 'idle', given before at 4:5; expected each key once\n"
            "f:8:28: plnet.cpts.list[0].shards[0].cpu: 'x' is not a number, expected a number from "
            "0 to 8191\n");
}

TEST(ReadSettings, ErrorsForPeopleShowTheLine) {
  const auto read = read_settings("plnet:\n    log: {level: loud}\n", "/etc/plnet.yaml");
  ASSERT_FALSE(read.has_value());
  const Error error = read.error().to_error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.what,
            "/etc/plnet.yaml:2:18: plnet.log.level: 'loud' is not known, expected error, warning, "
            "info or debug\n"
            "    log: {level: loud}\n"
            "                 ^");
}

}  // namespace
}  // namespace plnet::runtime::settings_reader_test
