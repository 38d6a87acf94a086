// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/apps/lnet-selftest/lst/shell_fixture.hpp"

namespace plnet::lst::stat_commands_test {
namespace {

class StatCommands : public ShellTest {
 protected:
  StatCommands() { answer("list_groups", to_json(std::vector<std::string>{"s"})); }
  static selftest::NodeResult counted(unsigned number, std::uint32_t ms, std::uint32_t messages) {
    selftest::StatSeen seen;
    seen.framework.running_ms = ms;
    seen.lnet.receive_count = messages;
    seen.lnet.send_count = 2 * messages;
    auto result = good(number);
    result.seen = seen;
    return result;
  }
};

TEST_F(StatCommands, TheFirstSampleOnlyBeginsAnInterval) {
  answer("stat", transaction({counted(1, 0, 0)}));
  answer("stat", transaction({counted(1, 5000, 50)}));
  answer("stat", transaction({counted(1, 10000, 150)}));
  EXPECT_EQ(run({"stat", "--rate", "--avg", "--count", "2", "s"}), 0);
  EXPECT_EQ(out.take(),
            "[LNet Rates of s]\n[R] Avg: 10       RPC/s \n[W] Avg: 20       RPC/s \n"
            "[LNet Rates of s]\n[R] Avg: 20       RPC/s \n[W] Avg: 40       RPC/s \n");
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(asked, (std::vector<std::string>{R"(lst list_groups {"key":7})",
                                             R"(lst stat {"group":"s","key":7,"timeout":5})",
                                             R"(lst stat {"group":"s","key":7,"timeout":5})",
                                             R"(lst stat {"group":"s","key":7,"timeout":5})"}));
}

TEST_F(StatCommands, ReadAndWriteAreTheLinesThatTheKernelPrints) {
  answer("stat", transaction({counted(1, 0, 0)}));
  answer("stat", transaction({counted(1, 1000, 1)}));
  EXPECT_EQ(run({"stat", "--bw", "--read", "-x", "--count", "1", "-d", "1", "s"}), 0);
  EXPECT_EQ(out.take(), "[LNet Bandwidth of s]\n[W] Max: 0.00     MiB/s \n");
  console["lst stat"] = {transaction({counted(1, 0, 0)}), transaction({counted(1, 1000, 1)})};
  EXPECT_EQ(run({"stat", "-a", "-w", "-n", "-m", "--count", "1", "s"}), 0);
  EXPECT_EQ(out.take(), "[LNet Rates of s]\n[R] Min: 1        RPC/s \n");
}

TEST_F(StatCommands, NodesByName) {
  answer("stat", transaction({counted(1, 0, 0)}));
  EXPECT_EQ(run({"stat", "--count", "0", "10.0.0.1@tcp"}), 0);
  EXPECT_EQ(asked.back(), R"(lst stat {"key":7,"nodes":["12345-10.0.0.1@tcp"],"timeout":5})");
  EXPECT_EQ(run({"stat", "nobody"}), -1);
  EXPECT_TRUE(err.take().starts_with("Failed to get count of nodes from nobody: "));
  refuse("stat", ENOENT);
  console["lst stat"].erase(console["lst stat"].begin());
  EXPECT_EQ(run({"stat", "s"}), -1);
  EXPECT_EQ(err.take(), "Can't find stat in current session\n");
}

TEST_F(StatCommands, FailuresAndChanges) {
  answer("stat", transaction({counted(1, 0, 0), counted(2, 0, 0)}));
  answer("stat", transaction({counted(1, 1000, 1), silent(2), counted(3, 0, 0)}));
  EXPECT_EQ(run({"stat", "--rate", "-g", "--write", "--count", "1", "s"}), -2);
  EXPECT_EQ(out.take(), "Failed to stat on 1 nodes\n[LNet Rates of s]\n[R] Avg: 1        RPC/s \n");
  EXPECT_EQ(err.take(), "Group is changed, re-run stat\n");
  console["lst stat"] = {transaction({counted(1, 0, 0)}), transaction({counted(1, 1000, 1)})};
  EXPECT_EQ(run({"stat", "--rpc", "--count", "1", "s"}), 0);
  EXPECT_EQ(out.take(), "");
  EXPECT_EQ(run({"stat", "--timeout", "0", "s"}), -1);
  EXPECT_EQ(err.take(), "Invalid timeout or delay value\n");
  EXPECT_EQ(run({"stat", "--count", "-2", "s"}), -1);
  EXPECT_EQ(err.take(), "Invalid count value\n");
}

TEST_F(StatCommands, ShowError) {
  auto bad = counted(1, 0, 0);
  std::get<selftest::StatSeen>(bad.seen).framework.brw_errors = 2;
  std::get<selftest::StatSeen>(bad.seen).rpc = {.errors = 3, .dropped = 4, .expired = 5};
  auto shaky = counted(2, 0, 0);
  std::get<selftest::StatSeen>(shaky.seen).rpc.errors = 1;
  answer("stat", transaction({bad, shaky, counted(3, 0, 0), silent(4), refusing(5, ESRCH)}));
  EXPECT_EQ(run({"show_error", "s"}), -2);
  EXPECT_EQ(out.take(), "s:\nTotal 4 error nodes in s\n");
  EXPECT_EQ(err.take(),
            "12345-10.0.0.1@tcp: [Session 2 brw errors, 0 ping errors] "
            "[RPC: 3 errors, 4 dropped, 5 expired]\n"
            "12345-10.0.0.2@tcp: [Session 0 brw errors, 0 ping errors] "
            "[RPC: 1 errors, 0 dropped, 0 expired]\n"
            "RPC failure, can't show error on 12345-10.0.0.4@tcp\n"
            "Framework failure, can't show error on 12345-10.0.0.5@tcp\n");
  EXPECT_EQ(run({"show_error", "--session", "s"}), -2);
  EXPECT_EQ(out.take(), "s:\nTotal 3 error nodes in s\n");
  EXPECT_TRUE(
      err.take().starts_with("12345-10.0.0.1@tcp: [Session 2 brw errors, 0 ping errors]\nRPC "));
  EXPECT_EQ(asked.back(), R"(lst stat {"group":"s","key":7,"timeout":10})");
}

}  // namespace
}  // namespace plnet::lst::stat_commands_test
