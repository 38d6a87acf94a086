// SPDX-License-Identifier: BSD-3-Clause
// Command lines run against an LNet that records its calls.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnetctl/command_row.hpp"
#include "apps/lnetctl/lnetctl.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/lnet_documents.hpp"
#include "lib/runtime/lnet/lnet_variables.hpp"
#include "lib/runtime/lnet/lnet_verbs.hpp"
#include "lib/runtime/verbs/fault_rows.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"
#include "lib/runtime/verbs/node_rows.hpp"
#include "tests/mocks/fake_lnet_control.hpp"

namespace plnet::apps {

inline constexpr int kInvalidStatus = 256 - EINVAL;
inline constexpr int kMissingStatus = 256 - EFAULT;

class LnetCommands : public testing::Test {
 protected:
  LnetCommands() {
    runtime::add_lnet_verbs(verbs_, lnet_);
    verbs_.add(
        runtime::kNodeVerbs["set"],
        [this](const nlohmann::json& args, const runtime::Caller&, runtime::VerbToken token) {
          runtime::set_lnet_variable(lnet_, args.at("variable").get<std::string>(),
                                     args.at("value"), std::move(token));
        });
  }

  // Runs a line such as "net add --net tcp"; its output is in out and err.
  int run(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    for (const char letter : line + " ") {
      if (letter != ' ') {
        word += letter;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
    char* out_text = nullptr;
    char* err_text = nullptr;
    std::size_t out_size = 0;
    std::size_t err_size = 0;
    Session session;
    session.out = ::open_memstream(&out_text, &out_size);
    session.err = ::open_memstream(&err_text, &err_size);
    session.live_screen = live_screen_rounds > 0;
    session.ask = [this, rounds = std::size_t{0}](std::string_view verb,
                                                  const nlohmann::json& args) mutable {
      if (live_screen_rounds > 0 && rounds++ == live_screen_rounds)
        return runtime::VerbReply(std::unexpected(Error{Errc::kReset, "the node is gone"}));
      std::optional<runtime::VerbReply> reply;
      runtime::Caller caller;
      caller.may_change = true;
      verbs_.run({.id = 1, .verb = std::string(verb), .args = args}, caller,
                 [&reply](const runtime::VerbReply& got) { reply = got; });
      EXPECT_TRUE(reply.has_value()) << "answered at once";
      return reply.value_or(Json::object());
    };
    session.pause = [this](std::chrono::seconds time) { paused.push_back(time); };
    const int status = run_lnetctl(words, session, false);
    std::fclose(session.out);
    std::fclose(session.err);
    out.assign(out_text, out_size);
    err.assign(err_text, err_size);
    std::free(out_text);
    std::free(err_text);
    return status;
  }

  static lnet::Nid nid(std::string_view text) { return lnet::parse_nid(text).value(); }

  lnet::FakeLnetControl lnet_;
  runtime::VerbTable verbs_;
  std::string out;
  std::string err;
  std::size_t live_screen_rounds = 0;        // not 0: a terminal, and a node that answers so often
  std::vector<std::chrono::seconds> paused;  // between answers of one command
};

}  // namespace plnet::apps
