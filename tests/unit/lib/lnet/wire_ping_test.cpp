// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet::wire_ping_test {
namespace {

using Buffer = std::vector<std::byte>;
using Entries = std::vector<PingEntry>;

Buffer build(const Entries& interfaces, bool routing = false) {
  Buffer buffer(kPingBytesMax);
  const auto length =
      build_ping({.routing = routing, .sequence = 9, .interfaces = interfaces}, buffer);
  EXPECT_TRUE(length.has_value());
  buffer.resize(length.value_or(0));
  return buffer;
}

void put_word(Buffer& buffer, std::size_t at, std::uint32_t value) {
  std::memcpy(buffer.data() + at, &value, sizeof value);
}

Entries entries_of(const PingView& view) {
  Entries entries;
  auto walk = view.walk();
  while (const auto entry = walk.next())
    entries.push_back(*entry);
  return entries;
}

const Entries kMixed{{nid("192.168.1.20@tcp"), kNiUp},
                     {nid("2001:db8::14@tcp1"), kNiDown},
                     {nid("418@kfi"), kNiDown},
                     {nid("2001:db8::15@tcp1"), kNiUp}};

TEST(PingBuffer, SmallEntriesFirstThenLargeOnes) {
  const Buffer buffer = build(kMixed, true);
  ASSERT_EQ(buffer.size(), 16U + 3 * 16 + 2 * 24);
  const auto view = PingView::parse(buffer).value();
  EXPECT_EQ(entries_of(view), (Entries{kMixed[0], kMixed[2], kMixed[1], kMixed[3]}));
  EXPECT_TRUE(view.routes());
  EXPECT_EQ(view.features(), 0x3aU);
  EXPECT_EQ(view.sequence(), 9U);
  EXPECT_EQ(view.pid(), kLustrePid);
  EXPECT_EQ(view.primary(), kMixed[0].nid);
}

TEST(PingBuffer, WithoutInterfacesThereIsNoPrimary) {
  const Buffer buffer = build({});
  ASSERT_EQ(buffer.size(), 32U);
  const auto view = PingView::parse(buffer).value();
  EXPECT_TRUE(entries_of(view).empty());
  EXPECT_FALSE(view.primary().has_value());
}

TEST(PingBuffer, EveryCutIsNoticed) {
  const Buffer buffer = build(kMixed);
  std::size_t most = 0;
  for (std::size_t length = 0; length < buffer.size(); ++length) {
    const auto view = PingView::parse(std::span(buffer).first(length));
    if (length < 32) {
      EXPECT_EQ(view.error(), Errc::kProtocol);
      continue;
    }
    ASSERT_TRUE(view.has_value());
    EXPECT_TRUE(view->truncated());
    EXPECT_EQ(view->total_bytes(), buffer.size());
    const auto entries = entries_of(*view);
    EXPECT_GE(entries.size(), most);
    EXPECT_LT(entries.size(), kMixed.size());
    most = entries.size();
  }
  EXPECT_EQ(most, kMixed.size() - 1);
}

TEST(PingBuffer, ValidationCodes) {
  const Buffer good = build(kMixed);
  const auto code = [&](std::size_t at, std::uint32_t value) {
    Buffer bad = good;
    put_word(bad, at, value);
    const auto view = PingView::parse(bad);
    return view ? Errc::kBusy : view.error();  // kBusy: it was accepted
  };
  EXPECT_EQ(code(0, 0x70696e68), Errc::kProtocol);
  EXPECT_EQ(code(4, kPingBase | kPingMultiRail), Errc::kProtocol);
  EXPECT_EQ(code(12, 0), Errc::kOutOfRange);
  EXPECT_EQ(code(12, 201), Errc::kOutOfRange);
  EXPECT_EQ(code(12, 200), Errc::kBusy);
  EXPECT_EQ(code(16, 1), Errc::kProtocol);                      // entry 0 is not 0@lo
  EXPECT_EQ(code(20, 0x00020000), Errc::kProtocol);             // likewise
  EXPECT_EQ(code(4, 0xffffff00 | kPingNiStatus), Errc::kBusy);  // unknown bits are accepted
  EXPECT_EQ(PingView::parse(good, 2).error(), Errc::kOutOfRange);
}

TEST(PingBuffer, DeclaredSizeBoundsTheWalk) {
  Buffer buffer = build(kMixed);
  const auto walk_with_size = [&](std::uint32_t size) {
    put_word(buffer, 28, size);
    return entries_of(PingView::parse(buffer).value());
  };
  EXPECT_EQ(walk_with_size(0).size(), 0U);
  EXPECT_EQ(walk_with_size(63).size(), 1U);  // the two lowest bits are ignored
  EXPECT_EQ(walk_with_size(64).size(), 2U);
  EXPECT_EQ(walk_with_size(112).size(), 4U);
  EXPECT_EQ(walk_with_size(115).size(), 4U);
  EXPECT_EQ(walk_with_size(0xffffffff).size(), 4U);
  EXPECT_TRUE(PingView::parse(buffer).value().truncated());
}

TEST(PingBuffer, MetadataIsIgnored) {
  Buffer buffer = build(kMixed);
  const auto before = entries_of(PingView::parse(buffer).value());
  put_word(buffer, 4, PingView::parse(buffer).value().features() | kPingMetadata);
  buffer.resize(buffer.size() + 4 + 40, std::byte{0x55});
  const auto view = PingView::parse(buffer).value();
  EXPECT_EQ(entries_of(view), before);
  EXPECT_FALSE(view.truncated());
}

TEST(PingBuffer, AnUnsupportedLargeNidIsSkipped) {
  Buffer buffer = build({{nid("10.0.0.1@tcp"), kNiUp}, {nid("2001:db8::1@tcp"), kNiUp}});
  Buffer longer(buffer.begin(), buffer.begin() + 48);
  Buffer strange(4 + 8 + 24, std::byte{7});  // 24 bytes beyond the first eight: a multiple of four
  strange[4] = std::byte{24};
  longer.insert(longer.end(), strange.begin(), strange.end());
  longer.insert(longer.end(), buffer.begin() + 48, buffer.end());
  put_word(longer, 28, static_cast<std::uint32_t>(longer.size()));
  const auto entries = entries_of(PingView::parse(longer).value());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[1].nid, nid("2001:db8::1@tcp"));
}

