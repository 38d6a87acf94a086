// SPDX-License-Identifier: BSD-3-Clause
// A connection ends, falls silent or delivers one wrong byte anywhere in the bytes of either side.
// In each case every message of ours ends once and all resources are returned (~ScriptedLnd).
#include <gtest/gtest.h>

#include "lib/socklnd/checksum.hpp"
#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::lnd_every_byte_test {
namespace {

using std::chrono::seconds;
using Id = SockLndCounters::Id;

enum class End : std::uint8_t { kReset, kOrderly, kSilence };
constexpr End kEnds[] = {End::kReset, End::kOrderly, End::kSilence};
constexpr Tunables kQuick{.sock_timeout = 4};  // short, so that silence is detected soon

void end(ScriptedLnd& node, std::uint32_t stream, End how) {
  if (how == End::kSilence) return node.pass(seconds(8));
  node.driver.end(stream, how == End::kReset ? Errc::kReset : Errc::kClosed);
  node.turn();
}

std::span<const std::byte> up_to(const Bytes& bytes, std::size_t count) {
  return std::span(bytes).first(std::min(bytes.size(), count));
}

TEST(SocklndEveryByte, EndsWithinOurOutput) {
  constexpr std::size_t kHead = kAcceptorV1Bytes + kHelloNid4Bytes;
  constexpr std::size_t kAll = kHead + kFrameBytes + lnet::kHeaderNid4Bytes + 20;
  for (const End how : kEnds) {
    for (std::size_t cut = 0; cut <= kAll; ++cut) {
      SCOPED_TRACE("after " + std::to_string(cut));
      ScriptedLnd node(kQuick);
      node.core->put(node.peer, 20, false);
      node.turn();
      ASSERT_EQ(node.driver.streams.size(), 1U);
      node.driver.at(0).room = cut;
      node.driver.connected(0);
      node.turn();
      if (cut >= kHead) node.driver.say(0, node.reply(ConnectionType::kControl));
      node.turn();
      EXPECT_EQ(node.driver.at(0).written.size(), cut);
      end(node, 0, how);
      ASSERT_EQ(node.core->completions().size(), 1U);
      EXPECT_EQ(node.core->completions()[0].status.has_value(), cut == kAll);
    }
  }
}

TEST(SocklndEveryByte, EndsWithinTheAnswerToOurHello) {
  for (const End how : kEnds) {
    for (std::size_t cut = 0; cut < kHelloNid4Bytes; ++cut) {
      ScriptedLnd node(kQuick);
      node.core->put(node.peer, 20, false);
      node.turn();
      node.driver.connected(0);
      node.turn();
      const Bytes reply = node.reply(ConnectionType::kControl);
      node.driver.say(0, up_to(reply, cut));
      node.turn();
      end(node, 0, how);
      ASSERT_EQ(node.core->completions().size(), 1U) << cut;
      EXPECT_FALSE(node.core->completions()[0].status.has_value());
      EXPECT_EQ(node.lnd->count(Id::kOpen), 0U);
    }
  }
}

TEST(SocklndEveryByte, WrongBytesInTheAnswerToOurHello) {
  for (const std::byte flip : {std::byte{0x20}, std::byte{0x01}, std::byte{0xff}}) {
    unsigned accepted = 0;
    for (std::size_t at = 0; at < kHelloNid4Bytes; ++at) {
      ScriptedLnd node(kQuick);
      node.core->put(node.peer, 20, false);
      node.turn();
      node.driver.connected(0);
      node.turn();
      Bytes reply = node.reply(ConnectionType::kControl);
      reply[at] ^= flip;
      node.driver.say(0, reply);
      node.turn();
      node.driver.report_closed();
      node.turn();
      accepted += node.lnd->count(Id::kOpen) > 0 ? 1U : 0U;
      node.pass(seconds(30));
      ASSERT_EQ(node.core->completions().size(), 1U) << at;
    }
    // The destination's NID, pid and incarnation are not checked; any incarnation is valid; and a
    // network type has one significant byte of two.
    const unsigned version_2 = flip == std::byte{0x01} ? 1 : 0;  // which is valid as well
    EXPECT_EQ(accepted, 8U + 4U + 8U + 8U + 1U + version_2);
  }
}

// Two messages with a keepalive between them.
Bytes conversation(const ScriptedLnd& node) {
  Bytes all = node.message(42, 30);
  Bytes keepalive(kFrameBytes);
  encode_frame({.type = kFrameNoop, .cookies = {0, 1}}, std::span(keepalive).first<kFrameBytes>());
  if (node.protocol != Protocol::kV2) all.insert(all.end(), keepalive.begin(), keepalive.end());
  const Bytes more = node.message(0, 10);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(SocklndEveryByte, EndsWithinTheInputOfAPeer) {
  for (const End how : kEnds) {
    for (const unsigned dropped : {0U, 100U}) {
      std::size_t all = 1000;
      for (std::size_t cut = 0; cut <= all; ++cut) {
        ScriptedLnd node(kQuick, Protocol::kV3, dropped);
        const auto stream = node.arrive(ConnectionType::kControl);
        const Bytes bytes = conversation(node);
        all = bytes.size();
        EXPECT_EQ(node.driver.say(stream, up_to(bytes, cut)), cut);
        node.turn();
        end(node, stream, how);
        const std::size_t first = kFrameBytes + lnet::kHeaderNid4Bytes + 30;
        const unsigned whole = (cut >= first ? 1U : 0U) + (cut == all ? 1U : 0U);
        EXPECT_EQ(node.core->tally().puts, dropped == 0 ? whole : 0U);
      }
    }
  }
}

TEST(SocklndEveryByte, WrongBytesInTheInputOfAPeer) {
  for (const Protocol protocol : {Protocol::kV3, Protocol::kV4}) {
    std::size_t all = 1;
    for (std::size_t at = 0; at < all; ++at) {
      ScriptedLnd node(kQuick, protocol, 0);
      const auto stream = node.arrive(ConnectionType::kControl);
      Bytes bytes = conversation(node);
      all = bytes.size();
      bytes[at] ^= std::byte{0x20};
      node.driver.say(stream, bytes);
      node.pass(seconds(8));
    }
  }
}

// With checksums no wrong data is delivered, wherever the error is.
TEST(SocklndEveryByte, ChecksumsDetectWrongBytes) {
  for (const std::byte flip : {std::byte{0x20}, std::byte{0x01}, std::byte{0xff}}) {
    std::size_t all = 1;
    for (std::size_t at = 0; at < all; ++at) {
      ScriptedLnd node(kQuick, Protocol::kV2, 0);
      const auto stream = node.arrive(ConnectionType::kControl);
      Bytes bytes = node.message(42, 30);
      all = bytes.size();
      set_frame_checksum(add_to_checksum(kChecksumStart, bytes),
                         std::span(bytes).first<kFrameBytes>());
      bytes[at] ^= flip;
      node.driver.say(stream, bytes);
      node.pass(seconds(8));
      const auto& tally = node.core->tally();
      EXPECT_EQ(tally.puts + tally.gets + tally.acks + tally.replies, 0U) << at;
      EXPECT_EQ(node.lnd->count(Id::kOpen), 0U) << at;
    }
  }
}

}  // namespace
}  // namespace plnet::socklnd::lnd_every_byte_test
