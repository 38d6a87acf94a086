// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/apps/lnet-selftest/lst/shell_fixture.hpp"

namespace plnet::lst::batch_commands_test {
namespace {

using selftest::NodeState;

class BatchCommands : public ShellTest {
 protected:
  static selftest::NodeResult running(unsigned number, std::uint32_t active) {
    auto result = good(number);
    result.seen = selftest::QuerySeen{active};
    return result;
  }
};

TEST_F(BatchCommands, AddBatch) {
  answer("add_batch", Json::object());
  EXPECT_EQ(run({"add_batch", "b"}), 0);
  EXPECT_EQ(out.take(), "");
  EXPECT_EQ(run({"add_batch", std::string(32, 'b')}), -1);
  EXPECT_EQ(err.take(), "Name length is limited to 31\n");
}

TEST_F(BatchCommands, AddTest) {
  answer("add_test", transaction({good(1)}));
  EXPECT_EQ(run({"add_test", "--batch", "b", "-l", "-1", "--concurrency", "8", "-d", "2:1",
                 "--from", "c", "--to", "s", "brw", "WRITE", "check=full", "size=1M"}),
            0);
  EXPECT_EQ(out.take(), "Test was added successfully\n");
  EXPECT_EQ(asked.front(),
            "lst add_test "
            R"({"key":7,"test":{"batch":"b","brw":{"check":3,"client_offset":0,"length":1048576,)"
            R"("operation":2,"server_offset":0},"concurrency":8,"distribute":2,"from":"c",)"
            R"("loop":-1,"nodes_know_discard":false,"span":1,"to":"s"}})");
  EXPECT_EQ(run({"add_test", "--from", "c", "--to", "s", "ping"}), 0);
  EXPECT_NE(asked.front().find(R"("batch":"batch")"), std::string::npos);
  EXPECT_NE(asked.front().find(R"("ping":{})"), std::string::npos);
}

TEST_F(BatchCommands, AddTestRefusesBadWords) {
  const std::vector<std::string> sides{"--from", "c", "--to", "s"};
  const auto words = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"add_test"};
    all.insert(all.end(), sides.begin(), sides.end());
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(run(all), -1);
    EXPECT_TRUE(asked.empty());
    return err.take();
  };
  EXPECT_EQ(words({"-c", "0", "ping"}), "Invalid concurrency of test: 0\n");
  EXPECT_EQ(words({"-c", "1025", "ping"}), "Invalid concurrency of test: 1025\n");
  EXPECT_EQ(words({"-d", "1-1", "ping"}), "Invalid distribution: 1-1\n");
  EXPECT_EQ(words({"brw", "size=9M"}),
            "Size exceed limitation: 9437184 bytes\nFailed to add test (brw)\n");
  EXPECT_EQ(words({"dd"}), "Unknow test name dd\nFailed to add test (dd)\n");
  EXPECT_EQ(run({"add_test", "--from", "c", "ping"}), -1);
  EXPECT_NE(err.take().find("Usage: lst add_test"), std::string::npos);
}

TEST_F(BatchCommands, NodesThatDoNotAgree) {
  answer("add_test", transaction({good(1), refusing(2, ENOMEM), silent(3, EHOSTUNREACH)}));
  EXPECT_EQ(run({"add_test", "--from", "c", "--to", "s", "ping"}), -2);
  EXPECT_EQ(out.take(), "");
  EXPECT_EQ(err.take(),
            "operation add test failed on 12345-10.0.0.2@tcp: Cannot allocate memory\n"
            "add test RPC failed on 12345-10.0.0.3@tcp: No route to host\n");
  answer("run", transaction({refusing(2, ENOENT)}));
  EXPECT_EQ(run({"run"}), -3);
  EXPECT_EQ(err.take(),
            "operation Run batch failed on 12345-10.0.0.2@tcp: No such file or directory\n");
}

TEST_F(BatchCommands, Run) {
  answer("run", transaction({good(1)}));
  EXPECT_EQ(run({"run", "--timeout", "9", "b"}), 0);
  EXPECT_EQ(out.take(), "b is running now\n");
  EXPECT_EQ(asked.front(), R"(lst run {"batch":"b","key":7,"timeout":9})");
  EXPECT_EQ(run({"run"}), 0);
  EXPECT_EQ(out.take(), "batch is running now\n");
}

TEST_F(BatchCommands, StopWaitsUntilNothingRuns) {
  answer("stop", transaction({good(1), good(2)}));
  answer("query", transaction({running(1, 1), running(2, 2)}));
  answer("query", transaction({running(1, 0), running(2, 2)}));
  answer("query", transaction({running(1, 0), running(2, 0)}));
  EXPECT_EQ(run({"stop", "-f", "b"}), 0);
  EXPECT_EQ(out.take(), "2 batch in stopping\n1 batch in stopping\nBatch is stopped\n");
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(asked[0], R"(lst stop {"batch":"b","force":true,"key":7})");
  EXPECT_EQ(asked[1], R"(lst query {"batch":"b","key":7,"servers":false,"test":0,"timeout":30})");
}

TEST_F(BatchCommands, StopEndsWithTheFirstFailure) {
  answer("stop", transaction({good(1)}));
  answer("query", transaction({silent(1)}));
  EXPECT_EQ(run({"stop"}), -2);
  EXPECT_EQ(err.take(), "stop batch RPC failed on 12345-10.0.0.1@tcp: Connection timed out\n");
  console.clear();
  refuse("stop", ENOENT);
  EXPECT_EQ(run({"stop"}), -1);
  EXPECT_EQ(err.take(), "Can't find batch in current session\n");
}

