// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/host_words.hpp"

#include <map>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/run/plan_line.hpp"

namespace plnet::run::host_words_test {
namespace {

using Words = std::vector<std::string>;

class Directory final : public HostDirectory {
 public:
  Outcome<std::string> read_file(const std::string& path) const override {
    const auto file = files.find(path);
    if (file == files.end()) return failure(Errc::kNotFound, "no such file");
    return file->second;
  }
  Outcome<Words> hosts_of_job(const std::string& job) const override {
    const auto found = jobs.find(job);
    if (found == jobs.end()) return failure(Errc::kNotFound, "no such job");
    return found->second;
  }
  Outcome<std::string> address_of(const std::string& host) const override {
    if (!host.starts_with("n")) return failure(Errc::kNotFound, "unknown");
    return "10.0.0." + host.substr(1);
  }

  std::map<std::string, std::string> files{
      {"hosts", "n1\nn2 slots=4\n\n# n9\nn3:8  # the third\n 10.9.9.9@o2ib\r\n"},
      {"a:b", "n7\n"},
      {"bad", "x1\n"},
      {"empty", "\n"}};
  std::map<std::string, Words> jobs{{"17", {"n1", "n2", "n3"}}, {"", {"n4", "n5"}}};
};

Outcome<Words> replaced(Words words) {
  const Directory directory;
  if (const auto done = replace_hosts(words, directory); !done)
    return std::unexpected(done.error());
  return words;
}

TEST(HostWordsTest, HostsOfAFile) {
  EXPECT_EQ(hosts_of_file("n1\nn2 slots=4\n#no\n\tn3:8\nfe80::1\n::1\nn4"),
            (Words{"n1", "n2", "n3", "fe80::1", "::1", "n4"}));
  EXPECT_EQ(hosts_of_file(""), Words{});
}

TEST(HostWordsTest, WordsBecomeNids) {
  EXPECT_EQ(*replaced({"hostfile:hosts@tcp1"}),
            (Words{"10.0.0.1@tcp1", "10.0.0.2@tcp1", "10.0.0.3@tcp1", "10.9.9.9@o2ib"}));
  EXPECT_EQ(*replaced({"hostfile:hosts:2-3"}), (Words{"10.0.0.2@tcp", "10.0.0.3@tcp"}));
  EXPECT_EQ(*replaced({"hostfile:a:b"}), Words{"10.0.0.7@tcp"});
  EXPECT_EQ(*replaced({"slurm:17:2@o2ib3"}), Words{"10.0.0.2@o2ib3"});
  EXPECT_EQ(*replaced({"slurm:"}), (Words{"10.0.0.4@tcp", "10.0.0.5@tcp"}));
  EXPECT_EQ(*replaced({"slurm::2-2"}), Words{"10.0.0.5@tcp"});
  EXPECT_EQ(*replaced({"10.0.0.[8-9]@tcp", "slurm:17:1", "10.0.0.1@tcp"}),
            (Words{"10.0.0.[8-9]@tcp", "10.0.0.1@tcp", "10.0.0.1@tcp"}));
}

TEST(HostWordsTest, WordsThatStandForNothing) {
  const std::map<std::string, std::string> bad{
      {"hostfile:", "expected hostfile:FILE"},
      {"hostfile:hosts@", "expected hostfile:FILE"},
      {"hostfile:none", "no such file"},
      {"hostfile:bad", "host x1: unknown"},
      {"hostfile:empty", "there are 0 hosts"},
      {"hostfile:hosts:3-5", "there are 4 hosts, not 5"},
      {"slurm:18", "no such job"},
      {"slurm:17;reboot", "expected hostfile:FILE or slurm:JOB"},
      {"slurm:17:3-1", "expected hosts like 1-4"},
      {"slurm:17:0", "expected hosts like 1-4"},
      {"slurm:17:x", "expected hosts like 1-4"},
  };
  for (const auto& [word, why] : bad) {
    const auto done = replaced({word});
    ASSERT_FALSE(done.has_value()) << word;
    EXPECT_NE(done.error().what.find(why), std::string::npos) << done.error().what;
  }
}

TEST(HostWordsTest, PlansMayNameThem) {
  const Directory directory;
  apps::Arguments arguments;
  arguments.positional = {"plan.yaml"};
  const auto text = [](const std::string&) -> Outcome<std::string> {
    return "groups: {some: ['slurm:17:2-3']}\nfrom: slurm:17:1\nto: some\n";
  };
  const auto plan = plan_of(arguments, text, &directory);
  ASSERT_TRUE(plan.has_value()) << plan.error().what;
  EXPECT_EQ(plan->from, Words{"12345-10.0.0.1@tcp"});
  EXPECT_EQ(plan->to, (Words{"12345-10.0.0.2@tcp", "12345-10.0.0.3@tcp"}));
  EXPECT_FALSE(plan_of(arguments, text).has_value()) << "without known hosts";
}

}  // namespace
}  // namespace plnet::run::host_words_test
