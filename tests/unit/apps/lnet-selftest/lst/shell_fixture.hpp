// SPDX-License-Identifier: BSD-3-Clause
// lst with a console whose answers a test sets, and with files that it can read.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/lst/lst.hpp"
#include "tests/mocks/text_file.hpp"

namespace plnet::lst {

class ShellTest : public testing::Test {
 protected:
  ShellTest() {
    shell.out = out.file();
    shell.err = err.file();
    shell.key = 7;
    shell.parent = 4242;
    shell.default_name = "root@a";
    shell.ask = [this](std::string_view verb, const Shell::Args& args) -> Shell::Asked {
      asked.push_back(std::string(verb) + " " + args.dump());
      auto& answers = console[std::string(verb)];
      if (answers.empty()) return std::unexpected(Refusal{ENOSYS, "the test has no answer"});
      Shell::Asked answer = answers.front();
      if (answers.size() > 1) answers.erase(answers.begin());
      return answer;
    };
    shell.ask_for_session = [this](const Shell::Args& args) {
      return shell.ask("lst new_session", args);
    };
    shell.pause = [this](std::chrono::seconds time) {
      pauses.push_back(time.count());
      clock += time;
    };
    shell.now = [this] { return clock; };
  }
  // The answers to the next commands of this verb, in order; the last one repeats.
  void answer(const std::string& verb, Shell::Asked with) {
    console["lst " + verb].push_back(std::move(with));
  }
  void refuse(const std::string& verb, int number) {
    answer(verb, std::unexpected(Refusal{number, {}}));
  }
  int run(std::vector<std::string> words) {
    asked.clear();
    return run_lst(words, shell, false);
  }
  static lnet::ProcessId node(unsigned number) {
    return {lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000U + number), lnet::kLustrePid};
  }
  static selftest::NodeResult good(unsigned number) {
    return {.id = node(number), .state = selftest::NodeState::kActive};
  }
  static selftest::NodeResult silent(unsigned number, int why = ETIMEDOUT) {
    return {.id = node(number), .state = selftest::NodeState::kDown, .rpc_errno = why};
  }
  static selftest::NodeResult refusing(unsigned number, std::uint32_t status) {
    return {
        .id = node(number), .state = selftest::NodeState::kBusy, .status = status, .refused = true};
  }
  // A result with the counts of its nodes.
  static selftest::TransactionResult result_of(std::vector<selftest::NodeResult> nodes) {
    selftest::TransactionResult result;
    result.features = 1;
    for (const auto& each : nodes) {
      if (each.rpc_errno != 0) {
        ++result.rpcs_failed;
        if (result.rpc_errno == 0) result.rpc_errno = each.rpc_errno;
      } else if (each.refused) {
        ++result.refused;
        if (result.framework_errno == 0) result.framework_errno = static_cast<int>(each.status);
      } else if (const auto* const query = std::get_if<selftest::QuerySeen>(&each.seen)) {
        ++(query->active > 0 ? result.running : result.idle);
      }
    }
    result.nodes = std::move(nodes);
    return result;
  }
  static Json transaction(std::vector<selftest::NodeResult> nodes) {
    return to_json(result_of(std::move(nodes)));
  }

  TextFile out;
  TextFile err;
  Shell shell;
  std::map<std::string, std::vector<Shell::Asked>> console;
  std::vector<std::string> asked;
  std::vector<std::int64_t> pauses;
  std::chrono::seconds clock{1000};
};

}  // namespace plnet::lst