TEST_F(BatchCommands, ListBatch) {
  answer("list_batches", to_json(std::vector<std::string>{"batch", "b"}));
  EXPECT_EQ(run({"list_batch"}), 0);
  EXPECT_EQ(out.take(), "1) batch\n2) b\nTotal 2 batches\n");
  answer("batch_info", to_json(selftest::BatchInfo{.id = 2,
                                                   .name = "b",
                                                   .tests = 1,
                                                   .state = selftest::BatchState::kRunning,
                                                   .clients = {.active = 2},
                                                   .servers = {.active = 1, .down = 1}}));
  answer("test_info", to_json(selftest::TestInfo{.service = selftest::Service::kBrw,
                                                 .loop = -1,
                                                 .concurrency = 8,
                                                 .clients = {.active = 2},
                                                 .servers = {.unknown = 1}}));
  const std::string test =
      "\tTest 1(brw) (loop: -1, concurrency: 8)\n"
      "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n"
      "client\t2\t0\t0\t0\t2\nserver\t0\t0\t0\t1\t1\n";
  EXPECT_EQ(run({"list_batch", "b"}), 0);
  EXPECT_EQ(out.take(),
            "Batch: b Tests: 1 State: 177\n"
            "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n"
            "client\t2\t0\t0\t0\t2\nserver\t1\t0\t1\t0\t2\n" +
                test);
  EXPECT_EQ(run({"list_batch", "--test", "1", "b"}), 0);
  EXPECT_EQ(out.take(), test);
  EXPECT_EQ(run({"list_batch", "-t", "0", "b"}), -1);
  EXPECT_EQ(err.take(), "Invalid test id, test id starts from 1\n");
}

TEST_F(BatchCommands, ListBatchNamesNodes) {
  answer("batch_nodes", to_json(std::vector<selftest::NodeInfo>{{node(1), NodeState::kActive},
                                                                {node(2), NodeState::kDown}}));
  EXPECT_EQ(run({"list_batch", "-a", "b"}), 0);
  EXPECT_EQ(out.take(), "\t12345-10.0.0.1@tcp: Active\nTotal 1 nodes\n");
  EXPECT_EQ(run({"list_batch", "-i", "-s", "-t", "2", "b"}), 0);
  EXPECT_EQ(out.take(), "\t12345-10.0.0.2@tcp: Down\nTotal 1 nodes\n");
  EXPECT_EQ(asked.front(),
            R"(lst batch_nodes {"batch":"b","key":7,"servers":true,"states":15,"test":2})");
  EXPECT_EQ(run({"list_batch", "--all", "b"}), 0);
  EXPECT_NE(out.take().find("Total 2 nodes\n"), std::string::npos);
  console.clear();
  refuse("batch_nodes", ENOENT);
  EXPECT_EQ(run({"list_batch", "-a", "-t", "9", "b"}), -1);
  EXPECT_EQ(err.take(), "Can't find test in current session\n");
}

TEST_F(BatchCommands, QueryShowsTheStateOfABatch) {
  const auto says = [this](std::vector<selftest::NodeResult> nodes) {
    console.clear();
    answer("query", transaction(std::move(nodes)));
    (void)run({"query", "b"});
    return out.take();
  };
  EXPECT_EQ(says({running(1, 0), running(2, 0)}), "b [0] is stopped\n");
  EXPECT_EQ(says({running(1, 3), running(2, 1)}), "b [0] is running\n");
  EXPECT_EQ(says({running(1, 3), running(2, 0)}), "b [0] stopped: 1 , running: 1, failed: 0\n");
  EXPECT_EQ(says({running(1, 3), refusing(2, ENOENT)}),
            "b [0] stopped: 0 , running: 1, failed: 1\n");
  EXPECT_EQ(says({running(1, 3), silent(2)}),
            "b [0] 1 of 2 nodes are unknown, stopped: 0 , running: 1, failed: 0\n");
}

TEST_F(BatchCommands, QueryLoopsAndNamesNodes) {
  answer("query", transaction({running(1, 3), running(2, 0), silent(3)}));
  EXPECT_EQ(run({"query", "--all", "-c", "2", "-d", "3", "-t", "1", "-o", "9"}), -2);
  const std::string lines =
      "12345-10.0.0.1@tcp [Active]: Running\n12345-10.0.0.2@tcp [Active]: Idle\n"
      "12345-10.0.0.3@tcp [Down]: Connection timed out\n";
  EXPECT_EQ(out.take(), lines + lines);
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(asked.back(),
            R"(lst query {"batch":"batch","key":7,"servers":false,"test":1,"timeout":9})");
  EXPECT_EQ(run({"query", "-a"}), -2);
  EXPECT_EQ(out.take(), "12345-10.0.0.1@tcp [Active]: Running\n");
  console.clear();
  answer("query", transaction({}));
  EXPECT_EQ(run({"query", "--idle", "b"}), 0);
  EXPECT_EQ(out.take(), "Batch or test is empty\n");
  EXPECT_EQ(run({"query", "--loop", "0"}), -1);
  EXPECT_EQ(run({"query", "--delay", "0"}), -1);
}

}  // namespace
}  // namespace plnet::lst::batch_commands_test
