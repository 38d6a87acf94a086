// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/outgoing.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::socklnd {
namespace {

using lnet::Nid;
using lnet::Transmit;

constexpr std::size_t kHead = kFrameBytes + lnet::kHeaderNid4Bytes;

// Messages with payloads in an arena, in fragments of 100 bytes from the back to the front.
class OutgoingTest : public testing::Test {
 protected:
  OutgoingTest() : bytes_(1U << 20U) {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      bytes_[i] = static_cast<std::byte>(i * 7 + i / 256);
    PLNET_CHECK(arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).has_value(), "room");
  }

  Transmit& message(std::uint32_t length, std::uint32_t fragment_bytes = 100) {
    auto& fragments = fragments_.emplace_back();
    for (std::uint32_t left = length; left > 0;) {
      const std::uint32_t part = std::min(left, fragment_bytes);
      left -= part;
      fragments.push_back({.at = {0, left}, .length = part});
    }
    Transmit& transmit = messages_.emplace_back();
    transmit.header.destination = Nid::of(lnet::NetType::kTcp, 0, 1);
    transmit.header.source = Nid::of(lnet::NetType::kTcp, 0, 2);
    transmit.header.type = lnet::MessageType::kPut;
    transmit.header.payload_length = length;
    transmit.source = {.fragments = fragments, .offset = 0, .length = length};
    return transmit;
  }
  [[nodiscard]] std::vector<std::byte> wire(const Transmit& transmit) const {
    std::vector<std::byte> out(kHead);
    encode_frame({.type = kFrameLnet}, std::span(out).first<kFrameBytes>());
    encode_header_nid4_truncating(transmit.header,
                                  std::span(out).subspan<kFrameBytes, lnet::kHeaderNid4Bytes>());
    for (const Fragment& fragment : transmit.source.fragments) {
      const auto bytes = arenas_.bytes(fragment);
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
    return out;
  }
  [[nodiscard]] std::vector<std::byte> gathered() const {
    std::vector<std::byte> out;
    for (const auto piece : outgoing_.pieces())
      out.insert(out.end(), piece.begin(), piece.end());
    EXPECT_EQ(out.size(), outgoing_.bytes());
    return out;
  }
  [[nodiscard]] bool add(const Transmit& transmit) {
    return outgoing_.add(transmit, Protocol::kV3, arenas_);
  }

  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  std::deque<std::vector<Fragment>> fragments_;
  std::deque<Transmit> messages_;
  Outgoing outgoing_;
};

TEST_F(OutgoingTest, SmallMessagesAndNoopsAreOnePieceInTheirOrder) {
  outgoing_.begin(0);
  outgoing_.add_noop(42);
  std::vector<std::byte> expected(kFrameBytes);
  encode_frame({.type = kFrameNoop, .cookies = {0, 42}}, std::span(expected).first<kFrameBytes>());
  for (const std::uint32_t length : {0U, 1U, 64U, 250U, Outgoing::kCopiedPayloadMax}) {
    const Transmit& transmit = message(length);
    ASSERT_TRUE(add(transmit));
    const auto bytes = wire(transmit);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  EXPECT_EQ(outgoing_.pieces().size(), 1U);
  EXPECT_EQ(gathered(), expected);
  ASSERT_EQ(outgoing_.items().size(), 6U);
  EXPECT_TRUE(outgoing_.items()[0].noop);
  EXPECT_EQ(outgoing_.items()[3].bytes, kHead + 64);
}

TEST_F(OutgoingTest, NoPayloadIsReadByOneThatMayNotCopy) {
  Outgoing outgoing(0);
  const Transmit& transmit = message(64);
  outgoing.begin(0);
  ASSERT_TRUE(outgoing.add(transmit, Protocol::kV3, arenas_));
  ASSERT_EQ(outgoing.pieces().size(), 2U);
  EXPECT_EQ(outgoing.pieces()[0].size(), kHead);
  EXPECT_EQ(outgoing.pieces()[1].data(), arenas_.bytes(transmit.source.fragments[0]).data());
  EXPECT_EQ(outgoing.pieces()[1].size(), 64U);
}

TEST_F(OutgoingTest, AMessageGoesOnAtAnyByte) {
  const std::uint32_t large = Outgoing::kCopiedPayloadMax + 300;
  for (const std::uint32_t length : {0U, 130U, large}) {
    const Transmit& first = message(length);
    const Transmit& second = message(8);
    auto expected = wire(first);
    const auto tail = wire(second);
    expected.insert(expected.end(), tail.begin(), tail.end());
    for (std::size_t skip = 0; skip < kHead + length; ++skip) {
      outgoing_.begin(skip);
      ASSERT_TRUE(add(first));
      ASSERT_TRUE(add(second));
      const std::vector<std::byte> rest(expected.begin() + static_cast<long>(skip), expected.end());
      ASSERT_EQ(gathered(), rest) << "length " << length << " skip " << skip;
    }
  }
}

TEST_F(OutgoingTest, ANoopGoesOnAtAnyByte) {
  for (std::size_t skip = 0; skip < kFrameBytes; ++skip) {
    outgoing_.begin(skip);
    outgoing_.add_noop(7);
    ASSERT_TRUE(add(message(0)));
    EXPECT_EQ(gathered().size(), kFrameBytes - skip + kHead);
  }
}

TEST_F(OutgoingTest, AFullOneHoldsNoMoreThanItsLimits) {
  outgoing_.begin(0);
  const Transmit& empty = message(0);
  while (!outgoing_.full())
    ASSERT_TRUE(add(empty));
  EXPECT_EQ(outgoing_.items().size(), Outgoing::kItemsMax);
  EXPECT_EQ(outgoing_.pieces().size(), 1U);

  outgoing_.begin(0);
  const Transmit& copied = message(Outgoing::kCopiedPayloadMax);
  while (!outgoing_.full())
    ASSERT_TRUE(add(copied));
  EXPECT_LT(outgoing_.items().size(), Outgoing::kItemsMax);

  outgoing_.begin(0);
  const Transmit& large = message(Outgoing::kCopiedPayloadMax + 1, 2000);
  while (!outgoing_.full())
    ASSERT_TRUE(add(large));
  EXPECT_LE(outgoing_.pieces().size(), Outgoing::kPiecesMax);
}

TEST_F(OutgoingTest, MessagesOfManyPiecesAreWrittenInParts) {
  const std::uint32_t length = 100 * (Outgoing::kPiecesMax + 50);
  const Transmit& transmit = message(length);
  const auto expected = wire(transmit);
  outgoing_.begin(0);
  ASSERT_FALSE(add(transmit));
  auto all = gathered();
  ASSERT_LT(all.size(), expected.size());
  outgoing_.begin(all.size());
  ASSERT_TRUE(add(transmit));
  const auto rest = gathered();
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace plnet::socklnd
