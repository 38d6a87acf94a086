// SPDX-License-Identifier: BSD-3-Clause
// The client blocks, so the node's side runs on a thread of its own here.
#include "lib/runtime/control/client.hpp"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "lib/runtime/admin/system_clock.hpp"
#include "tests/unit/lib/runtime/control/served_socket.hpp"

namespace plnet::runtime {
namespace {

using namespace std::chrono_literals;

class ClientTest : public ServedSocket<SystemClock> {
 protected:
  void SetUp() override {
    ServedSocket::SetUp();
    start();
    thread_ = std::thread([this] { loop_->run(); });
  }
  void TearDown() override {
    loop_->stop();
    thread_.join();
    tokens_.clear();
    ServedSocket::TearDown();
  }

  std::thread thread_;
};

TEST_F(ClientTest, AsksAndGetsAnswersSmallAndBig) {
  auto client = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_TRUE(client) << client.error().what;
  for (const std::size_t size : {0UL, 10UL, 3'000'000UL}) {
    const auto reply = client->call("echo", {{"text", std::string(size, 't')}}, 60s);
    ASSERT_TRUE(reply) << reply.error().faults[0].what;
    EXPECT_EQ((*reply)["text"].get<std::string>().size(), size);
  }
  const auto refused = client->call("nonsense", nlohmann::json::object(), 60s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().faults[0].code, Errc::kNotSupported);
}

TEST_F(ClientTest, TakesDescriptorsInOrder) {
  auto client = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->call("echo", {{"text", "x"}}, 60s));
  EXPECT_TRUE(client->take_descriptors().empty());
  ASSERT_TRUE(client->call("hand over", nlohmann::json::object(), 60s));
  const auto descriptors = client->take_descriptors();
  ASSERT_EQ(descriptors.size(), 2U);
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    char letter = 0;
    ASSERT_EQ(::read(descriptors[i].get(), &letter, 1), 1);
    EXPECT_EQ(letter, "ab"[i]);
    EXPECT_EQ(::read(descriptors[i].get(), &letter, 1), 0) << "the node has kept no end";
  }
  EXPECT_TRUE(client->take_descriptors().empty());
}

TEST_F(ClientTest, KeepsABoundedNumberOfDescriptors) {
  auto client = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_TRUE(client);
  for (std::size_t i = 0; i < kHandedMax; ++i)
    ASSERT_TRUE(client->call("hand over", nlohmann::json::object(), 60s));
  EXPECT_EQ(client->take_descriptors().size(), kHandedMax);
}

TEST_F(ClientTest, GivesUpAfterItsTimeAndTakesTheNextAnswer) {
  auto client = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_TRUE(client);
  const auto late = client->call("later", nlohmann::json::object(), 1ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().faults[0].code, Errc::kTimedOut);
  EXPECT_NE(late.error().faults[0].what.find("did not answer"), std::string::npos);
  // Its answer (aborted) comes before the next one and must not be confused with it.
  ASSERT_TRUE(loop_->post([this] { tokens_.clear(); }));
  const auto reply = client->call("echo", {{"text", "x"}}, 60s);
  ASSERT_TRUE(reply) << reply.error().faults[0].what;
  EXPECT_EQ((*reply)["text"], "x");
}

TEST_F(ClientTest, KnowsThatItWasClosedMeanwhile) {
  auto client = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->call("echo", {{"text", "x"}}, 60s));
  EXPECT_FALSE(client->was_closed());
  std::promise<void> gone;
  ASSERT_TRUE(loop_->post([&] {
    server_.reset();
    gone.set_value();
  }));
  gone.get_future().wait();
  EXPECT_TRUE(client->was_closed());
}

TEST_F(ClientTest, ReportsAClosedConnection) {
  auto client = ControlClient::connect(options_.socket.path, clock_);
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->call("echo", {{"text", "x"}}, 60s));
  ASSERT_TRUE(loop_->post([this] { server_.reset(); }));
  const auto broken = client->call("later", nlohmann::json::object(), 60s);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().faults[0].what.find("closed the connection"), std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime
