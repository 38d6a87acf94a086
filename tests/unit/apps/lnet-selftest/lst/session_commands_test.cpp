// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/apps/lnet-selftest/lst/shell_fixture.hpp"

namespace plnet::lst::session_commands_test {
namespace {

using SessionCommands = ShellTest;

TEST_F(SessionCommands, NewSession) {
  answer("new_session", transaction({}));
  EXPECT_EQ(run({"new_session", "--timeout", "60", "-f", "night"}), 0);
  EXPECT_EQ(out.take(), "SESSION: night FEATURES: 1 TIMEOUT: 60 FORCE: Yes\n");
  EXPECT_EQ(asked.front(),
            "lst new_session "
            R"({"features":1,"force":true,"key":7,"name":"night","timeout":60})");
  shell.features = 0;
  EXPECT_EQ(run({"new_session"}), 0);
  EXPECT_EQ(out.take(), "SESSION: root@a FEATURES: 0 TIMEOUT: 300 FORCE: No\n");
  EXPECT_EQ(err.take(), "");
}

TEST_F(SessionCommands, NewSessionWithoutAKeyTakesThatOfTheShell) {
  shell.key = 0;
  answer("new_session", transaction({}));
  EXPECT_EQ(run({"new_session", "x"}), 0);
  EXPECT_NE(asked.front().find("\"key\":4242"), std::string::npos) << asked.front();
  EXPECT_EQ(err.take(), "LST_SESSION was not set; now: export LST_SESSION=4242\n");
}

TEST_F(SessionCommands, NewSessionRefusesBadWords) {
  for (const char* const timeout : {"0", "-1", "soon", "4294967296"}) {
    EXPECT_EQ(run({"new_session", "--timeout", timeout}), -1);
    EXPECT_EQ(err.take(), "Invalid timeout value\n") << timeout;
  }
  EXPECT_EQ(run({"new_session", std::string(32, 'x')}), -1);
  EXPECT_EQ(err.take(), "Name size is limited to 31\n");
  EXPECT_TRUE(asked.empty());
  refuse("new_session", EEXIST);
  EXPECT_EQ(run({"new_session"}), -1);
  EXPECT_EQ(err.take(), "session already exists\n");
}

TEST_F(SessionCommands, UnsupportedCommandsExplainWhy) {
  answer("new_session", std::unexpected(Refusal{ENODEV, "no node runs here"}));
  EXPECT_EQ(run({"new_session"}), -1);
  EXPECT_EQ(err.take(), "Failed to create session: No such device\n  no node runs here\n");
}

TEST_F(SessionCommands, ShowSession) {
  shell.key = 0;
  answer("show_session", to_json(selftest::SessionInfo{.id = {0x00020000'0a000001, 123456},
                                                       .name = "night",
                                                       .key = 77,
                                                       .features = 1,
                                                       .nodes = 3}));
  EXPECT_EQ(run({"show_session"}), 0);
  EXPECT_EQ(out.take(), "night ID: 123456@10.0.0.1@tcp, KEY: 77 FEATURES: 1 NODES: 3\n");
  console.clear();
  refuse("show_session", ESRCH);
  EXPECT_EQ(run({"show_session"}), -1);
  EXPECT_EQ(err.take(), "No session exists\n");
}

TEST_F(SessionCommands, EndSession) {
  answer("end_session", transaction({good(1)}));
  EXPECT_EQ(run({"end_session"}), 0);
  EXPECT_EQ(out.take(), "session is ended\n");
  console.clear();
  answer("end_session", transaction({silent(1), silent(2), refusing(3, EBUSY), good(4)}));
  EXPECT_EQ(run({"end_session"}), -2);
  EXPECT_EQ(err.take(),
            "[RPC] Failed to send 2 session RPCs: Connection timed out\n"
            "[FWK] Failed to end session on 1 nodes: Device or resource busy\n");
  console.clear();
  answer("end_session", transaction({refusing(3, EBUSY)}));
  EXPECT_EQ(run({"end_session"}), -3);
  EXPECT_EQ(err.take(), "[FWK] Failed to end session on 1 nodes: Device or resource busy\n");
  EXPECT_EQ(out.take(), "");
}

TEST_F(SessionCommands, PingPrintsEveryNode) {
  auto active = good(1);
  active.session = {0x00020000'0a0000ff, 5};
  active.seen = selftest::PingSeen{100, selftest::name_from("night")};
  auto busy = active;
  busy.id = node(2);
  busy.state = selftest::NodeState::kBusy;
  auto unknown = active;
  unknown.id = node(3);
  unknown.state = selftest::NodeState::kUnknown;
  unknown.session = {};
  answer("ping", transaction({active, busy, unknown, silent(4)}));
  EXPECT_EQ(run({"ping", "--group", "g"}), -2);
  EXPECT_EQ(out.take(),
            "\t12345-10.0.0.1@tcp: Active [session: night id: 10.0.0.255@tcp]\n"
            "\t12345-10.0.0.2@tcp: Busy [session: night id: 10.0.0.255@tcp]\n"
            "\t12345-10.0.0.3@tcp: Unknown [session: <NULL> id: <?>]\n"
            "\t12345-10.0.0.4@tcp: Down [session: <NULL> id: <?>]\n");
  EXPECT_EQ(asked.front(),
            "lst ping "
            R"({"key":7,"name":"g","servers":false,"target":"group","timeout":5})");
}

TEST_F(SessionCommands, PingHasOneTarget) {
  answer("ping", transaction({}));
  EXPECT_EQ(run({"ping", "-s", "-t", "9"}), 0);
  EXPECT_EQ(out.take(), "Target session is empty\n");
  EXPECT_NE(asked.front().find(R"("target":"session","timeout":9)"), std::string::npos);
  EXPECT_EQ(run({"ping", "--batch", "b", "--server"}), 0);
  EXPECT_NE(asked.front().find(R"("name":"b","servers":true,"target":"batch")"), std::string::npos);
  EXPECT_EQ(run({"ping", "-n", "10.0.0.[1-2]@tcp"}), 0);
  EXPECT_NE(asked.front().find(R"("nodes":["12345-10.0.0.1@tcp","12345-10.0.0.2@tcp"])"),
            std::string::npos);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"ping"},
                                                {"ping", "-s", "-g", "g"},
                                                {"ping", "-s", "-v"},
                                                {"ping", "-s", "-t", "0"},
                                                {"ping", "-s", "word"}}) {
    EXPECT_EQ(run(words), -1);
    EXPECT_TRUE(asked.empty());
  }
  EXPECT_EQ(run({"ping", "-n", "x"}), -1);
  EXPECT_TRUE(asked.empty());
}

}  // namespace
}  // namespace plnet::lst::session_commands_test
