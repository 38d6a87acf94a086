// SPDX-License-Identifier: BSD-3-Clause
// One of four receive contexts of an interface: messages that belong to another context, and
// letters from other contexts.
#include <optional>

#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/contexts_site.hpp"
#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::contexts_test {
namespace {

using Call = ScriptedEndpoint::Call;
using Matter = Letter::Matter;
using enum FabricEvent;
using std::chrono::seconds;

constexpr unsigned kContexts = 4;
constexpr std::uint8_t kOurs = 2;  // the context of the scripted endpoint
constexpr std::uint8_t kOther = 1;

std::vector<std::byte> put_of(std::uint32_t length, std::uint16_t version = 2, unsigned from = 1) {
  Message message =
      lnet_message(from, 0, length > kInlineBytesMax ? Kind::kBulkPut : Kind::kImmediate, version,
                   lnet::MessageType::kPut, length);
  message.key = 5;
  message.session_key = 0x99;
  message.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
  return bytes_of(message, length > kInlineBytesMax ? 0 : length);
}

struct Site {
  explicit Site(std::size_t letters_max = 8)
      : mail(kContexts, letters_max),
        node(KfiLndConfig{.mail = &mail.end(kOurs), .homes = &homes}) {
    set_home(kOurs);
  }
  void set_home(std::uint8_t context, unsigned peer = 1) {
    homes.moved[nid_of(peer).address32()] = context;
  }
  // The letter to another context since the last call.
  std::optional<Letter> letter_to(std::uint8_t context) {
    std::optional<Letter> found;
    (void)mail.end(context).collect(1, [&](const Letter& letter) {
      found = letter;
      return true;
    });
    return found;
  }
  // There must be one.
  Letter expect_letter_to(std::uint8_t context) {
    const std::optional<Letter> found = letter_to(context);
    EXPECT_TRUE(found.has_value());
    return found.value_or(Letter{});
  }
  void bring(const Letter& letter) {
    EXPECT_TRUE(mail.end(0).post(kOurs, letter));
    node.turn();
  }
  [[nodiscard]] std::size_t sends() const { return node.endpoint.waiting(Call::kSend); }

