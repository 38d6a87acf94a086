// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/verb_table.hpp"

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include "lib/runtime/control/access.hpp"
#include "lib/runtime/control/args_text.hpp"

namespace plnet::runtime {
namespace {

class VerbTableTest : public testing::Test {
 protected:
  VerbTableTest() {
    table_.add({.words = "show",
                .help = "shows",
                .args = {{.name = "name", .required = true},
                         {.name = "level", .kind = OptionKind::kNumber},
                         {.name = "all", .kind = OptionKind::kFlag},
                         {.name = "nids", .kind = OptionKind::kList}},
                .access = VerbAccess::kReads},
               [](const nlohmann::json& args, const Caller&) -> Outcome<Json> {
                 return Json{{"name", args["name"]}};
               });
    table_.add({.words = "set", .access = VerbAccess::kChanges},
               [](const nlohmann::json&, const Caller&) -> Outcome<Json> {
                 return failure(Errc::kBusy, "not now");
               });
    table_.add({.words = "throw", .access = VerbAccess::kReads},
               [](const nlohmann::json&, const Caller&) -> VerbReply {
                 throw std::runtime_error("a library's");
               });
    table_.add({.words = "later",
                .args = {{.name = "throw", .kind = OptionKind::kFlag}},
                .access = VerbAccess::kReads},
               [this](const nlohmann::json& args, const Caller&, VerbToken token) {
                 if (args.contains("throw")) throw std::runtime_error("early");
                 kept_.push_back(std::move(token));
               });
  }

  // The reply, or nothing if it comes later.
  std::optional<VerbReply> run(std::string verb, nlohmann::json args = nlohmann::json::object(),
                               bool may_change = true) {
    const auto got = std::make_shared<std::optional<VerbReply>>();  // a late reply may use it, too
    Caller caller{1000, 1000, 1, {}, may_change};
    table_.run({1, std::move(verb), std::move(args)}, caller, [got](const VerbReply& reply) {
      EXPECT_FALSE(*got) << "once";
      *got = reply;
    });
    return *got;
  }
  std::string words(const std::optional<VerbReply>& reply) {
    return reply && !*reply ? reply->error().faults[0].what : "no error";
  }

