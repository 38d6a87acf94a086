// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/lst.hpp"

#include "tests/unit/apps/lnet-selftest/lst/shell_fixture.hpp"

namespace plnet::lst::lst_test {
namespace {

using LstTest = ShellTest;

TEST_F(LstTest, Environment) {
  Shell read;
  ASSERT_TRUE(read_environment(nullptr, nullptr, read));
  EXPECT_EQ(read.key, 0U);
  EXPECT_EQ(read.features, 1U);
  ASSERT_TRUE(read_environment("1234", "0", read));
  EXPECT_EQ(read.key, 1234U);
  EXPECT_EQ(read.features, 0U);
  ASSERT_TRUE(read_environment("x", "1", read));
  EXPECT_EQ(read.key, 0U);
  const auto wrong = read_environment("1", "1f", read);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().what,
            "Unsupported session features 1e, only support these features so far: 1");
}

TEST_F(LstTest, WithoutAKeyMostCommandsFail) {
  shell.key = 0;
  for (const char* const command :
       {"end_session", "ping", "add_group", "del_group", "update_group", "list_group", "stat",
        "show_error", "add_batch", "run", "stop", "list_batch", "query", "add_test"}) {
    EXPECT_EQ(run({command}), -1) << command;
    EXPECT_EQ(err.take(), "Can't find env LST_SESSION or value is not valid\n") << command;
    EXPECT_TRUE(asked.empty());
  }
  EXPECT_EQ(out.take(), "");
}

TEST_F(LstTest, CommandsAreListedAndExplained) {
  EXPECT_EQ(run({"--list-commands"}), 0);
  const std::string list = out.take();
  EXPECT_EQ(std::ranges::count(list, '\n'), 16);
  for (const char* const command : {"new_session", "update_group", "show_error", "add_test"})
    EXPECT_NE(list.find(std::string(command) + "\n"), std::string::npos) << command;
  EXPECT_EQ(run({"help", "stat"}), 0);
  EXPECT_TRUE(out.take().starts_with("Usage: lst stat "));
  EXPECT_EQ(run({"help"}), 0);
  EXPECT_NE(out.take().find("add_batch"), std::string::npos);
  EXPECT_EQ(run({"help", "fly"}), -1);
  EXPECT_EQ(run({"fly"}), -1);
  EXPECT_EQ(err.take().substr(0, 26), "lst: 'fly' is not a comman");
}

TEST_F(LstTest, WrongOptionsShowTheUsage) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "--fast"},
                                                {"run", "a", "b"},
                                                {"add_group", "g"},
                                                {"stat"},
                                                {"del_group"},
                                                {"query", "--loop"}}) {
    EXPECT_EQ(run(words), -1) << words[0];
    EXPECT_NE(err.take().find("Usage: lst " + words[0]), std::string::npos) << words[0];
    EXPECT_TRUE(asked.empty());
  }
}

TEST_F(LstTest, ThePromptGoesOnAfterErrors) {
  std::string lines = "list_group\n\n# nothing\nfly\nadd_batch 'a b'\nquit\nadd_batch c\n";
  shell.in = ::fmemopen(lines.data(), lines.size(), "r");
  answer("list_groups", Json::array());
  answer("add_batch", Json::object());
  EXPECT_EQ(run_lst({}, shell, true), 0);
  std::fclose(shell.in);
  EXPECT_EQ(out.take(), "lst > Total 0 groups\nlst > lst > lst > lst > lst > ");
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[1], R"(lst add_batch {"batch":"a b","key":7})");
}

TEST_F(LstTest, ErrnosHaveTheirWords) {
  const auto words = [this](int number) {
    console.clear();
    refuse("add_batch", number);
    EXPECT_EQ(run({"add_batch", "b"}), -1);
    return err.take();
  };
  EXPECT_EQ(words(ESRCH), "No session exists\n");
  EXPECT_EQ(words(ESHUTDOWN), "Session is shutting down\n");
  EXPECT_EQ(words(EACCES), "Unmatched session key or not root\n");
  EXPECT_EQ(words(ENOENT), "Can't find batch in current session\n");
  EXPECT_EQ(words(EINVAL), "Invalid parameters list in command line\n");
  EXPECT_EQ(words(EFAULT), "Bad parameter address\n");
  EXPECT_EQ(words(EEXIST), "batch already exists\n");
  EXPECT_EQ(words(EBUSY), "Failed to create batch: Device or resource busy\n");
}

}  // namespace
}  // namespace plnet::lst::lst_test
