// SPDX-License-Identifier: BSD-3-Clause
// Payloads kept in their socket that could not be relayed, or whose connection, peer or message
// ended meanwhile.
#include <gtest/gtest.h>

#include "lib/socklnd/checksum.hpp"
#include "tests/unit/lib/socklnd/keeping_site.hpp"

namespace plnet::socklnd::lnd_kept_end_test {
namespace {

using KeptBrought = KeepingSite;
using KeptEnd = KeepingSite;

// --- Fetched ---

TEST_F(KeptBrought, IfTheNextHopsConnectionHasOtherThingsToSend) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  driver.bring(from, message(0, 500));
  keep_one();
  (void)forward(0);
  const KeepingCore::Out& sent = forward(1);
  EXPECT_FALSE(sent.transmit.kept);
  EXPECT_TRUE(is_there(1));
  flush();
  expect_brought_behind(message(0, 500));
}

TEST_F(KeptBrought, IfTheNextHopsConnectionIsBlocked) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  driver.bring(from, message(0, 500));
  driver.at(to).room = 100;
  (void)forward(0);
  flush();
  keep_one();
  (void)forward(1);
  EXPECT_TRUE(is_there(1));
  turn();
  driver.give_room(to, SIZE_MAX);
  turn();
  expect_brought_behind(message(0, 500));
}

TEST_F(KeptBrought, IfThereIsNoConnectionYet) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = 1;
  keep_one(kCookie);
  const KeepingCore::Out& sent = forward(0);
  EXPECT_TRUE(is_there(0));
  EXPECT_FALSE(sent.transmit.kept);
  flush();
  ASSERT_EQ(driver.streams.size(), 2U);
  EXPECT_EQ(driver.connects, 1U);
  EXPECT_EQ(near->count(Id::kAcksSent), 1U);
  expect_counts(0, 1);
  driver.end(to, Errc::kRefused);
  turn();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_FALSE(sent.status.has_value());
  expect_goes_on();
}

TEST_F(KeptBrought, IfTheNextHopIsToGetAChecksum) {
  far = make_lnd(far_nid, kLeast, {.enable_csum = 1});
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut, Protocol::kV2);
  keep_one();
  (void)forward(0);
  EXPECT_TRUE(is_there(0));
  flush();
  Bytes expected = message(0, kLength);
  set_frame_checksum(add_to_checksum(kChecksumStart, expected),
                     std::span(expected).first<kFrameBytes>());
  EXPECT_EQ(driver.at(to).written, expected);
  expect_goes_on();
  expect_counts(0, 1);
}

TEST_F(KeptBrought, IfAnAcknowledgementGoesFirst) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kControl);
  driver.bring(to, message(0, kLength, kCookie));  // kept by the next hop's connection itself
  ASSERT_EQ(core.in[0].kept, 1U);
  flush();
  keep_one();
  (void)forward(1);
  flush();  // fetches the first, which requests an acknowledgement
  Bytes expected = noop(kCookie);
  const Bytes second = message(1, kLength);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(driver.at(to).written, expected);
  EXPECT_TRUE(is_there(0));
  EXPECT_TRUE(is_there(1));
  EXPECT_EQ(far->count(Id::kRelayed), 0U);
  EXPECT_EQ(far->count(Id::kBrought), 1U);
  EXPECT_EQ(near->count(Id::kBrought), 1U);
  expect_goes_on();
}

TEST_F(KeptBrought, IfItWasNotRelayedByTheNextTurn) {
  keep_one(kCookie);
  flush();
  EXPECT_TRUE(is_still_away(0));
  EXPECT_EQ(near->next_deadline(), Instant::min()) << "there will be a turn that follows";
  flush();
  EXPECT_TRUE(is_there(0));
  EXPECT_TRUE(near->idle());
  EXPECT_EQ(driver.at(from).written, noop(kCookie));
  expect_counts(0, 1);
  (void)forward(0);  // late
  flush();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  expect_goes_on();
  expect_counts(0, 1);
}

