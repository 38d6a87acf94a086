// SPDX-License-Identifier: BSD-3-Clause
// The effect of each tunable on an LND, one at a time.
#include <gtest/gtest.h>

#include "lib/socklnd/checksum.hpp"
#include "tests/unit/lib/socklnd/framed_stream.hpp"
#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::lnd_tunables_test {
namespace {

using std::chrono::seconds;
using Id = SockLndCounters::Id;

Frame frame_at(const Bytes& bytes, std::size_t at) {
  return decode_frame(std::span(bytes).subspan(at).first<kFrameBytes>(), false);
}

Frame noop(std::uint64_t cookie) {
  return {.type = kFrameNoop, .cookies = {0, cookie}};
}

TEST(SocklndTunableEffects, EnableCsumSumsOutgoingV2MessagesOnly) {
  for (const Protocol protocol : {Protocol::kV2, Protocol::kV3, Protocol::kV4}) {
    for (const bool enabled : {false, true}) {
      for (const std::size_t room : {SIZE_MAX, std::size_t{5}, std::size_t{23}, std::size_t{100}}) {
        ScriptedLnd node({.enable_csum = enabled ? 1 : 0}, protocol);
        const auto stream = node.arrive(ConnectionType::kBulkIn);
        const auto control = node.arrive(ConnectionType::kControl);
        node.driver.say(stream, node.message(42, 8));
        node.core->put(node.peer, 3000, false);
        node.core->put(node.peer, 0, false);
        for (auto index : {stream, control})
          node.driver.at(index).room = room;
        for (unsigned i = 0; i < 1000; ++i) {
          node.turn();
          for (auto index : {stream, control})
            node.driver.give_room(index, room);
        }
        const bool summed = enabled && protocol == Protocol::kV2;
        unsigned whole = 0;
        for (auto index : {stream, control}) {
          const Bytes& written = node.driver.at(index).written;
          if (written.empty()) continue;
          EXPECT_EQ(frame_at(written, 0).checksum != 0, summed);
          FramedStream reader(protocol, false, 1);
          reader.feed(written, false);
          EXPECT_FALSE(reader.framing().failed());
          EXPECT_TRUE(reader.framing().at_boundary());
          whole += reader.noops + static_cast<unsigned>(reader.messages.size());
        }
        EXPECT_EQ(whole, 3U) << "an acknowledgement and two messages";
      }
    }
  }
}

TEST(SocklndTunableEffects, InjectCsumErrorSpoilsOneMessageAndNoMore) {
  ScriptedLnd node({.enable_csum = 1, .inject_csum_error = 1}, Protocol::kV2);
  const auto stream = node.arrive(ConnectionType::kControl);
  node.driver.at(stream).room = 0;
  node.core->put(node.peer, 10, false);
  node.turn();
  EXPECT_EQ(node.lnd->count(Id::kSpoilt), 0U) << "nothing has gone yet";
  node.driver.give_room(stream, 30);
  node.turn();
  node.driver.give_room(stream, SIZE_MAX);
  for (unsigned i = 0; i < 3; ++i)
    node.core->put(node.peer, 10, false);
  node.turn();
  const Bytes& written = node.driver.at(stream).written;
  constexpr std::size_t kEach = kFrameBytes + lnet::kHeaderNid4Bytes + 10;
  ASSERT_EQ(written.size(), 4 * kEach);
  for (std::size_t i = 0; i < 4; ++i) {
    FramedStream reader(Protocol::kV2, false, 1);
    reader.feed(std::span(written).subspan(i * kEach, kEach), false);
    EXPECT_EQ(reader.framing().failed(), i == 0) << i;
  }
  EXPECT_EQ(node.lnd->count(Id::kSpoilt), 1U);
}

TEST(SocklndTunableEffects, AStartedMessageKeepsItsChecksum) {
  for (const std::int64_t enabled : {0, 1}) {
    for (const std::size_t cut : {4U, 6U, 8U, 100U}) {
      ScriptedLnd node({.enable_csum = enabled}, Protocol::kV2);
      const auto stream = node.arrive(ConnectionType::kControl);
      node.driver.at(stream).room = cut;
      node.core->put(node.peer, 300, false);
      node.turn();
      node.lnd->set_tunables({.enable_csum = 1 - enabled});
      node.driver.give_room(stream, SIZE_MAX);
      node.turn();
      const Bytes& written = node.driver.at(stream).written;
      EXPECT_EQ(frame_at(written, 0).checksum != 0, enabled != 0) << cut;
      FramedStream reader(Protocol::kV2, false, 1);
      reader.feed(written, false);
      EXPECT_FALSE(reader.framing().failed()) << cut;
      EXPECT_EQ(reader.messages.size(), 1U);
    }
  }
}

// As in a running kernel each time that a user writes 1 to it.
TEST(SocklndTunableEffects, InjectCsumErrorThatIsSetAgainSpoilsOneMore) {
  ScriptedLnd node({.enable_csum = 1}, Protocol::kV2);
  (void)node.arrive(ConnectionType::kControl);
  for (const auto& [value, spoilt] :
       {std::pair<std::int64_t, std::uint64_t>{0, 0}, {1, 1}, {1, 1}, {0, 1}, {1, 2}}) {
    node.lnd->set_tunables({.enable_csum = 1, .inject_csum_error = value});
    for (unsigned i = 0; i < 2; ++i) {
      node.core->put(node.peer, 10, false);
      node.turn();
    }
    EXPECT_EQ(node.lnd->count(Id::kSpoilt), spoilt);
  }
}

// The kernel's rule for the connection that carries an acknowledgement.
TEST(SocklndTunableEffects, NonblkZcackSendsAcknowledgementsWhereNoDataGoes) {
  for (const auto& [nonblocking, protocol, on_bulk] : {std::tuple{1, Protocol::kV3, true},
                                                       {0, Protocol::kV3, false},
                                                       {1, Protocol::kV4, true},
                                                       {0, Protocol::kV4, false},
                                                       {1, Protocol::kV2, false}}) {
    ScriptedLnd node({.nonblk_zcack = nonblocking}, protocol);
    const auto control = node.arrive(ConnectionType::kControl);
    const auto bulk_in = node.arrive(ConnectionType::kBulkIn);
    for (const auto from : {control, bulk_in}) {
      node.driver.say(from, node.message(42, 8));
      node.turn();
      Bytes& written = node.driver.at(on_bulk ? bulk_in : control).written;
      ASSERT_EQ(written.size(), kFrameBytes);
      EXPECT_EQ(frame_at(written, 0), noop(42));
      EXPECT_EQ(node.driver.at(on_bulk ? control : bulk_in).written, Bytes{});
      written.clear();
    }
  }
}

TEST(SocklndTunableEffects, AnAcknowledgementThroughARouterNeverBlocks) {
  ScriptedLnd node({.nonblk_zcack = 0});
  (void)node.arrive(ConnectionType::kControl);
  const auto bulk_in = node.arrive(ConnectionType::kBulkIn);
  Bytes message = node.message(42, 8);
  message[kFrameBytes + 8] ^= std::byte{0x10};  // its source NID: not the peer
  node.driver.say(bulk_in, message);
  node.turn();
  ASSERT_EQ(node.driver.at(bulk_in).written.size(), kFrameBytes);
}

TEST(SocklndTunableEffects, AcknowledgementsStayWhereTheRequestCameFromIfThereIsNoOther) {
  ScriptedLnd node({});
  const auto control = node.arrive(ConnectionType::kControl);
  node.driver.say(control, node.message(42, 8));
  node.turn();
  ASSERT_EQ(node.driver.at(control).written.size(), kFrameBytes);
}

// More requests than acknowledgements can wait, from two connections, while nothing can be sent:
// both stop being read in turn, and all requests are acknowledged once in the end.
TEST(SocklndTunableEffects, ReadingStopsWhenAcknowledgementsCannotBeSent) {
  ScriptedLnd node({});
  const auto control = node.arrive(ConnectionType::kControl);
  const auto bulk_in = node.arrive(ConnectionType::kBulkIn);
  node.driver.at(control).room = node.driver.at(bulk_in).room = 0;
  std::uint64_t cookie = kFirstCookie;
  for (const auto from : {control, bulk_in}) {
    while (!node.driver.at(from).paused && cookie < 200)
      EXPECT_EQ(node.driver.say(from, node.message(cookie++, 0)),
                kFrameBytes + lnet::kHeaderNid4Bytes);
    node.turn();
  }
  EXPECT_EQ(cookie - kFirstCookie, std::uint64_t{2} * kNoopsWaitingMax);
  EXPECT_EQ(node.lnd->count(Id::kAckStops), 2U);
  std::set<std::uint64_t> acknowledged;
  for (const auto index : {control, bulk_in}) {
    node.driver.give_room(index, SIZE_MAX);
    node.turn();
    EXPECT_FALSE(node.driver.at(index).paused);
    const Bytes& written = node.driver.at(index).written;
    for (std::size_t at = 0; at < written.size(); at += kFrameBytes)
      EXPECT_TRUE(acknowledged.insert(frame_at(written, at).cookies[1]).second);
  }
  EXPECT_EQ(acknowledged.size(), std::size_t{2} * kNoopsWaitingMax);
}

TEST(SocklndTunableEffects, EagerAckAnswersMessagesOnTheTypesInItsPattern) {
  for (unsigned pattern = 0; pattern < 4; ++pattern) {
    ScriptedLnd node({.eager_ack = pattern});
    for (const auto type :
         {ConnectionType::kControl, ConnectionType::kBulkIn, ConnectionType::kBulkOut}) {
      const auto stream = node.arrive(type);
      const Bytes bytes = node.message(0, 20);
      node.driver.say(stream, std::span(bytes).first(90));
      node.turn();
      EXPECT_EQ(node.driver.at(stream).acknowledged_now, 0U) << "not at a boundary";
      node.driver.say(stream, std::span(bytes).subspan(90));
      node.turn();
      const bool eager = (pattern & static_cast<unsigned>(type)) != 0;
      EXPECT_EQ(node.driver.at(stream).acknowledged_now, eager ? 1U : 0U);
    }
  }
}

TEST(SocklndTunableEffects, KeepaliveIsTheSilenceAfterWhichANoopGoesOut) {
  for (const auto& [silence, sent] :
       {std::pair<std::int64_t, unsigned>{0, 0}, {30, 1}, {15, 2}, {60, 0}}) {
    ScriptedLnd node({.sock_timeout = 4, .keepalive = silence});  // checked every second
    const auto stream = node.arrive(ConnectionType::kBulkIn);
    node.pass(seconds(41));
    EXPECT_EQ(node.driver.at(stream).written.size(), sent * kFrameBytes) << silence;
    EXPECT_EQ(node.lnd->count(Id::kKeepalivesSent), sent);
  }
}

TEST(SocklndTunableEffects, MinBulkIsTheSizeThatTakesABulkConnection) {
  for (const std::int64_t least : {0, 200, 1024, 5000}) {
    ScriptedLnd node({.min_bulk = least});
    const auto control = node.arrive(ConnectionType::kControl);
    const auto bulk = node.arrive(ConnectionType::kBulkOut);
    std::size_t expected = 0;
    for (const std::uint32_t length : {0U, 103U, 104U, 927U, 928U, 4904U}) {
      const std::size_t size = kFrameBytes + lnet::kHeaderNid4Bytes + length;
      if (std::cmp_greater_equal(size, least)) expected += size;
      node.core->put(node.peer, length, false);
    }
    node.turn();
    EXPECT_EQ(node.driver.at(bulk).written.size(), expected) << least;
    EXPECT_EQ(node.driver.at(control).written.size() + expected, 6 * 96U + 6966U);
  }
}

TEST(SocklndTunableEffects, RoundRobinSpreadsOverEquallyLoadedConnections) {
  for (const std::int64_t turns : {0, 1}) {
    ScriptedLnd node({.round_robin = turns, .conns_per_peer = 2});
    const auto first = node.arrive(ConnectionType::kBulkOut);
    const auto second = node.arrive(ConnectionType::kBulkOut);
    for (unsigned i = 0; i < 4; ++i) {
      node.core->put(node.peer, 2000, false);
      node.turn();
    }
    const std::size_t each = node.driver.at(first).written.size() / 2096;
    EXPECT_EQ(each, turns != 0 ? 2U : 4U);
    EXPECT_EQ(node.driver.at(second).written.size() / 2096, 4 - each);
  }
}

TEST(SocklndTunableEffects, PortsAndSocketOptionsGoWithEachConnection) {
  ScriptedLnd node({.accept_port = 1000,
                    .accept_port_bulk = 2000,
                    .tx_buffer_size = 70'000,
                    .rx_buffer_size = 80'000,
                    .nagle = 1,
                    .keepalive_idle = 11,
                    .keepalive_intvl = 12,
                    .keepalive_count = 13,
                    .tos = 0});
  const auto taken = node.arrive(ConnectionType::kBulkIn);
  node.core->put(node.peer, 2000, false);
  node.turn();
  const auto dialled = static_cast<std::uint32_t>(node.driver.streams.size() - 1);
  ASSERT_NE(dialled, taken) << "it has no control connection yet";
  EXPECT_EQ(node.driver.at(dialled).request.addresses.remote.port, 1000);
  for (const auto index : {taken, dialled}) {
    const StreamOptions& options = node.driver.at(index).options;
    EXPECT_FALSE(options.no_delay);
    EXPECT_EQ(options.send_buffer_bytes, 70'000);
    EXPECT_EQ(options.receive_buffer_bytes, 80'000);
    EXPECT_EQ(options.keepalive_idle_s, 11);
    EXPECT_EQ(options.keepalive_interval_s, 12);
    EXPECT_EQ(options.keepalive_count, 13);
    EXPECT_EQ(options.type_of_service, 0);
  }
}

TEST(SocklndTunableEffects, SockTimeoutIsHowLongASendMayStandStill) {
  for (const std::int64_t timeout : {10, 50}) {
    ScriptedLnd node({.sock_timeout = timeout});
    const auto stream = node.arrive(ConnectionType::kControl);
    node.driver.at(stream).room = 0;
    node.core->put(node.peer, 10, false);
    node.pass(seconds(timeout - 1));
    EXPECT_FALSE(node.driver.at(stream).closing);
    // Checked four times in a timeout, and TCP made progress before the first check.
    node.pass(seconds(1 + timeout / 2 + 1));
    EXPECT_EQ(node.lnd->count(Id::kClosedTxStuck), 1U);
  }
}

}  // namespace
}  // namespace plnet::socklnd::lnd_tunables_test
