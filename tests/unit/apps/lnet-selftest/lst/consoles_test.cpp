// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/consoles.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/control/socket.hpp"
#include "tests/unit/lib/runtime/host/temp_dir.hpp"

namespace plnet::lst::consoles_test {
namespace {

using All = std::vector<FoundConsole>;

FoundConsole idle(const std::string& name) {
  return {name + ".sock", {.instance = name}};
}
FoundConsole with_session(const std::string& name, std::uint32_t key, bool background = false) {
  return {name + ".sock",
          {.instance = name, .key = key, .has_session = true, .background = background}};
}

FoundConsole silent(const std::string& name) {
  return {.socket = name + ".sock", .host = {}, .silent = true};
}

std::string socket_of(const std::expected<FoundConsole, Refusal>& found) {
  return found ? found->socket : text_of_errno(found.error().number);
}
std::string place_of(const std::expected<std::optional<FoundConsole>, Refusal>& found) {
  if (!found) return text_of_errno(found.error().number);
  return *found ? (*found)->socket : "start one";
}

TEST(Consoles, TheSessionOfAKey) {
  const All found{idle("a"), with_session("b", 7), with_session("lst-8", 8, true)};
  EXPECT_EQ(socket_of(console_of(found, 7)), "b.sock");
  EXPECT_EQ(socket_of(console_of(found, 8)), "lst-8.sock");
  EXPECT_EQ(socket_of(console_of(found, 9)), text_of_errno(EACCES));
  EXPECT_EQ(socket_of(console_of(found, 0)), "b.sock");
  EXPECT_EQ(socket_of(console_of({idle("a")}, 7)), text_of_errno(ESRCH));
  EXPECT_EQ(socket_of(console_of({}, 7)), text_of_errno(ESRCH));
}

TEST(Consoles, AQueryIsWaitedForAsLongAsNodesAreGiven) {
  using std::chrono::seconds;
  const auto patience = [](std::string_view verb, std::int64_t timeout) {
    return answer_patience(verb, {{"timeout", timeout}});
  };
  EXPECT_EQ(patience("lst query", 5), seconds(100));
  EXPECT_EQ(patience("lst query", 300), seconds(330));
  EXPECT_EQ(patience("lst query", -1), seconds(100));
  EXPECT_EQ(patience("lst query", INT64_MAX), seconds(86'430)) << "the console waits a day";
  EXPECT_EQ(patience("lst new_session", 300), seconds(100)) << "that is how long it may be idle";
  EXPECT_EQ(answer_patience("lst query", {{"timeout", "soon"}}), seconds(100));
  EXPECT_EQ(answer_patience("lst end_session", Shell::Args::object()), seconds(100));
}

TEST(Consoles, APlaceForASession) {
  EXPECT_EQ(place_of(console_for({}, 7, "")), "start one");
  EXPECT_EQ(place_of(console_for({idle("a")}, 7, "")), "a.sock");
  // It reports an existing session unless the command is forced.
  EXPECT_EQ(place_of(console_for({with_session("a", 8)}, 7, "")), "a.sock");
  EXPECT_EQ(place_of(console_for({idle("a"), with_session("lst-7", 7, true)}, 7, "")),
            "lst-7.sock");
  EXPECT_EQ(place_of(console_for({with_session("lst-8", 8, true)}, 7, "")), "lst-8.sock");
  EXPECT_EQ(place_of(console_for({idle("a"), with_session("lst-8", 8, true)}, 7, "")), "a.sock");
}

TEST(Consoles, ASilentConsoleMayOwnTheSession) {
  const All found{silent("a"), with_session("b", 7)};
  EXPECT_EQ(socket_of(console_of(found, 7)), "b.sock");
  EXPECT_EQ(socket_of(console_of(found, 8)), text_of_errno(ETIMEDOUT));
  const auto refused = console_of({silent("a")}, 7);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().number, ETIMEDOUT) << "reporting none would be wrong";
  EXPECT_NE(refused.error().why.find("a.sock"), std::string::npos) << refused.error().why;
}

TEST(Consoles, BesideOneThatIsSilentNoneIsStarted) {
  EXPECT_EQ(place_of(console_for({silent("a")}, 7, "")), text_of_errno(ETIMEDOUT));
  EXPECT_EQ(place_of(console_for({silent("a")}, 7, "b")), text_of_errno(ETIMEDOUT));
  EXPECT_EQ(place_of(console_for({silent("a"), idle("b")}, 7, "")), "b.sock");
  EXPECT_EQ(place_of(console_for({silent("a"), with_session("lst-8", 8, true)}, 7, "")),
            "lst-8.sock");
}

TEST(Consoles, SeveralNodesNeedAName) {
  const All found{idle("a"), idle("b")};
  EXPECT_EQ(place_of(console_for(found, 7, "")), text_of_errno(ENOTUNIQ));
  EXPECT_EQ(place_of(console_for(found, 7, "b")), "b.sock");
  EXPECT_EQ(place_of(console_for(found, 7, "c")), text_of_errno(ENODEV));
}

TEST(Consoles, AFolderWithoutAny) {
  const runtime::SystemClock clock;
  Consoles consoles("/nonexistent", clock);
  EXPECT_TRUE(consoles.look().empty());
  const auto asked = consoles.ask_session("lst run", {{"key", 7}});
  ASSERT_FALSE(asked.has_value());
  EXPECT_EQ(asked.error().number, ESRCH);
}

TEST(Consoles, AConsoleThatAcceptsButDoesNotAnswerIsSilent) {
  const runtime::SystemClock clock;
  const runtime::TempDir folder;
  const auto listening = runtime::ListeningSocket::open({.path = folder.path() + "/lst-7.sock"});
  ASSERT_TRUE(listening.has_value()) << listening.error().what;
  Consoles consoles(folder.path(), clock, std::chrono::milliseconds(1));
  ASSERT_EQ(consoles.look().size(), 1U);
  EXPECT_TRUE(consoles.look().front().silent);
  const auto asked = consoles.ask_session("lst run", {{"key", 7}});
  ASSERT_FALSE(asked.has_value());
  EXPECT_EQ(asked.error().number, ETIMEDOUT);
}

}  // namespace
}  // namespace plnet::lst::consoles_test