// It is handed over, but its keeper is served first in this turn.
TEST_F(KeptBrought, IfItIsHandedOverATurnLate) {
  for (const bool order : {false, true}) {
    far_first = order;
    const std::size_t number = core.in.size();
    keep_one(kCookie);
    driver.at(to).written.clear();
    flush();
    const KeepingCore::Out& sent = forward(number);
    flush();
    EXPECT_EQ(sent.ended, 1U);
    EXPECT_EQ(is_there(number), !order);
    EXPECT_EQ(driver.at(to).written, message(number, kLength));
    turn();
    expect_goes_on();
  }
  expect_counts(1, 1);
}

TEST_F(KeptBrought, IfTheCoreRequestsIt) {
  core.bring_at_once = true;
  keep_one();
  EXPECT_TRUE(is_there(0));
  EXPECT_FALSE(driver.at(from).paused);
  turn();
  expect_goes_on();
  expect_counts(0, 1);
}

TEST_F(KeptBrought, AsOftenAsItComesInOneTurn) {
  core.bring_at_once = true;
  from = arrive(*near, ConnectionType::kBulkIn);
  for (std::size_t i = 0; i < 100; ++i) {
    driver.bring(from, message(i, kLength, kCookie));
    EXPECT_TRUE(is_there(i));
    if (i % 10 == 9) flush();
  }
  flush();
  EXPECT_EQ(near->count(Id::kBrought), 100U);
  EXPECT_EQ(near->count(Id::kAcksSent), 100U);
  expect_goes_on();
}

struct Stranger final : lnet::PayloadKeeper {
  Result<void> bring(lnet::RxHandle rx) override {
    asked = rx;
    return {};
  }
  [[nodiscard]] const void* family() const override { return this; }
  lnet::RxHandle asked{~0U, 0};
};

TEST_F(KeptBrought, IfItsKeeperIsOfAnotherFamily) {
  keep_one();
  Stranger stranger;
  core.stranger = &stranger;
  (void)core.in[0].keeper->bring(core.in[0].rx);
  (void)forward(0);
  EXPECT_EQ(stranger.asked, core.in[0].rx);
  flush();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  EXPECT_EQ(far->count(Id::kRelayed), 0U);
  expect_goes_on();
}

TEST_F(KeptBrought, OnlyByItsHandle) {
  keep_one();
  lnet::PayloadKeeper& keeper = *core.in[0].keeper;
  (void)keeper.bring({.index = 3, .generation = core.in[0].rx.generation});
  (void)keeper.bring({.index = core.in[0].rx.index, .generation = core.in[0].rx.generation + 1});
  EXPECT_TRUE(is_still_away(0));
  (void)keeper.bring(core.in[0].rx);
  EXPECT_TRUE(is_there(0));
  keep_one();
  (void)keeper.bring(core.in[0].rx);
  EXPECT_TRUE(is_still_away(1));
  expect_counts(0, 1);
}

// --- Ends while kept ---

TEST_F(KeptEnd, ByReleasingThePeer) {
  keep_one(kCookie);
  const auto bind = [&] {  // sending to the peer creates a link
    lnet::Transmit* const transmit = &core.make_forward(0, sender_link).transmit;
    transmit->kept = false;
    transmit->header.payload_length = 0;
    transmit->source = {};
    EXPECT_EQ(near->send({&transmit, 1}), 1U);
  };
  const auto control = arrive(*near, ConnectionType::kControl);
  bind();
  near->release_peer(sender_link);
  flush();
  EXPECT_TRUE(is_there(0));
  EXPECT_TRUE(driver.at(from).closing);
  EXPECT_TRUE(driver.at(control).closing);
  driver.report_closed();
  flush();
  EXPECT_EQ(core.released, 1U);
  EXPECT_EQ(core.in[0].received, 0U) << "it was reported already";
  EXPECT_TRUE(near->idle());
  (void)forward(0);
  flush();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  expect_counts(0, 1);
}

