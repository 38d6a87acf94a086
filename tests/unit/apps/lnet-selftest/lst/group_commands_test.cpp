// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/apps/lnet-selftest/lst/shell_fixture.hpp"

namespace plnet::lst::group_commands_test {
namespace {

using selftest::NodeState;
using GroupCommands = ShellTest;

TEST_F(GroupCommands, AddGroup) {
  answer("add_group", Json::object());
  answer("add_nodes", transaction({good(1)}));
  EXPECT_EQ(run({"add_group", "g", "10.0.0.[1-2]@tcp", "10.0.0.9@tcp"}), 0);
  EXPECT_EQ(out.take(),
            "10.0.0.[1-2]@tcp are added to session\n10.0.0.9@tcp are added to session\n");
  EXPECT_EQ(asked, (std::vector<std::string>{
                       R"(lst add_group {"group":"g","key":7})",
                       R"(lst add_nodes {"group":"g","key":7,"nodes":["12345-10.0.0.1@tcp",)"
                       R"("12345-10.0.0.2@tcp"]})",
                       R"(lst add_nodes {"group":"g","key":7,"nodes":["12345-10.0.0.9@tcp"]})"}));
}

TEST_F(GroupCommands, NamesStandBehindNidsOnKfi) {
  shell.names = runtime::NicNames::parse("2 login1\n", "names").value();
  answer("add_group", Json::object());
  answer("add_nodes", transaction({good(1)}));
  EXPECT_EQ(run({"add_group", "g", "2@kfi"}), 0);
  EXPECT_EQ(out.take(), "2@kfi are added to session  # login1\n");
}

TEST_F(GroupCommands, OldNodesMakeTheSessionCompatible) {
  answer("add_group", Json::object());
  auto result = result_of({good(1)});
  result.features = 0;
  answer("add_nodes", to_json(result));
  EXPECT_EQ(run({"add_group", "g", "10.0.0.1@tcp"}), 0);
  EXPECT_EQ(out.take(),
            "10.0.0.1@tcp are added to session\n"
            "Warning, this session will run with compatible mode because some test nodes might "
            "not understand these features: 1\n");
}

TEST_F(GroupCommands, AnEmptyGroupIsRemoved) {
  answer("add_group", Json::object());
  answer("add_nodes", transaction({silent(1), refusing(2, EBUSY)}));
  answer("del_group", transaction({}));
  EXPECT_EQ(run({"add_group", "g", "10.0.0.[1-2]@tcp", "10.0.0.3@tcp"}), -2);
  EXPECT_EQ(out.take(), "Group is deleted\n");
  EXPECT_EQ(err.take(),
            "create session RPC failed on 12345-10.0.0.1@tcp: Connection timed out\n"
            "operation create session failed on 12345-10.0.0.2@tcp: Device or resource busy\n"
            "No nodes added successfully, deleting group g\n");
  EXPECT_EQ(asked.size(), 3U);  // commands after a failure are not tried
}

TEST_F(GroupCommands, OtherFeaturesAreExplained) {
  answer("add_group", Json::object());
  answer("add_nodes", transaction({refusing(1, EPROTO)}));
  answer("del_group", transaction({}));
  EXPECT_EQ(run({"add_group", "g", "10.0.0.1@tcp"}), -3);
  EXPECT_TRUE(err.take().starts_with(
      "test nodes might have different LST features, please disable some features by setting "
      "LST_FEATURES\noperation create session failed on 12345-10.0.0.1@tcp: Protocol error\n"));
}

TEST_F(GroupCommands, WordsThatAreNoNodesAreLeftOut) {
  answer("add_group", Json::object());
  answer("add_nodes", transaction({good(1)}));
  EXPECT_EQ(run({"add_group", "g", "nobody", "10.0.0.1@tcp"}), 0);
  EXPECT_TRUE(err.take().starts_with("Ignore invalid id list nobody\n"));
  EXPECT_EQ(run({"add_group", std::string(32, 'g'), "10.0.0.1@tcp"}), -1);
  EXPECT_EQ(err.take(), "Name length is limited to 31\n");
  console.clear();
  refuse("add_group", EEXIST);
  EXPECT_EQ(run({"add_group", "g", "10.0.0.1@tcp"}), -1);
  EXPECT_EQ(err.take(), "group already exists\n");
}

TEST_F(GroupCommands, DelGroup) {
  answer("del_group", transaction({good(1)}));
  EXPECT_EQ(run({"del_group", "g"}), 0);
  EXPECT_EQ(out.take(), "Group is deleted\n");
  console.clear();
  answer("del_group", transaction({silent(1), refusing(2, EPERM)}));
  EXPECT_EQ(run({"del_group", "g"}), -1);
  EXPECT_EQ(err.take(),
            "Group is deleted with some errors\n"
            "[RPC] Failed to send 1 end session RPCs: Connection timed out\n"
            "[FWK] Failed to end session on 1 nodes: Operation not permitted\n");
  console.clear();
  refuse("del_group", EBUSY);
  EXPECT_EQ(run({"del_group", "g"}), -1);
  EXPECT_EQ(err.take(), "Failed to delete group: Device or resource busy\n");
}

TEST_F(GroupCommands, UpdateGroup) {
  answer("refresh_group", transaction({good(1)}));
  answer("remove_nodes", transaction({silent(1)}));
  answer("clean_group", Json::object());
  EXPECT_EQ(run({"update_group", "g", "--refresh"}), 0);
  EXPECT_EQ(run({"update_group", "-r", "10.0.0.1@tcp", "g"}), -2);
  EXPECT_EQ(err.take(), "Updating group RPC failed on 12345-10.0.0.1@tcp: Connection timed out\n");
  for (const auto& [state, mask] :
       {std::pair("active", 1), std::pair("busy", 2), std::pair("down", 4), std::pair("unknown", 8),
        std::pair("invalid", 14)}) {
    EXPECT_EQ(run({"update_group", "g", "--clean", state}), 0);
    EXPECT_NE(asked.front().find("\"states\":" + std::to_string(mask)), std::string::npos) << state;
  }
  EXPECT_EQ(out.take(), "");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"update_group", "g"},
                                                {"update_group", "g", "-f", "-c", "busy"},
                                                {"update_group", "g", "-c", "odd"},
                                                {"update_group", "-f"}}) {
    EXPECT_EQ(run(words), -1);
    EXPECT_TRUE(asked.empty());
  }
}

