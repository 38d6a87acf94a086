// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/server.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.hpp"
#include "lib/runtime/control/client.hpp"
#include "tests/unit/lib/runtime/control/served_socket.hpp"

namespace plnet::runtime {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class ServerTest : public ServedSocket<ManualClock> {
 protected:
  void SetUp() override {
    ServedSocket::SetUp();
    table_.add({.words = "change", .access = VerbAccess::kChanges},
               [](const nlohmann::json&, const Caller&) -> VerbReply { return Json::object(); });
    table_.add({.words = "big", .access = VerbAccess::kReads},
               [this](const nlohmann::json&, const Caller&) -> VerbReply {
                 ++big_runs_;
                 return Json{{"text", std::string(300'000, 'b')}};
               });
  }

  Descriptor connect() {
    auto connected = connect_to_socket(options_.socket.path);
    EXPECT_TRUE(connected);
    turn();
    return connected ? std::move(*connected) : Descriptor();
  }
  void turn(int rounds = 4) {
    for (int i = 0; i < rounds; ++i)
      loop_->run_once(0ns);
  }
  static void put(const Descriptor& client, std::string_view text) {
    ASSERT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // The output so far; "<closed>" at the end if the server closed the connection.
  static std::string take(const Descriptor& client) {
    std::string all;
    std::array<char, 65536> piece{};
    while (true) {
      const auto got = ::recv(client.get(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (got == 0) return all + "<closed>";
      if (got < 0) return all;
      all.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  std::string ask(const Descriptor& client, std::string_view text) {
    put(client, text);
    turn();
    return take(client);
  }

  unsigned big_runs_ = 0;
};

constexpr std::string_view kEcho = R"({"v":1,"id":1,"verb":"echo","args":{"text":"hi"}})"
                                   "\n";
constexpr std::string_view kEchoed = R"({"v":1,"id":1,"result":{"text":"hi"}})"
                                     "\n";

TEST_F(ServerTest, AnswersARequestHoweverItArrives) {
  start();
  const Descriptor client = connect();
  EXPECT_EQ(ask(client, kEcho), kEchoed);
  for (const char c : kEcho.substr(0, kEcho.size() - 1)) {
    EXPECT_EQ(ask(client, {&c, 1}), "");
  }
  EXPECT_EQ(ask(client, "\n"), kEchoed);
  const std::string twice = std::string(kEcho) + std::string(kEcho);
  EXPECT_EQ(ask(client, twice), std::string(kEchoed) + std::string(kEchoed));
  EXPECT_EQ(server_->stats().requests, 4U);
}

TEST_F(ServerTest, AMalformedLineIsAnsweredAndTheNextOneUnderstood) {
  start();
  const Descriptor client = connect();
  const std::string reply = ask(client, "rubbish\n" + std::string(kEcho));
  EXPECT_NE(reply.find("\"id\":null,\"error\""), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with(kEchoed)) << reply;
  EXPECT_EQ(server_->stats().malformed, 1U);
}

TEST_F(ServerTest, ALineWithoutEndIsRefusedAndTheConnectionClosed) {
  options_.adjust_caller = [](Caller& caller) { caller.uid = 4'000'000; };
  start();
  const Descriptor client = connect();
  std::string reply;
  const std::string piece(16384, 'x');
  for (int i = 0; i < 8 && reply.empty(); ++i) {
    ::send(client.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
    turn();
    reply = take(client);
  }
  EXPECT_NE(reply.find("longer than 64 KiB"), std::string::npos) << reply;
  EXPECT_EQ(server_->clients(), 0U);
}

TEST_F(ServerTest, AMegabyteIsAcceptedFromAdministrators) {
  start();
  const Descriptor client = connect();
  const std::string request = R"({"v":1,"id":2,"verb":"echo","args":{"text":")" +
                              std::string((1U << 20) - 100, 'x') + "\"}}\n";
  std::string_view rest = request;
  std::string reply;
  while (!rest.empty()) {
    const auto sent = ::send(client.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
    turn();
    reply += take(client);
  }
  for (int i = 0; i < 1000 && !reply.ends_with('\n'); ++i) {
    turn();
    reply += take(client);
  }
  EXPECT_EQ(reply.size(), (1U << 20) - 100 + std::string_view(kEchoed).size() - 2);
}

TEST_F(ServerTest, AClientThatDoesNotReadIsNotComputedFor) {
  start();
  const Descriptor client = connect();
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += "{\"v\":1,\"id\":" + std::to_string(i) + ",\"verb\":\"big\"}\n";
  put(client, requests);
  turn(20);
  EXPECT_LT(big_runs_, 10U) << "answers wait for the reader";
  std::string all;
  for (int i = 0; i < 2000 && all.size() < std::size_t{50} * 300'000; ++i) {
    turn(1);
    all += take(client);
  }
  EXPECT_EQ(big_runs_, 50U);
  EXPECT_EQ(std::ranges::count(all, '\n'), 50);
  EXPECT_NE(all.find("\"id\":49,"), std::string::npos);
}

TEST_F(ServerTest, AHalfClosedClientStillGetsItsAnswers) {
  start();
  const Descriptor client = connect();
  put(client, kEcho);
  put(client, R"({"v":1,"id":2,"verb":"later"})"
              "\n");
  ::shutdown(client.get(), SHUT_WR);
  turn();
  EXPECT_EQ(take(client), kEchoed);
  EXPECT_EQ(server_->clients(), 1U) << "one answer is still to come";
  tokens_.at(0).finish(Json{{"n", 1}});
  turn();
  EXPECT_EQ(take(client), "{\"v\":1,\"id\":2,\"result\":{\"n\":1}}\n<closed>");
  EXPECT_EQ(server_->clients(), 0U);
}

TEST_F(ServerTest, LateAnswersAreBoundedAndMayHaveNoReceiver) {
  start();
  auto client = connect();
  std::string requests;
  for (int i = 0; i < 40; ++i)
    requests += "{\"v\":1,\"id\":" + std::to_string(i) + ",\"verb\":\"later\"}\n";
  put(client, requests);
  turn();
  EXPECT_EQ(tokens_.size(), ControlServer::kPendingMax);
  tokens_.back().finish(Json::object());
  turn();
  EXPECT_EQ(tokens_.size(), ControlServer::kPendingMax + 1) << "one answered, one more runs";
  client.reset();
  turn();
  EXPECT_EQ(server_->clients(), 0U);
  tokens_.front().finish(Json::object());
  turn();
  server_.reset();
  tokens_.clear();
  SUCCEED() << "neither a client nor a server is needed";
}

TEST_F(ServerTest, SurplusClientsAreToldSo) {
  options_.clients_max = 2;
  start();
  const auto first = connect();
  auto second = connect();
  const auto third = connect();
  const std::string reply = take(third);
  EXPECT_NE(reply.find("serves 2 clients already"), std::string::npos);
  EXPECT_TRUE(reply.ends_with("<closed>"));
  EXPECT_EQ(server_->stats().refused, 1U);
  second.reset();
  turn();
  const auto fourth = connect();
  EXPECT_EQ(ask(fourth, kEcho), kEchoed);
}

TEST_F(ServerTest, WithoutDescriptorsItWaitsRatherThanSpins) {
  start();
  const auto waiting = connect_to_socket(options_.socket.path);
  ASSERT_TRUE(waiting);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const unsigned first = loop_->run_once(0ns);
  const unsigned second = loop_->run_once(0ns);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(second, 0U) << "the listening socket is not looked at for a while";
  EXPECT_EQ(server_->clients(), 0U);
  clock_.advance(1s);
  turn();
  EXPECT_EQ(server_->clients(), 1U);
}

// In contrast to the case above, it has a descriptor number that can be released for a moment.
TEST_F(ServerTest, ClientsWithoutDescriptorAreToldSo) {
  start();
  // UBSan needs descriptors to inspect an object of a new type.
  EXPECT_EQ(ask(connect(), kEcho), kEchoed);
  turn();
  const auto waiting = connect_to_socket(options_.socket.path);
  ASSERT_TRUE(waiting);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Descriptor> all;
  do
    all.emplace_back(::dup(waiting->get()));
  while (all.back().valid());
  turn();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string reply = take(*waiting);
  EXPECT_NE(reply.find("out of file descriptors"), std::string::npos) << reply;
  all.clear();
  const auto next = connect();
  EXPECT_EQ(ask(next, kEcho), kEchoed);
}

TEST_F(ServerTest, ReadersDoNotKeepAdministratorsOut) {
  bool stranger = true;
  options_.adjust_caller = [&stranger](Caller& caller) {
    if (!stranger) return;
    caller.uid = caller.gid = 4'000'000;
    caller.groups = {};
  };
  options_.clients_max = 6;
  options_.reserved = 2;
  start();
  std::vector<Descriptor> readers;
  for (unsigned i = 0; i < 5; ++i)
    readers.push_back(connect());
  EXPECT_EQ(server_->clients(), 4U);
  EXPECT_NE(take(readers.back()).find("serves 4 clients already"), std::string::npos);
  stranger = false;
  const auto first = connect();
  const auto second = connect();
  const auto third = connect();
  EXPECT_EQ(ask(first, kEcho), kEchoed);
  EXPECT_EQ(ask(second, kEcho), kEchoed);
  EXPECT_NE(take(third).find("serves 6 clients already"), std::string::npos);
}

TEST_F(ServerTest, AnIdleClientIsDropped) {
  options_.idle_timeout = 10s;
  start();
  const auto quiet = connect();
  const auto waiting = connect();
  put(waiting, "{\"v\":1,\"id\":2,\"verb\":\"later\"}\n");
  turn();
  clock_.advance(5s);
  turn();
  EXPECT_EQ(server_->clients(), 2U);
  clock_.advance(6s);
  turn();
  EXPECT_EQ(take(quiet), "<closed>");
  EXPECT_EQ(take(waiting), "") << "it waits for us, not we for it";
  EXPECT_EQ(server_->stats().timed_out, 1U);
}

TEST_F(ServerTest, AStrangerMayLookButNotChange) {
  options_.adjust_caller = [](Caller& caller) {
    caller.uid = 4'000'000;
    caller.gid = 4'000'000;
    caller.groups = {};
  };
  start();
  const auto client = connect();
  EXPECT_EQ(ask(client, kEcho), kEchoed);
  const std::string refused = ask(client, "{\"v\":1,\"id\":3,\"verb\":\"change\"}\n");
  EXPECT_NE(refused.find("\"errno\":-1,"), std::string::npos) << refused;
  EXPECT_NE(refused.find("user 4000000 has read access only"), std::string::npos) << refused;
}

TEST_F(ServerTest, PeerCredentialsDecide) {
  start();
  const auto client = connect();
  EXPECT_EQ(ask(client, "{\"v\":1,\"id\":3,\"verb\":\"change\"}\n"),
            "{\"v\":1,\"id\":3,\"result\":{}}\n");
}

TEST_F(ServerTest, TheSocketHasTheModeThatWasAsked) {
  options_.socket.path = folder_ / "new" / "control.sock";
  options_.socket.mode = 0640;
  start();
  struct stat status{};
  ASSERT_EQ(::stat(options_.socket.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  ASSERT_EQ(::stat((folder_ / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
  server_.reset();
  EXPECT_FALSE(fs::exists(options_.socket.path));
}

TEST_F(ServerTest, ALiveNodeIsNotReplaced) {
  start();
  const auto refused = ControlServer::start(*loop_, table_, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kBusy);
  EXPECT_NE(refused.error().what.find("in use by process " + std::to_string(::getpid())),
            std::string::npos)
      << refused.error().what;
  const auto checked = ListeningSocket::check_free(options_.socket.path);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::kBusy);
  fs::remove(options_.socket.path + ".lock");
  const auto again = ControlServer::start(*loop_, table_, options_);
  ASSERT_FALSE(again) << "even if the lock was removed";
  EXPECT_NE(again.error().what.find("in use by process"), std::string::npos);
}

TEST_F(ServerTest, AKilledNodesSocketIsReplaced) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto left = ListeningSocket::open(options_.socket);
    ::_exit(left ? 0 : 1);  // no destructors, as if killed
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(ListeningSocket::check_free(options_.socket.path));
  ASSERT_TRUE(fs::exists(options_.socket.path));
  start();
  const auto client = connect();
  EXPECT_EQ(ask(client, kEcho), kEchoed);
}

TEST_F(ServerTest, FilesOtherThanSocketsAreNotRemoved) {
  std::ofstream(options_.socket.path) << "precious";
  const auto refused = ControlServer::start(*loop_, table_, options_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("not a socket"), std::string::npos);
  EXPECT_FALSE(ListeningSocket::check_free(options_.socket.path));
  EXPECT_EQ(fs::file_size(options_.socket.path), 8U);
}

TEST_F(ServerTest, APathThatCannotBeIsRefusedInWords) {
  options_.socket.path = "/" + std::string(200, 'x');
  auto refused = ControlServer::start(*loop_, table_, options_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("expected 1 to 107"), std::string::npos);
  options_.socket.path = folder_ / "no" / "such" / "control.sock";
  refused = ControlServer::start(*loop_, table_, options_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("make the folder"), std::string::npos);
}

TEST_F(ServerTest, AClientWithoutANodeIsToldWhatToDo) {
  const auto refused = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_NE(refused.error().what.find(options_.socket.path), std::string::npos);
  EXPECT_NE(refused.error().what.find("lnet-router"), std::string::npos);
}

TEST_F(ServerTest, AClientWithoutPermissionIsToldTheOwnerOfTheSocket) {
  options_.socket.mode = 0600;
  start();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::geteuid() == 0 &&
        (::chmod(folder_.c_str(), 0755) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
      ::_exit(3);
    }
    if (::geteuid() != 65534) ::_exit(77);  // only root can change its user
    const auto refused = ControlClient::connect(options_.socket.path, clock_);
    const bool good = !refused && refused.error().code == Errc::kNotPermitted &&
                      refused.error().what.find("mode 0600") != std::string::npos &&
                      refused.error().what.find("belongs to root") != std::string::npos;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs root to become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace plnet::runtime