TEST_F(KeptEnd, WithTheWholeInterface) {
  keep_one(kCookie);
  (void)forward(0);
  near->shut_down();
  flush();
  EXPECT_TRUE(is_there(0));
  driver.report_closed();
  EXPECT_TRUE(near->idle());
  flush();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
}

TEST_F(KeptEnd, WithASiblingConnection) {
  const auto control = arrive(*near, ConnectionType::kControl);
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  keep_one();
  driver.end(control, Errc::kReset);
  flush();
  EXPECT_TRUE(driver.at(from).closing);
  EXPECT_TRUE(is_there(0));
  driver.report_closed();
  EXPECT_TRUE(near->idle());
  (void)forward(0);
  flush();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  expect_counts(0, 1);
}

TEST_F(KeptEnd, TheEndOfTheStreamIsReportedAfterItsPayload) {
  for (const bool relay : {true, false}) {
    const std::size_t number = core.in.size();
    if (!relay) from = arrive(*near, ConnectionType::kBulkIn);
    keep_one();
    driver.at(to).written.clear();
    driver.at(from).broken = Errc::kReset;
    driver.serve_all();
    EXPECT_FALSE(driver.at(from).ended);
    if (relay) (void)forward(number);
    flush();
    turn();
    if (!relay) (void)forward(number);
    turn();
    EXPECT_EQ(driver.at(to).written, message(number, kLength));
    EXPECT_TRUE(driver.at(from).ended);
    EXPECT_EQ(core.in[number].received, 0U);
    EXPECT_TRUE(near->idle());
    EXPECT_EQ(near->count(Id::kOpen), 0U);
  }
  expect_counts(1, 1);
}

// Acknowledgements that cannot be sent stop reading, but the end of the stream is still noticed.
TEST_F(KeptEnd, TheEndOfTheStreamIsReportedDespiteWaitingAcknowledgements) {
  for (const bool ends : {false, true}) {
    connect();
    driver.at(from).room = 0;
    for (unsigned i = 1; i < kNoopsWaitingMax; ++i)
      driver.bring(from, message(core.in.size(), 0, i));
    EXPECT_FALSE(driver.at(from).paused);
    const std::size_t number = core.in.size();
    keep_one(kCookie);
    (void)forward(number);
    flush();
    EXPECT_EQ(near->count(Id::kAckStops), ends ? 2U : 1U);
    EXPECT_TRUE(driver.at(from).paused);
    EXPECT_FALSE(driver.at(from).holding);
    if (ends) {
      driver.at(from).broken = Errc::kReset;
      turn();
      EXPECT_TRUE(driver.at(from).ended);
    } else {
      driver.give_room(from, SIZE_MAX);
      turn();
      EXPECT_FALSE(driver.at(from).paused);
      expect_goes_on();
    }
  }
  expect_counts(2, 0);
}

// Those of a sibling fill the queue meanwhile, although nothing is read from it; the stream's own
// still finds room.
TEST_F(KeptEnd, WithAllAcknowledgementsTakenByASibling) {
  connect();
  const std::uint32_t control = arrive(*near, ConnectionType::kControl);
  // A kept payload has its buffer to itself until the core has used all others.
  constexpr unsigned kSince = KeepingCore::kSlots - 1;
  for (const bool relay : {false, true}) {
    driver.bring(control, message(core.in.size(), 0, 1));  // the ring begins at another position
    turn();
    driver.at(from).written.clear();
    driver.at(to).written.clear();
    driver.at(from).room = 0;
    Bytes expected;
    const auto acknowledge_to_sibling = [&](std::uint64_t cookie) {
      driver.bring(control, message(core.in.size(), 0, cookie));
      const Bytes one = noop(cookie);
      expected.insert(expected.end(), one.begin(), one.end());
    };
    for (unsigned i = kSince; i < kNoopsWaitingMax; ++i)
      acknowledge_to_sibling(100 + i);
    const std::size_t number = core.in.size();
    keep_one(kCookie);
    for (unsigned i = 0; i < kSince; ++i)
      acknowledge_to_sibling(200 + i);
    EXPECT_EQ(near->count(Id::kAckStops), relay ? 2U : 1U);
    if (relay) {
      (void)forward(number);
    } else {
      (void)core.in[number].keeper->bring(core.in[number].rx);
    }
    flush();
    EXPECT_EQ(is_there(number), !relay);
    EXPECT_EQ(driver.at(to).written, relay ? message(number, kLength) : Bytes{});
    EXPECT_TRUE(driver.at(from).written.empty());
    EXPECT_TRUE(driver.at(from).paused);
    EXPECT_FALSE(driver.at(from).holding);
    EXPECT_FALSE(driver.at(control).paused);
    driver.give_room(from, SIZE_MAX);
    turn();
    const Bytes own = noop(kCookie);
    expected.insert(expected.end(), own.begin(), own.end());
    EXPECT_EQ(driver.at(from).written, expected);
    EXPECT_FALSE(driver.at(from).paused);
    EXPECT_EQ(near->count(Id::kAckStops), relay ? 2U : 1U) << "one stop is counted once";
    expect_goes_on();
  }
  expect_counts(1, 1);
}