  VerbTable table_;
  std::vector<VerbToken> kept_;
};

TEST_F(VerbTableTest, RunsTheHandler) {
  const auto reply = run("show", {{"name", "x"}, {"level", 2}, {"all", true}, {"nids", {"a"}}});
  ASSERT_TRUE(reply && *reply) << words(reply);
  EXPECT_EQ((**reply)["name"], "x");
}

TEST_F(VerbTableTest, RefusesInWords) {
  EXPECT_NE(words(run("shwo")).find("verb 'shwo' is not known"), std::string::npos);
  EXPECT_NE(words(run("show", {{"name", "x"}, {"nmae", "y"}}))
                .find("unknown argument 'nmae'; expected name, level, all, nids"),
            std::string::npos);
  EXPECT_NE(words(run("show", {{"level", 2}})).find("argument 'name' is missing"),
            std::string::npos);
  EXPECT_NE(words(run("show", {{"name", 2}})).find("'name' is a number; expected a string"),
            std::string::npos);
  EXPECT_NE(words(run("show", {{"name", "x"}, {"level", 1.5}})).find("expected a whole number"),
            std::string::npos);
  EXPECT_NE(words(run("show", {{"name", "x"}, {"all", 1}})).find("expected true or false"),
            std::string::npos);
  EXPECT_NE(words(run("show", {{"name", "x"}, {"nids", {1}}})).find("expected a list of strings"),
            std::string::npos);
  EXPECT_NE(words(run("set", {{"x", 1}})).find("expected no argument"), std::string::npos);
  EXPECT_EQ(words(run("set")), "not now");
  EXPECT_NE(words(run("throw")).find("'throw' failed: a library's"), std::string::npos);
}

TEST_F(VerbTableTest, ReadersCannotChangeAnything) {
  EXPECT_TRUE(*run("show", {{"name", "x"}}, false));
  const auto refused = run("set", nlohmann::json::object(), false);
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().faults[0].code, Errc::kNotPermitted);
  EXPECT_NE(words(refused).find("user 1000 has read access only"), std::string::npos);
}

TEST(MayChange, IsForRootTheNodesUserAndItsGroup) {
  const AccessRule rule{.own_uid = 500, .group = 77};
  EXPECT_TRUE(may_change(rule, {.uid = 0, .gid = 0}));
  EXPECT_TRUE(may_change(rule, {.uid = 500, .gid = 1}));
  EXPECT_TRUE(may_change(rule, {.uid = 1000, .gid = 77}));
  EXPECT_TRUE(may_change(rule, {.uid = 1000, .gid = 1, .groups = {4, 77}}));
  EXPECT_FALSE(may_change(rule, {.uid = 1000, .gid = 1000, .groups = {4, 78}}));
  EXPECT_FALSE(may_change({.own_uid = 500}, {.uid = 1000, .gid = 77}));
  EXPECT_FALSE(may_change({.own_uid = 500}, Caller{})) << "nobody known";
}

TEST(ControlSocketPath, ComesFromTheInstance) {
  EXPECT_EQ(control_socket_path("").value(), "/run/plnet/control.sock");
  EXPECT_EQ(control_socket_path("leg-2_a").value(), "/run/plnet/leg-2_a.sock");
  for (const char* name : {"../x", "a/b", ".", "a b", "ä", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    const auto refused = control_socket_path(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().what.find("expected 1 to 32"), std::string::npos);
  }
}

TEST(FindUserAndGroup, ByNameOrNumber) {
  EXPECT_EQ(find_user("root").value(), 0U);
  EXPECT_EQ(find_user("12").value(), 12U);
  EXPECT_EQ(find_group("root").value(), 0U);
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(3'999'999), "3999999");
  EXPECT_FALSE(find_user("no such user"));
  EXPECT_FALSE(find_group("4294967295")) << "-1 means no process to the kernel";
}

TEST_F(VerbTableTest, SuccessfulChangesAreAudited) {
  std::vector<std::string> audited;
  table_.add({.words = "route del", .args = {{.name = "net"}}},
             [this](const nlohmann::json&, const Caller&, VerbToken token) {
               kept_.push_back(std::move(token));
             });
  table_.set_audit([&](const VerbRow& row, const Caller& caller, const std::string& args) {
    audited.push_back(std::string(row.words) + " by " + std::to_string(caller.uid) + ": " + args);
  });
  EXPECT_TRUE(run("show", {{"name", "x"}}).has_value()) << "it reads only";
  EXPECT_TRUE(run("set").has_value()) << "it fails";
  EXPECT_FALSE(run("route del", {{"net", "tcp1"}}).has_value());
  EXPECT_TRUE(run("route del", {{"net", "tcp2"}}, false).has_value()) << "not permitted";
  EXPECT_TRUE(run("route del", {{"nte", "tcp2"}}).has_value()) << "no such argument";
  EXPECT_TRUE(audited.empty()) << audited[0];
  ASSERT_EQ(kept_.size(), 1U);
  kept_[0].finish(Json::object());
  EXPECT_EQ(audited, (std::vector<std::string>{"route del by 1000: net=tcp1"}));
}

TEST(ArgsText, IsOneLineForAnyArguments) {
  EXPECT_EQ(args_text(nlohmann::json::object()), "");
  EXPECT_EQ(args_text({{"all", true}, {"hop", 1}, {"net", "tcp1"}, {"nid", {"a@tcp", "b@tcp"}}}),
            "all=true hop=1 net=tcp1 nid=a@tcp,b@tcp");
  EXPECT_EQ(args_text({{"text", "net:\n  - x\n"}}), "text=(11 bytes)");
  const std::string long_text(1000, 'x');
  EXPECT_EQ(args_text({{"a", long_text}}), "a=" + std::string(kArgTextMax - 3, 'x') + "...");
  nlohmann::json many;
  for (int i = 0; i < 100; ++i)
    many["n" + std::to_string(i)] = nlohmann::json::array({long_text, long_text});
  EXPECT_EQ(args_text(many).size(), kArgsTextMax);
}

TEST_F(VerbTableTest, ATokenThatIsDroppedAnswersAborted) {
  std::vector<VerbReply> replies;
  table_.run({1, "later", nlohmann::json::object()}, {},
             [&](const VerbReply& reply) { replies.push_back(reply); });
  table_.run({2, "later", nlohmann::json::object()}, {},
             [&](const VerbReply& reply) { replies.push_back(reply); });
  ASSERT_EQ(kept_.size(), 2U);
  EXPECT_TRUE(replies.empty());
  kept_[0].finish(Json{{"done", true}});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0]);
  kept_.clear();
  ASSERT_EQ(replies.size(), 2U);
  ASSERT_FALSE(replies[1]);
  EXPECT_EQ(replies[1].error().faults[0].code, Errc::kAborted);
  table_.run({3, "later", {{"throw", true}}}, {},
             [&](const VerbReply& reply) { replies.push_back(reply); });
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_FALSE(replies[2]);
}

}  // namespace
}  // namespace plnet::runtime