TEST_F(GroupCommands, ListGroup) {
  answer("list_groups", to_json(std::vector<std::string>{"c", "s"}));
  EXPECT_EQ(run({"list_group"}), 0);
  EXPECT_EQ(out.take(), "1) c\n2) s\nTotal 2 groups\n");
  answer("group_info",
         to_json(selftest::GroupInfo{"c", {.active = 1, .busy = 2, .down = 3, .unknown = 4}}));
  EXPECT_EQ(run({"list_group", "c"}), 0);
  EXPECT_EQ(out.take(), "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n\t1\t2\t3\t4\t10\tc\n");
  answer("group_nodes", to_json(std::vector<selftest::NodeInfo>{{node(1), NodeState::kActive},
                                                                {node(2), NodeState::kDown},
                                                                {node(3), NodeState::kBusy}}));
  EXPECT_EQ(run({"list_group", "-a", "--down", "c"}), 0);
  EXPECT_EQ(out.take(),
            "Group [ c ]\n\t12345-10.0.0.1@tcp: Active\n\t12345-10.0.0.2@tcp: Down\n"
            "Total 2 nodes [ c ]\n");
  EXPECT_EQ(run({"list_group", "-l", "c"}), 0);
  EXPECT_NE(out.take().find("Total 3 nodes [ c ]\n"), std::string::npos);
  console.clear();
  answer("group_nodes", to_json(std::vector<selftest::NodeInfo>{}));
  EXPECT_EQ(run({"list_group", "--all", "c"}), 0);
  EXPECT_EQ(out.take(), "Group [ c ]\nNo nodes found [ c ]\n");
}

}  // namespace
}  // namespace plnet::lst::group_commands_test