TEST(PingBuffer, RefusesToTellNonsense) {
  Buffer out(kPingBytesMax);
  const auto code = [&](const Entries& entries) {
    const auto built = build_ping({.interfaces = entries}, out);
    return built ? Errc::kBusy : built.error();  // kBusy: it was built
  };
  EXPECT_EQ(code({{nid("0@lo"), kNiUp}}), Errc::kInvalid);
  EXPECT_EQ(code({{Nid::any(), kNiUp}}), Errc::kInvalid);
  // clients of 2.12 would refuse the whole buffer
  EXPECT_EQ(code({{nid("1@kfi"), 0}}), Errc::kInvalid);
  EXPECT_EQ(code(Entries(200, {nid("1@kfi"), kNiUp})), Errc::kTooBig);
  EXPECT_EQ(code(Entries(199, {nid("1@kfi"), kNiUp})), Errc::kBusy);
  EXPECT_EQ(code(Entries(199, {nid("::7@tcp"), kNiUp})), Errc::kBusy);
  out.resize(47);
  EXPECT_EQ(code({{nid("1@kfi"), kNiUp}}), Errc::kNoSpace);
}

TEST(PingBuffer, StatusChangesInPlace) {
  Buffer buffer = build(kMixed);
  for (const PingEntry& entry : kMixed) {
    const std::uint32_t other = entry.status == kNiUp ? kNiDown : kNiUp;
    EXPECT_TRUE(set_ping_status(buffer, entry.nid, other));
    Entries changed = kMixed;
    for (PingEntry& candidate : changed) {
      if (candidate.nid == entry.nid) candidate.status = other;
    }
    EXPECT_EQ(buffer, build(changed));
    EXPECT_TRUE(set_ping_status(buffer, entry.nid, entry.status));
  }
  EXPECT_FALSE(set_ping_status(buffer, nid("9@kfi"), kNiUp));
  EXPECT_FALSE(set_ping_status(buffer, nid("2001:db8::16@tcp1"), kNiUp));
  EXPECT_EQ(buffer, build(kMixed));
}

TEST(PingBuffer, RandomListsSurvive) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    Entries entries;
    const auto count = random.below(20);
    for (std::uint64_t i = 0; i < count; ++i) {
      Nid one = Nid::of(NetType::kTcp, static_cast<std::uint16_t>(random.below(9)),
                        static_cast<std::uint32_t>(random.next()));
      if (random.chance(0.4)) {
        one.size = static_cast<std::uint8_t>(random.between(1, 12));
        for (std::size_t byte = 4; byte < 4U + one.size; ++byte)
          one.address_be[byte] = static_cast<std::uint8_t>(random.next());
      }
      entries.push_back({one, random.chance(0.5) ? kNiUp : kNiDown});
    }
    const Buffer buffer = build(entries);
    const auto view = PingView::parse(buffer).value();
    Entries expected;
    for (const bool large : {false, true}) {
      std::ranges::copy_if(entries, std::back_inserter(expected),
                           [large](const auto& e) { return e.nid.is_large() == large; });
    }
    ASSERT_EQ(entries_of(view), expected);
    ASSERT_EQ(view.primary(), entries.empty() ? std::nullopt : std::optional(entries[0].nid));
  }
}

}  // namespace
}  // namespace plnet::lnet::wire_ping_test