  HomeTable homes{kContexts};
  ContextMail mail;
  ScriptedNode node;
};

TEST(KfilndContext, AHelloIsPassedToTheHomeWithoutAnAnswerHere) {
  Site site;
  site.set_home(kOther);
  const Hello hello{.rx_base = 7, .session_key = 9};
  site.node.hello(Kind::kHelloRequest, hello);
  EXPECT_EQ(site.sends(), 0U);
  EXPECT_EQ(site.node.lnd->peer(nid_of(1)), nullptr);
  EXPECT_EQ(site.node.count(LndId::kHandedOver), 1U);
  const Letter letter = site.expect_letter_to(kOther);
  EXPECT_EQ(letter.nid64, nid64_of(1));
  EXPECT_EQ(letter.matter, Matter::kHelloRequest);
  EXPECT_EQ(letter.hello, hello);
  site.node.hello(Kind::kHelloResponse, hello);
  EXPECT_EQ(site.expect_letter_to(kOther).matter, Matter::kHelloResponse);
}

TEST(KfilndContext, TheHomeAnswersWithItsOwnContextHoweverOftenItIsGreeted) {
  Site site;
  const Hello hello{.rx_base = 7, .session_key = 9};
  site.bring({nid64_of(1), Matter::kHelloRequest, hello});
  const auto request = site.node.endpoint.take(Call::kSend);
  const auto answer = site.node.endpoint.take(Call::kSend);
  ASSERT_EQ(request.message.kind, Kind::kHelloRequest);
  ASSERT_EQ(answer.message.kind, Kind::kHelloResponse);
  EXPECT_EQ(answer.to.receive_context, 7);
  EXPECT_EQ(answer.message.hello.rx_base, kOurs);
  site.bring({nid64_of(1), Matter::kHelloRequest, hello});
  EXPECT_EQ(site.node.endpoint.take(Call::kSend).message.kind, Kind::kHelloResponse);
  EXPECT_EQ(site.sends(), 0U);
  EXPECT_EQ(site.node.count(LndId::kPeersMade), 1U);
  site.bring({nid64_of(1), Matter::kHelloResponse, hello});
  EXPECT_EQ(site.node.state(), PeerState::kUpToDate);
  EXPECT_EQ(site.node.count(LndId::kPeerRestarts), 0U);
  site.bring({nid64_of(2), Matter::kHelloResponse, hello});
  EXPECT_EQ(site.node.count(LndId::kStrayHellos), 1U);
}

TEST(KfilndContext, AMessageIsReceivedLocallyAndTheHomeIsNotifiedOnce) {
  Site site;
  site.set_home(kOther);
  site.node.arrive(put_of(100));
  site.node.arrive(put_of(65536));
  EXPECT_EQ(site.node.core->tally().puts, 1U);
  const auto read = site.node.endpoint.take(Call::kRead);
  EXPECT_EQ(read.tag, tag_of(0x99, 5));
  site.node.done(kRemoteDone, read);
  EXPECT_EQ(site.node.core->tally().puts, 2U);
  EXPECT_EQ(site.expect_letter_to(kOther).matter, Matter::kMisdirected);
  EXPECT_FALSE(site.letter_to(kOther).has_value());
  EXPECT_EQ(site.sends(), 0U) << "greeted from its home alone";
  EXPECT_EQ(site.node.count(LndId::kMisdirected), 2U);
  site.node.turn(seconds(126));
  site.node.arrive(put_of(100));
  EXPECT_TRUE(site.letter_to(kOther).has_value()) << "it has not learnt it";
  site.node.arrive(put_of(65536, 1));
  EXPECT_EQ(site.node.count(LndId::kEarlyV1), 1U) << "its home has the key";
  EXPECT_EQ(site.node.endpoint.waiting(Call::kRead), 0U);
  EXPECT_EQ(site.node.lnd->peer_facts(0, site.node.now), std::nullopt) << "reported by its home";
  site.node.expect_clean();
}

TEST(KfilndContext, TheHomeAnnouncesItsContext) {
  Site site;
  site.node.meet();
  site.bring({nid64_of(1), Matter::kMisdirected, {}});
  const auto hello = site.node.endpoint.take(Call::kSend);
  ASSERT_EQ(hello.message.kind, Kind::kHelloRequest);
  EXPECT_EQ(hello.message.hello.rx_base, kOurs);
  site.bring({nid64_of(1), Matter::kMisdirected, {}});
  EXPECT_EQ(site.sends(), 0U) << "one at a time";
}

TEST(KfilndContext, MessagesOfPeersWithoutHomeWaitInTheBuffer) {
  Site site;
  site.homes.moved.clear();
  site.homes.misses = 3;
  site.set_home(kOther);
  site.node.hello(Kind::kHelloRequest, {.rx_base = 7, .session_key = 9});
  EXPECT_EQ(site.node.count(LndId::kPutOff), 1U);
  EXPECT_FALSE(site.letter_to(kOther).has_value());
  EXPECT_EQ(site.node.lnd->next_deadline(), Instant::min());
  for (int i = 0; i < 3; ++i)
    site.node.turn();
  EXPECT_TRUE(site.letter_to(kOther).has_value());
  EXPECT_EQ(site.node.count(LndId::kPutOff), 1U) << "counted once";
  EXPECT_NE(site.node.lnd->next_deadline(), Instant::min());
}

TEST(KfilndContext, MessagesOfPeersThatGetNoHomeAreDropped) {
  Site site;
  site.homes.refused[nid_of(1).address32()] = Errc::kNoMemory;
  site.homes.refused[nid_of(2).address32()] = Errc::kAgain;
  site.set_home(kOurs, 3);
  site.node.hello(Kind::kHelloRequest, {.session_key = 9}, 1);
  EXPECT_EQ(site.node.count(LndId::kPeersRefused), 1U);
  site.node.hello(Kind::kHelloRequest, {.session_key = 9}, 2);
  site.node.turn(seconds(62));
  EXPECT_EQ(site.node.count(LndId::kTooLate), 0U);
  site.node.turn(seconds(1));
  EXPECT_EQ(site.node.count(LndId::kTooLate), 1U);
  site.node.hello(Kind::kHelloRequest, {.session_key = 9}, 3);
  EXPECT_EQ(site.node.count(LndId::kPeersMade), 1U) << "others are served meanwhile";
}

TEST(KfilndContext, AFullRingIsWaitedFor) {
  Site site(2);
  site.set_home(kOther);
  for (int i = 0; i < 3; ++i)
    site.node.hello(Kind::kHelloRequest, {.session_key = 9});
  EXPECT_EQ(site.node.count(LndId::kHandedOver), 2U);
  EXPECT_EQ(site.node.count(LndId::kPutOff), 1U);
  EXPECT_TRUE(site.letter_to(kOther).has_value());
  site.node.turn();
  EXPECT_EQ(site.node.count(LndId::kHandedOver), 3U);
}

TEST(KfilndContext, AGuestThatTheCoreSendsToIsAtHome) {
  Site site;
  site.set_home(kOther);
  site.node.arrive(put_of(100));
  ASSERT_TRUE(site.node.lnd->peer(nid_of(1))->guest);
  site.set_home(kOurs);
  site.node.put(100);
  EXPECT_FALSE(site.node.lnd->peer(nid_of(1))->guest);
  EXPECT_EQ(site.node.endpoint.take(Call::kSend).message.kind, Kind::kHelloRequest);
  EXPECT_EQ(site.sends(), 0U);
}

TEST(KfilndContext, APeerWhoseHomeHasMovedIsAGuest) {
  Site site;
  site.node.meet();
  site.set_home(kOther);
  site.node.hello(Kind::kHelloRequest, {.rx_base = 7, .session_key = 9});
  EXPECT_EQ(site.sends(), 0U);
  EXPECT_TRUE(site.node.lnd->peer(nid_of(1))->guest);
  EXPECT_EQ(site.expect_letter_to(kOther).matter, Matter::kHelloRequest);
  EXPECT_TRUE(site.node.core->notices() == std::vector{lnet::PeerNotice::kAlive});
}

TEST(KfilndContext, LettersWaitForATransactionAndEndWithTheInterface) {
  Site site;
  EXPECT_TRUE(site.mail.end(0).post(kOurs, {nid64_of(1), Matter::kMisdirected, {}}));
  EXPECT_FALSE(site.node.lnd->idle());
  site.node.lnd->shut_down();
  site.node.turn();
  EXPECT_TRUE(site.node.lnd->idle());
  EXPECT_EQ(site.sends(), 0U);
}

}  // namespace
}  // namespace plnet::kfilnd::contexts_test
