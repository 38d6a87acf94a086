// SPDX-License-Identifier: BSD-3-Clause
// The example of doc/embedding.md, so that the document stays correct: a program that posts memory,
// puts into it and gets from it, on one node over 0@lo.
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/arena.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::lnet::embedding_test {
namespace {

constexpr PortalId kPortal = 30;
constexpr std::uint64_t kBits = 0x1234;

// Records its events.
struct Recorder final : EventHandler {
  void on_event(const Event& event) override { events.push_back(event); }
  [[nodiscard]] const Event* find(EventKind kind) const {
    for (const Event& event : events) {
      if (event.kind == kind) return &event;
    }
    return nullptr;
  }
  std::vector<Event> events;
};

class Embedding : public testing::Test {
 protected:
  static constexpr std::size_t kControlBytes = 1 << 20;
  static constexpr std::uint64_t kUserAt = kControlBytes;

  Embedding() : memory_(kControlBytes + 4096) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()});
    NodeSetup setup{.arenas = &arenas_, .doorbells = doorbells_};
    setup.shard_limits = {.peer_ports = 256,
                          .extra_links = 8,
                          .messages = 64,
                          .receives = 64,
                          .descriptors = 256,
                          .match_entries = 256};
    setup.coordinator.peers.peers = setup.coordinator.peers.peer_nis = 256;
    setup.control_memory = {{0, 0}, std::span(memory_).first(kControlBytes)};
    node_ = std::make_unique<Node>(setup);
  }

  // Turns like a poller until nothing changes any more.
  void turn_until_idle() {
    for (int quiet = 0; quiet < 4;) {
      now_ += std::chrono::microseconds(1);
      node_->shard(0).begin_turn(now_);
      unsigned work = node_->shard(0).poll(now_);
      work += node_->coordinate(now_);
      node_->quiescent(0);
      quiet = work == 0 ? quiet + 1 : 0;
    }
  }

  std::byte* user(std::uint64_t offset) { return memory_.data() + kUserAt + offset; }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  SilentDoorbell bell_;
  std::array<Doorbell*, 1> doorbells_{&bell_};
  std::unique_ptr<Node> node_;
  Instant now_{};
};

TEST_F(Embedding, PutsIntoMemoryLaidOpenAndIsAcknowledged) {
  DataOperations& lnet = node_->shard(0);

  // Memory that others may put into.
  const std::array target{Fragment{{0, kUserAt}, 1024}};
  Recorder server;
  const auto attached =
      lnet.attach({.portal = kPortal, .match_bits = kBits},
                  {.fragments = target, .length = 1024, .options = kMdPut, .handler = &server});
  ASSERT_TRUE(attached.has_value());

  // Memory to put from, for one PUT and its ACK.
  std::memcpy(user(2048), "hello", 5);
  const std::array source{Fragment{{0, kUserAt + 2048}, 5}};
  Recorder client;
  const auto bound =
      lnet.bind({.fragments = source, .length = 5, .threshold = 2, .handler = &client});
  ASSERT_TRUE(bound.has_value());
  const Nid self = Nid::of(NetType::kLoopback, 0, 0);
  ASSERT_TRUE(lnet.put(*bound, {.target = {self}, .portal = kPortal, .match_bits = kBits}));

  turn_until_idle();
  ASSERT_NE(server.find(EventKind::kPut), nullptr);
  EXPECT_EQ(server.find(EventKind::kPut)->accepted_length, 5U);
  EXPECT_EQ(std::memcmp(user(0), "hello", 5), 0);
  ASSERT_NE(client.find(EventKind::kSend), nullptr);
  ASSERT_NE(client.find(EventKind::kAck), nullptr);
  EXPECT_TRUE(client.find(EventKind::kAck)->status.has_value());
  EXPECT_TRUE(client.events.back().unlinked) << "two operations were all that it waited for";

  EXPECT_TRUE(lnet.unlink(attached->md));
  EXPECT_TRUE(server.events.back().unlinked);
  EXPECT_TRUE(node_->idle());
}

TEST_F(Embedding, GetsPostedMemory) {
  DataOperations& lnet = node_->shard(0);
  std::memcpy(user(0), "abcdefgh", 8);
  const std::array source{Fragment{{0, kUserAt}, 8}};
  Recorder server;
  const auto attached =
      lnet.attach({.portal = kPortal, .match_bits = kBits}, {.fragments = source,
                                                             .length = 8,
                                                             .threshold = 1,
                                                             .options = kMdGet | kMdManageRemote,
                                                             .handler = &server});
  ASSERT_TRUE(attached.has_value());
  const std::array sink{Fragment{{0, kUserAt + 2048}, 4}};
  Recorder client;
  const auto bound =
      lnet.bind({.fragments = sink, .length = 4, .threshold = 2, .handler = &client});
  const Nid self = Nid::of(NetType::kLoopback, 0, 0);
  ASSERT_TRUE(
      lnet.get(*bound, {.target = {self}, .portal = kPortal, .match_bits = kBits, .offset = 2}));
  turn_until_idle();
  ASSERT_NE(client.find(EventKind::kReply), nullptr);
  EXPECT_EQ(std::memcmp(user(2048), "cdef", 4), 0);
  ASSERT_NE(server.find(EventKind::kGet), nullptr);
  EXPECT_TRUE(server.events.back().unlinked) << "its threshold was one";
  EXPECT_TRUE(node_->idle());
}

// Portal 0 keeps pushes until the node handles them. A node that shuts down does not.
TEST_F(Embedding, MessagesWaitingOnPortal0EndWithTheNode) {
  DataOperations& lnet = node_->shard(0);
  const auto& receives = node_->shard(0).core().receives;
  turn_until_idle();
  Recorder client;
  const auto bound = lnet.bind({.handler = &client});
  const Nid self = Nid::of(NetType::kLoopback, 0, 0);
  const PutSpec nobodys{.target = {self}, .portal = kPingPortal, .match_bits = kBits, .ack = false};
  ASSERT_TRUE(lnet.put(*bound, nobodys));
  turn_until_idle();
  EXPECT_EQ(receives.free_count(), receives.capacity() - 1) << "it waits";
  node_->coordinator().shut_down();
  turn_until_idle();
  EXPECT_EQ(receives.free_count(), receives.capacity());
  ASSERT_TRUE(lnet.put(*bound, nobodys));
  turn_until_idle();
  EXPECT_EQ(receives.free_count(), receives.capacity()) << "nor do later ones";
  EXPECT_TRUE(lnet.unlink(*bound));
}

TEST_F(Embedding, ReportsUnmatchedMessages) {
  DataOperations& lnet = node_->shard(0);
  Recorder client;
  const auto bound = lnet.bind({.threshold = 2, .handler = &client});
  const Nid self = Nid::of(NetType::kLoopback, 0, 0);
  ASSERT_TRUE(lnet.put(*bound, {.target = {self}, .portal = kPortal, .match_bits = kBits}));
  turn_until_idle();
  ASSERT_NE(client.find(EventKind::kSend), nullptr);
  EXPECT_EQ(client.find(EventKind::kAck), nullptr);
  EXPECT_EQ(node_->shard(0).core().causes.get(Cause::kDroppedPutNoMatch), 1U);

  now_ += std::chrono::seconds(200);  // the transaction timeout is 150 s
  turn_until_idle();
  EXPECT_TRUE(client.events.back().unlinked);
  EXPECT_EQ(client.events.back().kind, EventKind::kUnlink);
}

}  // namespace
}  // namespace plnet::lnet::embedding_test
