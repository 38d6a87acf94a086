// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/lnetctl.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/lnetctl/command_table.hpp"
#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/option_parser.hpp"
#include "apps/lnetctl/prompt.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "tests/mocks/text_file.hpp"

namespace plnet::apps::lnetctl_test {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
  std::string verb;
  nlohmann::json args;
  Duration patience{};
};

// Runs a command line against a node that answers `reply` to every request.
Ran run(const std::vector<std::string>& words, const runtime::VerbReply& reply = Json::object(),
        std::string input = {}) {
  Ran ran;
  const TextFile out;
  const TextFile err;
  Session session;
  session.out = out.file();
  session.err = err.file();
  input += '\n';  // fmemopen() needs at least one byte
  session.in = ::fmemopen(input.data(), input.size(), "r");
  session.ask = [&](std::string_view verb, const nlohmann::json& args) {
    ran.verb = verb;
    ran.args = args;
    ran.patience = session.patience;
    return reply;
  };
  ran.status = run_lnetctl(words, session, false);
  std::fclose(session.in);
  ran.out = out.text();
  ran.err = err.text();
  return ran;
}

bool has(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

constexpr int kInvalidStatus = 256 - EINVAL;

TEST(Commands, HaveAsMuchPatienceAsPingsMayTake) {
  EXPECT_GT(run({"ping", "--timeout", "60", "10.0.0.1@tcp"}).patience, std::chrono::seconds(60));
  EXPECT_GT(run({"ping", "--count", "100000", "10.0.0.1@tcp"}).patience, std::chrono::minutes(10));
  EXPECT_LT(run({"ping", "10.0.0.1@tcp"}).patience, std::chrono::seconds(30));
  EXPECT_EQ(run({"net", "show"}).patience, Duration{}) << "of other commands none of their own";
}

// The node answers when the last transaction has ended, within five seconds.
TEST(Commands, HaveAsMuchPatienceAsADiscoveryMayTake) {
  const Ran usual = run({"discover", "10.0.0.1@tcp"});
  EXPECT_EQ(usual.verb, "discover");
  EXPECT_GT(usual.patience, std::chrono::seconds(150 + 5));
  EXPECT_LT(usual.patience, std::chrono::seconds(200));
  const Json globals{{"global", {{"transaction_timeout", 300}}}};
  EXPECT_GT(run({"discover", "10.0.0.1@tcp"}, globals).patience, std::chrono::seconds(300 + 5));
  EXPECT_GT(run({"import", "--exec"}).patience, std::chrono::seconds(300 + 5));
  EXPECT_GT(run({"import"}).patience, std::chrono::seconds(5 + 90)) << "a change and its end";
}

TEST(Commands, AUniqueBeginningOfEachWordIsEnough) {
  EXPECT_EQ(run({"cpt", "show"}).verb, "cpt show");
  EXPECT_EQ(run({"cp", "sh"}).verb, "cpt show");
  EXPECT_EQ(run({"exc", "sta"}).verb, "exchange start");
  EXPECT_EQ(run({"set", "idle", "busy"}).verb, "set") << "also a group's beginning, but exact";
}

TEST(Commands, AnAmbiguousBeginningListsTheCandidates) {
  const Ran top = run({"ex", "show"});
  EXPECT_EQ(top.status, kInvalidStatus);
  EXPECT_EQ(top.out, "");
  EXPECT_EQ(top.err, "Ambiguous command 'ex'\n    exchange\n    export\n");
  const Ran below = run({"exchange", "st"});
  EXPECT_EQ(below.err, "Ambiguous command 'exchange st'\n    start\n    stop\n");
  EXPECT_EQ(below.status, kInvalidStatus);
}

TEST(Commands, UnknownCommandsListTheExpectedOnes) {
  const Ran top = run({"nte", "show"});
  EXPECT_EQ(top.status, kInvalidStatus);
  EXPECT_TRUE(has(top.err,
                  "lnetctl:\n    - command:\n          errno: -22\n          descr: \""
                  "unknown command 'nte'; did you mean 'net', 'lnet', 'set'? 'lnetctl help' lists "
                  "all"))
      << top.err;
  EXPECT_TRUE(
      has(run({"cpt", "xyz"}).err, "unknown command 'cpt xyz'; expected one of: show, plan"));
  EXPECT_TRUE(
      has(run({"cpt"}).err, "'cpt' is not a whole command; expected one of: cpt show, cpt plan"));
  EXPECT_TRUE(has(run({"status", "now"}).err,
                  "status takes no arguments besides options, but was given 'now'"));
  EXPECT_TRUE(has(run({"set", "idle"}).err, "set needs VARIABLE VALUE: lnetctl set VARIABLE"));
  EXPECT_TRUE(has(run({"ping"}).err, "ping needs a NID: lnetctl ping NID [NID …]"));
  EXPECT_TRUE(has(run({"export", "a", "b"}).err, "too many arguments ('a', 'b'): lnetctl export"));
  EXPECT_TRUE(has(run({""}).err, "unknown command ''"));
}

TEST(Commands, AMistypedWordSuggestsTheNearestThree) {
  EXPECT_TRUE(has(run({"pign", "x"}).err, "unknown command 'pign'; did you mean 'ping'?"));
  EXPECT_TRUE(has(run({"net", "shwo"}).err, "did you mean 'net show'?"));
  EXPECT_TRUE(has(run({"peer", "sed"}).err, "did you mean 'peer set', 'peer add', 'peer del'?"))
      << run({"peer", "sed"}).err;
  EXPECT_TRUE(has(run({std::string(10'000, 'x')}).err, "expected one of: lnet, net, route, "));
}

TEST(Commands, ErrorsOfTheNodeComeInItsForm) {
  const runtime::VerbReply refused = std::unexpected(
      runtime::VerbError({{Errc::kInvalid, "unknown key 'nte'", "a.yaml:3:5", "", -1},
                          {Errc::kNotFound, "a.yaml:4:1: no interface", "a.yaml:4:1", "net", 7}}));
  const Ran ran = run({"import"}, refused);
  EXPECT_EQ(ran.status, kInvalidStatus);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "add:\n"
            "    - import:\n"
            "          errno: -22\n"
            "          descr: \"a.yaml:3:5: unknown key 'nte'\"\n"
            "    - net:\n"
            "          seq_no: 7\n"
            "          errno: -2\n"
            "          descr: \"a.yaml:4:1: no interface\"\n");
  EXPECT_EQ(
      run({"status"}, std::unexpected(runtime::VerbError(Error{Errc::kNotPermitted, "no"}))).status,
      255);
  EXPECT_TRUE(has(run({"import", "--del"}, refused).err, "del:\n    - import:"));
}

TEST(Commands, ResultsAreYamlOrJsonAndChangesAreSilent) {
  const Json result = {{"cpt", Json::array({{{"cpt", 0}, {"cpus", "0-3"}}})}};
  EXPECT_EQ(run({"cpt", "show"}, result).out, "cpt:\n    - cpt: 0\n      cpus: 0-3\n");
  EXPECT_EQ(run({"--json", "cpt", "show"}, result).out,
            "{\"cpt\":[{\"cpt\":0,\"cpus\":\"0-3\"}]}\n");
  EXPECT_EQ(run({"set", "idle", "busy"}, result).out, "");
  EXPECT_EQ(run({"metrics", "show"}, Json{{"text", "# HELP a\na 1\n"}}).out, "# HELP a\na 1\n");
}

TEST(Commands, NamesOfHostsStandBehindYamlOnly) {
  const std::string path =
      fs::path(testing::TempDir()) / ("lnetctl_names_" + std::to_string(::getpid()));
  std::ofstream(path) << "18 login1\n";
  EXPECT_EQ(run({"--nic-names", path, "net", "show"}, Json{{"nid", "18@kfi"}}).out,
            "nid: 18@kfi  # login1\n");
  const std::string metrics = "plnet_lnd_kfi_sent{nid=\"18@kfi\",host=\"login1\"} 1\n";
  EXPECT_EQ(run({"--nic-names", path, "metrics", "show"}, Json{{"text", metrics}}).out, metrics);
  fs::remove(path);
}

TEST(Commands, BuildTheArgumentsOfTheirVerb) {
  EXPECT_EQ(run({"exchange", "start", "--in-flight", "0x10", "--work-nsec=010"}).args,
            (nlohmann::json{{"in_flight", 16}, {"work_nsec", 8}}));
  EXPECT_EQ(run({"exchange", "set", "--in", "3"}).args, (nlohmann::json{{"in_flight", 3}}))
      << "long options may be abbreviated";
  EXPECT_EQ(run({"set", "log_level", "debug"}).args,
            (nlohmann::json{{"variable", "log_level"}, {"value", "debug"}}));
  EXPECT_EQ(run({"log", "set", "debug"}).args, (nlohmann::json{{"level", "debug"}}));
  EXPECT_EQ(run({"log", "set", "--", "-x"}).args, (nlohmann::json{{"level", "-x"}}));
  EXPECT_TRUE(has(run({"exchange", "set", "--in-flight", "many"}).err,
                  "option '--in-flight': 'many' is not a number"));
  EXPECT_TRUE(has(run({"exchange", "set", "--in-flight"}).err, "'--in-flight' needs a value"));
  EXPECT_TRUE(has(run({"exchange", "set", "-q"}).err, "option '-q' is not known"));
  EXPECT_TRUE(has(run({"exchange", "set", "--bogus=1"}).err,
                  "option '--bogus=1' is not known, ambiguous or takes no value; expected "
                  "--in-flight, --work-nsec"));
}

TEST(Commands, EveryFormOfVerboseWorks) {
  const auto level = [](const std::vector<std::string>& form) {
    std::vector<std::string> words{"cpt", "show"};
    words.insert(words.end(), form.begin(), form.end());
    const Ran ran = run(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.args.value("verbose", 0);
  };
  EXPECT_EQ(level({}), 0);
  EXPECT_EQ(level({"-v"}), 1);
  EXPECT_EQ(level({"--verbose"}), 1);
  EXPECT_EQ(level({"-v", "2"}), 2);
  EXPECT_EQ(level({"-v2"}), 2);
  EXPECT_EQ(level({"--verbose", "2"}), 2);
  EXPECT_EQ(level({"--verbose=2"}), 2);
  EXPECT_EQ(level({"--verb", "3"}), 3);
  EXPECT_EQ(level({"--verb=3"}), 3);
  EXPECT_EQ(run({"cpt", "show", "-vx"}).status, kInvalidStatus);
}

TEST(Commands, HelpIsThereForEachRow) {
  for (const CommandRow& row : commands()) {
    std::vector<std::string> words;
    std::istringstream parts{std::string(row.verb.words)};
    for (std::string word; parts >> word;)
      words.push_back(word);
    words.emplace_back("--help");
    const Ran ran = run(words);
    EXPECT_EQ(ran.status, 0);
    EXPECT_TRUE(has(ran.out, "usage: lnetctl " + std::string(row.verb.words))) << ran.out;
    EXPECT_TRUE(has(ran.out, row.verb.help));
    EXPECT_EQ(ran.verb, "") << "help needs no node";
    EXPECT_TRUE(has(run({"help"}).out, row.verb.words));
    EXPECT_TRUE(has(run({"--list-commands"}).out, std::string(row.verb.words) + "\n"));
    EXPECT_FALSE(row.verb.entity.empty()) << row.verb.words;
    EXPECT_LE(row.verb.words.size(), runtime::kVerbLengthMax);
  }
  EXPECT_TRUE(has(run({"help", "cpt", "plan"}).out, "--synthetic"));
  EXPECT_TRUE(has(run({"exchange", "--help"}).out, "exchange stop"));
}

TEST(GlobalOptions, AreCheckedBeforeTheCommand) {
  EXPECT_TRUE(has(run({"--version"}).out, "lnetctl " PLNET_VERSION));
  EXPECT_EQ(run({"--bogus", "status"}).status, kInvalidStatus);
  EXPECT_TRUE(has(run({"--instance", "../x", "status"}).err, "instance '../x'"));
  EXPECT_TRUE(has(run({"--instance", "x", "--socket", "y", "status"}).err, "not both"));
  for (const char* timeout : {"0", "-1", "x", "1000000"}) {
    EXPECT_TRUE(has(run({"--timeout", timeout, "status"}).err, "expected 1 to 86400")) << timeout;
  }
  EXPECT_EQ(run({"--timeout", "5", "status"}).status, 0);
  EXPECT_TRUE(has(run({"--completion", "bash"}).out, "\"cpt plan\") kind="));
  EXPECT_TRUE(has(run({"--completion", "bash"}).out, "\"import\") kind=\"file\""));
  EXPECT_EQ(run({"--completion", "fish"}).status, kInvalidStatus);
}

TEST(GlobalOptions, WithoutANodeTheErrorNamesTheSocket) {
  const TextFile err;
  Session session;
  session.err = err.file();
  const std::vector<std::string> words{"--socket", "/nonexistent/x.sock", "status"};
  EXPECT_EQ(run_lnetctl(words, session, false), 256 - ECONNREFUSED);
  EXPECT_TRUE(has(err.text(), "no node listens on '/nonexistent/x.sock'")) << err.text();
}

TEST(Import, SendsTheTextAndItsName) {
  const std::string path =
      fs::path(testing::TempDir()) / ("lnetctl_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << "plnet:\n";
  const Ran ran = run({"import", path, "--plan"}, Json{{"plan", "nothing"}});
  EXPECT_EQ(
      ran.args,
      (nlohmann::json{{"text", "plnet:\n"}, {"name", path}, {"action", "add"}, {"plan", true}}));
  EXPECT_EQ(ran.out, "plan: nothing\n");
  EXPECT_EQ(run({"import", "-d", path}).args["action"], "del");
  std::ofstream(path) << "\xff";
  EXPECT_TRUE(has(run({"import", path}).err, "is not text in UTF-8"));
  fs::remove(path);

  const Ran piped = run({"import"}, Json::object(), "a: 1");
  EXPECT_EQ(piped.args["text"], "a: 1\n");
  EXPECT_EQ(piped.args["name"], "<stdin>");
  EXPECT_EQ(piped.out, "");
  const Ran missing = run({"import", "/no/such/file"});
  EXPECT_EQ(missing.status, 256 - ENOENT);
  EXPECT_TRUE(has(missing.err, "cannot open '/no/such/file': No such file"));
  EXPECT_EQ(run({"import", "-a", "-d"}).status, kInvalidStatus);
  EXPECT_TRUE(has(run({"import", testing::TempDir()}).err, "cannot read"));
}

TEST(Export, PrintsOrWritesTheTextAsItIs) {
  const Json result = {{"text", "net:\n    - net type: tcp\n"}};
  const Ran printed = run({"export", "-b"}, result);
  EXPECT_EQ(printed.out, "net:\n    - net type: tcp\n");
  EXPECT_EQ(printed.args, (nlohmann::json{{"backup", true}}));
  const std::string path =
      fs::path(testing::TempDir()) / ("lnetctl_out_" + std::to_string(::getpid()));
  const Ran written = run({"export", path}, result);
  EXPECT_EQ(written.out, "");
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "net:\n    - net type: tcp\n");
  fs::remove(path);
  EXPECT_EQ(run({"export", "/no/such/folder/x"}, result).status, 256 - ENOENT);
}

TEST(CptPlan, NeedsNoNode) {
  const Ran ran = run({"--json", "cpt", "plan", "--synthetic", "pack:2 [numa] core:4 pu:1", "--by",
                       "numa", "--shards-per-cpt", "2"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.verb, "");
  const Json plan = Json::parse(ran.out);
  ASSERT_EQ(plan["cpts"].size(), 2U);
  EXPECT_EQ(plan["cpts"][0]["shards"].size(), 2U);
  EXPECT_TRUE(has(run({"cpt", "plan", "--synthetic", "pack:1 core:2 pu:1", "--yaml"}).out,
                  "plnet:\n    cpts:\n"));
  EXPECT_NE(run({"cpt", "plan", "--synthetic", "pack:1 core:2 pu:1", "--draw"}).out, "");
  EXPECT_EQ(run({"cpt", "plan", "--synthetic", "nonsense"}).status, kInvalidStatus);
  EXPECT_TRUE(has(run({"cpt", "plan", "--by", "moon"}).err, "'moon' is no way"));
  EXPECT_TRUE(has(run({"cpt", "plan", "--npartitions", "-1"}).err, "out of range"));
  EXPECT_TRUE(has(run({"cpt", "plan", "--reserve", "x"}).err, "option '--reserve'"));
}

TEST(CptPlan, TakesAConfigurationAndNamesItsErrors) {
  const std::string path =
      fs::path(testing::TempDir()) / ("lnetctl_plan_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << "plnet:\n    cpts:\n        by: numa\n        shards_per_cpt: 1\n";
  const std::vector<std::string> words{
      "--json", "cpt", "plan", "--config", path, "--synthetic", "pack:2 [numa] core:4 pu:1"};
  const Ran ran = run(words);
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["cpts"][1]["shards"].size(), 1U);
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--shards-per-cpt", "3"});
  EXPECT_EQ(Json::parse(run(more).out)["cpts"][1]["shards"].size(), 3U);
  std::ofstream(path) << "plnet:\n    cpts:\n        bye: numa\n        shards_per_cpt: x\n";
  const Ran wrong = run(words);
  EXPECT_EQ(wrong.status, kInvalidStatus);
  EXPECT_TRUE(has(wrong.err, path + ":3:9: ")) << wrong.err;
  EXPECT_TRUE(has(wrong.err, path + ":4:25: ")) << wrong.err;
  fs::remove(path);
}

TEST(Prompt, RunsLinesUntilQuit) {
  const Ran ran = run({}, Json{{"a", 1}}, "log show\n\n# a comment\n'log' show\nquit\nlog show\n");
  EXPECT_EQ(ran.out, "a: 1\na: 1\n");
  EXPECT_EQ(ran.status, 0);
  const Ran failed = run({}, Json{{"a", 1}}, "log show\nbogus\n");
  EXPECT_EQ(failed.status, kInvalidStatus);
  EXPECT_TRUE(has(failed.err, "unknown command 'bogus'"));
  EXPECT_TRUE(has(run({}, Json{}, "set 'idle").err, "a quote is left open"));
}

TEST(Prompt, IsShownToPeople) {
  std::string input = "log show\n";
  const TextFile out;
  Session session;
  session.out = out.file();
  session.in = ::fmemopen(input.data(), input.size(), "r");
  session.ask = [](std::string_view, const nlohmann::json&) -> runtime::VerbReply {
    return Json{{"a", 1}};
  };
  EXPECT_EQ(run_lnetctl({}, session, true), 0);
  std::fclose(session.in);
  EXPECT_EQ(out.text(), "lnetctl > a: 1\nlnetctl > ");
}

TEST(Prompt, CompletesWordsAndSaysWhatMayFollow) {
  using Words = std::vector<std::string>;
  const CommandTable table(commands());
  EXPECT_EQ(table.candidates("pi"), Words{"ping"});
  EXPECT_EQ(table.candidates("net "), (Words{"add", "del", "show", "set"}));
  EXPECT_EQ(table.candidates("net s"), (Words{"show", "set"}));
  EXPECT_EQ(table.candidates("net show --n"), Words{"--net"});
  EXPECT_TRUE(table.candidates("nothing ").empty());
  EXPECT_TRUE(table.candidates("net show tcp ").empty()) << "a value";
  EXPECT_TRUE(has(table.help_at("net s"), "    net show            networks and their NIs\n"));
  EXPECT_FALSE(has(table.help_at("net s"), "net add"));
  EXPECT_TRUE(has(table.help_at("net show "), "usage: lnetctl net show [OPTIONS]"));
  EXPECT_TRUE(has(table.help_at(""), "    ping "));
  EXPECT_TRUE(has(table.help_at("nothing "), "no command begins so"));
  EXPECT_TRUE(has(run({}, Json{}, "net s?\nnet ?\n").out, "    net add "));
}

TEST(Prompt, CompletesNamesThatTheNodeKnows) {
  using Words = std::vector<std::string>;
  const CommandTable table(commands());
  Session session;
  session.ask = [](std::string_view verb, const nlohmann::json&) -> runtime::VerbReply {
    if (verb == "net show") {
      return Json::parse(R"json({"net": [{"net type": "tcp", "local NI(s)": [
          {"nid": "10.0.0.1@tcp", "interfaces": {"0": "eth0"}}]
    }]})json");
    }
    if (verb == "peer show") return Json::parse(R"({"peer": [{"primary nid": "10.0.0.9@tcp"}]})");
    return Json::parse(R"({"route": [{"net": "o2ib", "gateway": "10.0.0.254@tcp"}]})");
  };
  const auto at = [&](std::string_view line) { return candidates_at(table, session, line); };
  EXPECT_EQ(at("net show --net "), (Words{"o2ib", "tcp"}));
  EXPECT_EQ(at("net sh -n t"), Words{"tcp"});
  EXPECT_EQ(at("ping 10.0.0.2"), Words{"10.0.0.254@tcp"});
  EXPECT_EQ(at("ping --timeout 3 10.0.0.9"), Words{"10.0.0.9@tcp"});
  EXPECT_TRUE(at("ping --timeout ").empty()) << "a number";
  EXPECT_EQ(at("net add --net tcp9 --if "), Words{"eth0"});
  EXPECT_EQ(at("net add --net tcp9 --i"), (Words{"--if", "--ip2net"})) << "after a value";
  EXPECT_EQ(at("net sh --n"), Words{"--net"}) << "after an abbreviation";
  EXPECT_EQ(at("pi"), Words{"ping"});
}

TEST(SplitLine, KeepsQuotedWordsTogether) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_line("  a  b\tc\n"), (Words{"a", "b", "c"}));
  EXPECT_EQ(split_line("a 'b c' \"d \\\" e\" f\\ g ''"), (Words{"a", "b c", "d \" e", "f g", ""}));
  EXPECT_EQ(split_line("a#b # c"), (Words{"a#b"}));
  EXPECT_EQ(split_line(""), Words{});
  EXPECT_FALSE(split_line("a 'b"));
}

TEST(CNumber, AcceptsExactlyWhatStrtollAccepts) {
  EXPECT_EQ(parse_c_number("10"), 10);
  EXPECT_EQ(parse_c_number("0x10"), 16);
  EXPECT_EQ(parse_c_number("010"), 8);
  EXPECT_EQ(parse_c_number("-1"), -1);
  for (const char* text : {"", " 1", "1 ", "x", "0x", "1.5", "9223372036854775808", "08"}) {
    EXPECT_FALSE(parse_c_number(text)) << text;
  }
}

// A longer command may begin with the words of a shorter one.
constexpr std::array kNested{
    CommandRow{.verb = {.words = "debug", .positional = {"[WHAT]", "what", 0, 1}, .entity = "d"}},
    CommandRow{.verb = {.words = "debug recovery", .entity = "d"}},
    CommandRow{.verb = {.words = "peer add", .entity = "peer"}},
    CommandRow{.verb = {.words = "ping",
                        .positional = {"NID…", "nid", 1, 9},
                        .operation = "manage",
                        .entity = "ping"}},
};

TEST(CommandTable, NestedAndLongCommandLines) {
  Ran ran;
  const TextFile out;
  const TextFile err;
  Session session;
  session.out = out.file();
  session.err = err.file();
  session.ask = [&](std::string_view verb, const nlohmann::json& args) -> runtime::VerbReply {
    ran.verb = verb;
    ran.args = args;
    return Json::object();
  };
  const CommandTable table(kNested);
  const auto verb_of = [&](const std::vector<std::string>& words) {
    ran.verb.clear();
    table.run(words, session);
    return ran.verb;
  };
  EXPECT_EQ(verb_of({"debug"}), "debug");
  EXPECT_EQ(verb_of({"debug", "rec"}), "debug recovery");
  EXPECT_EQ(verb_of({"debug", "other"}), "debug");
  EXPECT_EQ(ran.args, (nlohmann::json{{"what", "other"}}));
  EXPECT_EQ(verb_of({"ping", "10.0.0.1@tcp", "10.0.0.2@tcp"}), "ping");
  EXPECT_EQ(ran.args, (nlohmann::json{{"nid", {"10.0.0.1@tcp", "10.0.0.2@tcp"}}}));
  EXPECT_EQ(verb_of({"p"}), "");
}

}  // namespace
}  // namespace plnet::apps::lnetctl_test