TEST_F(KeptEnd, WithTheNextHopsConnectionBeforeFlush) {
  keep_one(kCookie);
  const KeepingCore::Out& sent = forward(0);
  driver.end(to, Errc::kReset);
  EXPECT_TRUE(is_still_away(0));
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_FALSE(sent.status.has_value());
  EXPECT_TRUE(is_there(0));
  flush();
  EXPECT_EQ(driver.at(from).written, noop(kCookie));
  expect_goes_on();
  expect_counts(0, 1);
}

TEST_F(KeptEnd, WithACancelledOrLateMessage) {
  for (const bool late : {false, true}) {
    const std::size_t number = core.in.size();
    keep_one(kCookie);
    driver.at(to).written.clear();
    KeepingCore::Out& made = core.make_forward(number, hop_link);
    lnet::Transmit* const transmit = &made.transmit;
    if (late) transmit->deadline = now;
    EXPECT_EQ(far->send({&transmit, 1}), 1U);
    if (!late) far->cancel(*transmit);
    flush();
    turn();
    EXPECT_EQ(made.ended, 1U);
    const Bytes& written = driver.at(to).written;
    EXPECT_TRUE(made.status ? written == message(number, kLength) : written.empty());
    expect_goes_on();
  }
}

TEST_F(KeptEnd, WithAMessageCancelledAfterAPartialRelay) {
  keep_one();
  driver.at(to).room = 0;
  const KeepingCore::Out& sent = forward(0);
  flush();
  EXPECT_TRUE(is_there(0));
  far->cancel(core.out[0].transmit);
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_FALSE(sent.status.has_value());
  driver.give_room(to, SIZE_MAX);
  turn();
  EXPECT_TRUE(driver.at(to).written.empty());
  expect_goes_on();
  expect_counts(0, 1);
}

TEST_F(KeptEnd, WithAMessageCancelledAfterItsEnd) {
  keep_one();
  (void)forward(0);
  flush();
  turn();
  keep_one();
  far->release_peer(hop_link);
  const KeepingCore::Out& sent = forward(1);
  far->cancel(core.out[1].transmit);
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_EQ(sent.status.error(), Errc::kShutdown) << "the first end stays";
  turn();
  expect_goes_on();
}

TEST_F(KeptEnd, WithAMessageToAReleasedPeer) {
  keep_one();
  (void)forward(0);
  flush();
  turn();
  keep_one();
  far->release_peer(hop_link);
  const KeepingCore::Out& sent = forward(1);
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_FALSE(sent.status.has_value());
  EXPECT_EQ(sent.status.error(), Errc::kShutdown);
  EXPECT_TRUE(is_there(1)) << "the core has it brought";
  turn();
  EXPECT_EQ(core.released, 1U);
  expect_goes_on();
}

}  // namespace
}  // namespace plnet::socklnd::lnd_kept_end_test
