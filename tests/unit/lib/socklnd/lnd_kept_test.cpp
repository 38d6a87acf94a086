// SPDX-License-Identifier: BSD-3-Clause
// Payloads that are kept in their socket: awaiting them, and relaying them to the next hop. All
// bytes are correct, and the receiving connection continues at the right one.
#include <utility>

#include <gtest/gtest.h>

#include "lib/socklnd/checksum.hpp"
#include "tests/unit/lib/socklnd/keeping_site.hpp"

namespace plnet::socklnd::lnd_kept_test {
namespace {

using KeptAwait = KeepingSite;
using KeptRelay = KeepingSite;

// --- Awaited payload ---

TEST_F(KeptAwait, TheRestOfALargePayloadIfItMayBeKept) {
  from = arrive(*near, ConnectionType::kBulkIn);
  const Bytes whole = message(0, kLength);
  driver.bring(from, std::span(whole).first(kRead));
  EXPECT_EQ(driver.at(from).awaited, whole.size() - kRead);
  driver.bring(from, std::span(whole).subspan(kRead, whole.size() - kRead - 1));
  EXPECT_EQ(core.in[0].kept, 0U) << "a byte is missing";
  driver.bring(from, std::span(whole).last(1));
  EXPECT_EQ(core.in[0].kept, 1U);
  EXPECT_EQ(core.in[0].received, 0U);
  EXPECT_TRUE(driver.at(from).paused);
  EXPECT_TRUE(is_still_away(0));
  turn();
  turn();
  EXPECT_EQ(core.in[0].kept, 1U);
  EXPECT_EQ(core.in[0].received, 0U);
  EXPECT_EQ(driver.awaits, 1U);
}

TEST_F(KeptAwait, NoPayloadThatMayNotBeKept) {
  core.may_keep = false;
  from = arrive(*near, ConnectionType::kBulkIn);
  driver.bring(from, message(0, kLength));
  EXPECT_EQ(driver.awaits, 0U);
  EXPECT_EQ(core.in[0].received, 1U);
  EXPECT_TRUE(is_there(0));
  expect_goes_on();
}

TEST_F(KeptAwait, NoPayloadWithTooFewBytesLeft) {
  from = arrive(*near, ConnectionType::kBulkIn);
  const auto here = static_cast<std::uint32_t>(kRead - kHead);
  driver.bring(from, message(0, here + kLeast - 1));
  EXPECT_EQ(driver.awaits, 0U);
  EXPECT_EQ(core.in[0].received, 1U);
  driver.bring(from, message(1, here + kLeast));
  EXPECT_EQ(driver.awaits, 1U);
  EXPECT_EQ(core.in[1].kept, 1U);
}

TEST_F(KeptAwait, NoPayloadThatIsNotWanted) {
  near = make_lnd(near_nid, 0);
  EXPECT_FALSE(near->traits().takes_kept);
  EXPECT_TRUE(far->traits().takes_kept);
  from = arrive(*near, ConnectionType::kBulkIn);
  driver.bring(from, message(0, kLength));
  EXPECT_EQ(driver.awaits, 0U);
  expect_goes_on();
}

// The payload must be read for the checksum.
TEST_F(KeptAwait, NoPayloadWithAChecksum) {
  for (const Protocol protocol : {Protocol::kV2, Protocol::kV3}) {
    from = arrive(*near, ConnectionType::kBulkIn, protocol);
    const std::size_t number = core.in.size();
    Bytes whole = message(number, kLength);
    const auto summed = std::span(whole).subspan(protocol == Protocol::kV2 ? 0 : kHead);
    set_frame_checksum(add_to_checksum(kChecksumStart, summed),
                       std::span(whole).first<kFrameBytes>());
    driver.bring(from, whole);
    EXPECT_EQ(driver.awaits, 0U);
    ASSERT_EQ(core.in.size(), number + 1);
    EXPECT_EQ(core.in[number].received, 1U);
    EXPECT_TRUE(is_there(number));
    expect_goes_on();
    driver.end(from, Errc::kClosed);
    turn();
  }
  EXPECT_EQ(near->count(Id::kClosedSum), 0U);
}

TEST_F(KeptAwait, APayloadOfV2WithoutAChecksum) {
  from = arrive(*near, ConnectionType::kBulkIn, Protocol::kV2);
  driver.bring(from, message(0, kLength));
  EXPECT_EQ(core.in[0].kept, 1U);
}

TEST_F(KeptAwait, NoPayloadThatIsWantedPartly) {
  core.slop = 1;
  from = arrive(*near, ConnectionType::kBulkIn);
  driver.bring(from, message(0, kLength));
  EXPECT_EQ(driver.awaits, 0U);
  EXPECT_EQ(core.in[0].received, 1U);
  core.slop = 0;
  expect_goes_on();
}

TEST_F(KeptAwait, ParkedPayloadOnceDecided) {
  core.park = true;
  from = arrive(*near, ConnectionType::kBulkIn);
  driver.bring(from, message(0, kLength));
  turn();
  EXPECT_EQ(driver.awaits, 0U);
  near->resume(core.in[0].rx, core.decision_of(0));
  flush();
  turn();
  EXPECT_EQ(core.in[0].kept, 1U);
}

TEST_F(KeptAwait, LongParkedPayloadIsNotLateWhenDecided) {
  const auto a_second_later = [this] {
    now += std::chrono::seconds(1);
    flush();
  };
  core.park = true;
  core.may_keep = false;
  from = arrive(*near, ConnectionType::kBulkIn);
  const Bytes whole = message(0, kLength);
  driver.bring(from, std::span(whole).first(kHead));
  for (unsigned i = 0; i < 120; ++i)
    a_second_later();
  near->resume(core.in[0].rx, core.decision_of(0));
  for (unsigned i = 0; i < 10; ++i)
    a_second_later();
  EXPECT_EQ(near->count(Id::kClosedRxStuck), 0U);
  core.park = false;
  driver.bring(from, std::span(whole).subspan(kHead));
  EXPECT_TRUE(is_there(0));
  expect_goes_on();
}

TEST_F(KeptAwait, PayloadThatTheDriverStopsAwaiting) {
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  const Bytes whole = message(0, kLength);
  driver.bring(from, std::span(whole).first(kRead));
  EXPECT_GT(driver.at(from).awaited, 0U);
  driver.bring(from, std::span(whole).subspan(kRead, 2 * kRead));
  driver.lose_patience(from);
  driver.bring(from, std::span(whole).subspan(3 * kRead));
  EXPECT_EQ(driver.awaits, 1U) << "one try for each message";
  EXPECT_EQ(core.in[0].kept, 0U);
  EXPECT_EQ(core.in[0].received, 1U);
  EXPECT_TRUE(is_there(0));
  turn();
  keep_one();
}

// A driver that reports it late does no harm.
TEST_F(KeptAwait, ReportsAboutEndedMessagesAreIgnored) {
  from = arrive(*near, ConnectionType::kBulkIn);
  const Bytes whole = message(0, kLength);
  driver.bring(from, std::span(whole).first(kRead));
  driver.lose_patience(from);
  driver.bring(from, std::span(whole).subspan(kRead));
  EXPECT_EQ(core.in[0].received, 1U);
  driver.tell_awaited(from);

  core.may_keep = false;
  const Bytes next = message(1, kLength);
  driver.bring(from, std::span(next).first(kRead));
  driver.tell_awaited(from);
  EXPECT_FALSE(driver.at(from).paused);
  driver.bring(from, std::span(next).subspan(kRead));
  EXPECT_EQ(core.in[1].received, 1U);

  core.park = true;
  driver.bring(from, head(kLength));
  driver.tell_awaited(from);
  EXPECT_EQ(core.in[2].kept, 0U);
  near->resume(core.in[2].rx, core.decision_of(2));
  flush();
  near->release_peer(sender_link);  // not bound: no effect
  driver.at(from).broken = Errc::kReset;
  turn();
  driver.tell_awaited(from);
  EXPECT_EQ(core.in[2].received, 1U);
  EXPECT_TRUE(near->idle());
}

TEST_F(KeptAwait, ReportsForAClosingConnectionAreIgnored) {
  from = arrive(*near, ConnectionType::kBulkIn);
  const Bytes whole = message(0, kLength);
  driver.bring(from, std::span(whole).first(kRead));
  near->shut_down();
  flush();
  ASSERT_TRUE(driver.at(from).closing);
  driver.tell_awaited(from);
  EXPECT_EQ(core.in[0].kept, 0U);
  driver.report_closed();
  EXPECT_EQ(core.in[0].received, 1U);
  EXPECT_TRUE(core.in[0].failed);
}

TEST_F(KeptAwait, TheEndOfTheStreamIsNoticed) {
  from = arrive(*near, ConnectionType::kBulkIn);
  const Bytes whole = message(0, kLength);
  driver.bring(from, std::span(whole).first(3 * kRead));
  EXPECT_GT(driver.at(from).awaited, 0U);
  driver.lose_patience(from);
  driver.end(from, Errc::kReset);
  turn();
  EXPECT_TRUE(core.in[0].failed);
  EXPECT_TRUE(near->idle());
}

// --- Relayed payload ---

TEST_F(KeptRelay, GoesToTheNextHopAsItIs) {
  keep_one(kCookie);
  EXPECT_TRUE(driver.at(from).written.empty()) << "it is acknowledged when it is out of the socket";
  const KeepingCore::Out& sent = forward(0);
  EXPECT_TRUE(sent.transmit.kept);
  flush();
  EXPECT_EQ(sent.ended, 1U);
  EXPECT_TRUE(sent.status.has_value());
  EXPECT_FALSE(sent.transmit.kept);
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  EXPECT_TRUE(is_still_away(0)) << "no byte used its buffer";
  EXPECT_FALSE(driver.at(from).paused);
  EXPECT_EQ(driver.at(from).next_read_max, 4096U) << "the next one may be relayed, too";
  turn();
  EXPECT_EQ(driver.at(from).written, noop(kCookie));
  EXPECT_EQ(near->count(Id::kAcksSent), 1U);
  EXPECT_EQ(far->count(Id::kSent), 1U);
  expect_goes_on();
  expect_counts(1, 0);
}

TEST_F(KeptRelay, WhicheverOfTheTwoIsServedFirst) {
  far_first = true;
  keep_one(kCookie);
  (void)forward(0);
  flush();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  turn();
  expect_goes_on();
  expect_counts(1, 0);
}

TEST_F(KeptRelay, SeveralInARow) {
  for (std::size_t i = 0; i < 20; ++i) {
    keep_one(kCookie + i);
    (void)forward(i);
    flush();
    EXPECT_EQ(driver.at(to).written, message(i, kLength));
    driver.at(to).written.clear();
    turn();
  }
  expect_counts(20, 0);
  EXPECT_EQ(near->count(Id::kAcksSent), 20U);
  expect_goes_on();
}

// The message has ended in either way, and its connection awaits nothing.
TEST_F(KeptRelay, SilenceForMinutesAfterwards) {
  for (const bool relayed : {true, false}) {
    SCOPED_TRACE(relayed);
    keep_one(kCookie);
    if (relayed) (void)forward(core.in.size() - 1);
    turn();
    turn();
    EXPECT_EQ(near->count(Id::kBrought), relayed ? 0U : 1U);
    for (unsigned i = 0; i < 120; ++i) {
      now += std::chrono::seconds(1);
      turn();
    }
    EXPECT_EQ(near->count(Id::kClosedRxStuck), 0U);
    EXPECT_FALSE(driver.at(from).closing);
  }
  driver.end(from, Errc::kClosed);
  turn();
  EXPECT_EQ(near->count(Id::kClosedInMessage), 0U);
  EXPECT_EQ(near->count(Id::kClosedByPeer), 1U);
}

TEST_F(KeptRelay, FollowingBytesWaitInTheSocket) {
  keep_one();
  Bytes more = message(1, 500);
  const Bytes third = message(2, kLength);
  more.insert(more.end(), third.begin(), third.end());
  driver.bring(from, more);
  EXPECT_EQ(core.in.size(), 1U);
  (void)forward(0);
  turn();
  EXPECT_EQ(driver.at(to).written, message(0, kLength));
  driver.serve_all();
  ASSERT_EQ(core.in.size(), 3U);
  EXPECT_TRUE(is_there(1));
  EXPECT_EQ(core.in[2].kept, 1U);
  (void)forward(2);
  flush();
  const Bytes& written = driver.at(to).written;
  EXPECT_EQ(Bytes(written.begin() + kHead + kLength, written.end()), message(2, kLength));
  expect_counts(2, 0);
  expect_goes_on();
}

// The first message of a turn is relayed, and the others follow it directly.
TEST_F(KeptRelay, TheFirstOfSeveral) {
  const auto other = arrive(*near, ConnectionType::kControl);
  from = arrive(*near, ConnectionType::kBulkIn);
  to = arrive(*far, ConnectionType::kBulkOut);
  keep_one(kCookie);
  driver.bring(other, message(1, kLength, kCookie + 1));
  ASSERT_EQ(core.in[1].kept, 1U);
  (void)forward(0);
  (void)forward(1);
  EXPECT_TRUE(is_still_away(0));
  EXPECT_TRUE(is_there(1));
  flush();
  Bytes expected = message(0, kLength);
  const Bytes second = message(1, kLength);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(driver.at(to).written, expected);
  turn();
  EXPECT_EQ(near->count(Id::kAcksSent), 2U);
  expect_goes_on();
  expect_counts(1, 1);
}

// A connection of type "any", or a router that sends back to the source.
TEST_F(KeptRelay, BackToWhereItCameFrom) {
  from = to = arrive(*far, ConnectionType::kControl);
  driver.bring(from, message(0, kLength, kCookie));
  ASSERT_EQ(core.in[0].kept, 1U);
  (void)forward(0);
  flush();
  turn();
  Bytes expected = message(0, kLength);
  const Bytes ack = noop(kCookie);
  expected.insert(expected.end(), ack.begin(), ack.end());
  EXPECT_EQ(driver.at(to).written, expected);
  EXPECT_EQ(far->count(Id::kRelayed), 1U);
  EXPECT_TRUE(far->idle());
}

// At every position where the next hop's connection stops accepting.
TEST_F(KeptRelay, PartialRelaysAreCompletedFromTheBuffer) {
  constexpr std::size_t kAll = kHead + kLength;
  std::uint64_t brought = 0;
  std::uint64_t relayed = 0;
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{1}, kFrameBytes, kHead - 1, kHead, kHead + 1, kRead - 1, kRead,
        kRead + 1, kHead + 4999, kHead + 5000, kHead + 5001, kHead + 5002, kAll - 1, kAll}) {
    SCOPED_TRACE(cut);
    const std::size_t number = core.in.size();
    keep_one(kCookie);
    driver.at(to).written.clear();
    driver.at(to).room = cut;
    const KeepingCore::Out& sent = forward(number);
    flush();
    EXPECT_EQ(driver.at(to).written.size(), cut);
    EXPECT_EQ(sent.ended, cut == kAll ? 1U : 0U);
    (cut == kAll ? relayed : brought) += 1;
    expect_counts(relayed, brought);
    EXPECT_EQ(is_still_away(number), cut == kAll);
    EXPECT_FALSE(driver.at(from).holding || driver.at(from).paused);
    EXPECT_EQ(std::exchange(driver.at(from).next_read_max, 0), cut == kAll ? 4096U : 0U);
    if (cut < kAll) {  // the part that was sent is not needed any more
      const Bytes rest = core.target_of(number);
      const std::size_t gone = cut > kRead ? cut - kHead : 0;
      const Bytes expected = pattern(number, kLength);
      EXPECT_TRUE(
          std::ranges::equal(std::span(rest).subspan(gone), std::span(expected).subspan(gone)));
    }
    expect_goes_on_here();
    for (unsigned i = 0; i < 3; ++i) {
      driver.give_room(to, 4000);
      turn();
    }
    driver.give_room(to, SIZE_MAX);
    turn();
    EXPECT_EQ(driver.at(to).written, message(number, kLength));
    EXPECT_EQ(sent.ended, 1U);
    expect_goes_on();
  }
}

}  // namespace
}  // namespace plnet::socklnd::lnd_kept_test
