// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/flow/router_buffers.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::lnet::router_buffers_test {
namespace {

constexpr RouterMemory kMemory{.at = {.arena = 3, .offset = 512}, .most = {{4, 5, 6}}};

std::uint64_t place(const RouterBuffers& buffers, BufferRef buffer) {
  return buffers.payload(buffer, 1).fragments[0].at.offset;
}

TEST(RouterBuffers, AreTheFirstThatHoldThePayload) {
  EXPECT_EQ(buffer_class_of(0), BufferClass::kTiny);
  EXPECT_EQ(buffer_class_of(1), BufferClass::kSmall);
  EXPECT_EQ(buffer_class_of(4096), BufferClass::kSmall);
  EXPECT_EQ(buffer_class_of(4097), BufferClass::kLarge);
  EXPECT_EQ(buffer_class_of(kPayloadBytesMax), BufferClass::kLarge);
}

TEST(RouterBuffers, NeverShareAByte) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize(kMemory.most));
  struct Piece {
    std::uint64_t from;
    std::uint64_t to;
  };
  std::vector<Piece> pieces;
  for (const BufferClass each : {BufferClass::kSmall, BufferClass::kLarge}) {
    while (buffers.free_count(each) > 0) {
      const std::uint64_t at = place(buffers, buffers.take(each));
      pieces.push_back({at, at + kBufferBytes[each]});
    }
  }
  std::ranges::sort(pieces, {}, &Piece::from);
  EXPECT_EQ(pieces.front().from, kMemory.at.offset);
  for (std::size_t i = 1; i < pieces.size(); ++i)
    EXPECT_EQ(pieces[i].from, pieces[i - 1].to);
  EXPECT_EQ(pieces.back().to, kMemory.at.offset + RouterMemory::bytes(kMemory.most));
}

TEST(RouterBuffers, TheOneThatCameBackLastGoesFirst) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{1, 3, 1}}));
  const BufferRef a = buffers.take(BufferClass::kSmall);
  const BufferRef b = buffers.take(BufferClass::kSmall);
  buffers.give(a);
  buffers.give(b);
  EXPECT_EQ(place(buffers, buffers.take(BufferClass::kSmall)), place(buffers, b));
  EXPECT_EQ(place(buffers, buffers.take(BufferClass::kSmall)), place(buffers, a));
}

TEST(RouterBuffers, BuffersWithoutPayloadNeedNoMemory) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{1, 0, 0}}));
  EXPECT_TRUE(buffers.payload(buffers.take(BufferClass::kTiny), 0).empty());
}

TEST(RouterBuffers, AreThereAtOnceWhenMoreAreWanted) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{1, 2, 1}}));
  const BufferRef held = buffers.take(BufferClass::kSmall);
  ASSERT_TRUE(buffers.resize({{1, 5, 1}}));
  EXPECT_EQ(buffers.free_count(BufferClass::kSmall), 4U);
  std::vector<std::uint64_t> places{place(buffers, held)};
  while (buffers.free_count(BufferClass::kSmall) > 0)
    places.push_back(place(buffers, buffers.take(BufferClass::kSmall)));
  std::ranges::sort(places);
  EXPECT_EQ(std::ranges::adjacent_find(places), places.end()) << "lent twice";
}

TEST(RouterBuffers, TooManyGoFreeOnesAtOnceOthersWhenTheyComeBack) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{0, 5, 0}}));
  std::vector<BufferRef> held;
  for (int i = 0; i < 4; ++i)
    held.push_back(buffers.take(BufferClass::kSmall));
  ASSERT_TRUE(buffers.resize({{0, 2, 0}}));
  EXPECT_EQ(buffers.total(BufferClass::kSmall), 4U);
  EXPECT_EQ(buffers.free_count(BufferClass::kSmall), 0U);
  for (const BufferRef& buffer : held)
    buffers.give(buffer);
  EXPECT_EQ(buffers.total(BufferClass::kSmall), 2U);
  EXPECT_EQ(buffers.free_count(BufferClass::kSmall), 2U);
  EXPECT_EQ(buffers.held(), 0U);
  ASSERT_TRUE(buffers.resize({{0, 5, 0}}));
  EXPECT_EQ(buffers.free_count(BufferClass::kSmall), 5U) << "and come again";
}

TEST(RouterBuffers, MoreThanTheMemoryHoldsAreRefusedAndNothingChanges) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{1, 2, 3}}));
  EXPECT_FALSE(buffers.resize({{4, 5, 7}}));
  EXPECT_EQ(buffers.total(BufferClass::kTiny), 1U);
  EXPECT_EQ(buffers.total(BufferClass::kLarge), 3U);
}

TEST(RouterBuffers, ReportFreeAndWaitingCountsLikeTheKernel) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{0, 2, 0}}));
  const BufferRef a = buffers.take(BufferClass::kSmall);
  const BufferRef b = buffers.take(BufferClass::kSmall);
  buffers.begin_wait(BufferClass::kSmall);
  EXPECT_EQ(buffers.view(BufferClass::kSmall).credits, -1);
  buffers.give(a);
  EXPECT_EQ(buffers.view(BufferClass::kSmall).credits, -1) << "its hop has its share";
  buffers.end_wait(BufferClass::kSmall);
  buffers.give(b);
  ASSERT_TRUE(buffers.resize({{4, 2, 0}}));
  const BufferPoolView view = buffers.view(BufferClass::kSmall);
  EXPECT_EQ(view.buffers, 2U);
  EXPECT_EQ(view.credits, 2);
  EXPECT_EQ(view.credits_min, -1);
}

TEST(RouterBuffers, ShowTheMostThatWereInUseAndHowManyHadToWait) {
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{0, 3, 0}}));
  const BufferRef a = buffers.take(BufferClass::kSmall);
  buffers.give(buffers.take(BufferClass::kSmall));
  buffers.begin_wait(BufferClass::kSmall);
  buffers.end_wait(BufferClass::kSmall);
  EXPECT_EQ(buffers.view(BufferClass::kSmall).used_max, 2U);
  EXPECT_EQ(buffers.view(BufferClass::kSmall).waited, 1U);
  EXPECT_EQ(buffers.counters().value(
                static_cast<std::size_t>(counter_of(BufferClass::kSmall, PoolMark::kBuffers))),
            3U);
  buffers.reset_marks();
  EXPECT_EQ(buffers.view(BufferClass::kSmall).used_max, 1U) << "those in use now";
  EXPECT_EQ(buffers.view(BufferClass::kSmall).waited, 0U);
  buffers.give(a);
}

TEST(RouterBuffers, StarveWhenMessagesWaitAndHardlyAnyIsFree) {
  constexpr auto kClass = BufferClass::kSmall;
  RouterBuffers buffers(kMemory);
  ASSERT_TRUE(buffers.resize({{0, 4, 0}}));
  (void)buffers.take(kClass);
  (void)buffers.take(kClass);
  buffers.begin_wait(kClass);
  EXPECT_FALSE(buffers.starves(kClass)) << "a hop has its share";
  EXPECT_EQ(buffers.exchange_starved(kClass), 0U);
  (void)buffers.take(kClass);
  EXPECT_TRUE(buffers.starves(kClass));
  buffers.begin_wait(kClass);
  EXPECT_EQ(buffers.exchange_starved(kClass), 1U);
  EXPECT_EQ(buffers.exchange_starved(kClass), 0U) << "told already";
  EXPECT_TRUE(buffers.starves(kClass)) << "they wait still";
  buffers.end_wait(kClass);
  buffers.end_wait(kClass);
  EXPECT_FALSE(buffers.starves(kClass));
}

// kMemory with room to grow.
RouterMemory growing() {
  RouterMemory memory = kMemory;
  memory.budget = {.first_bytes = 2 * kPayloadBytesMax + 8192,
                   .most_bytes = 64 * kPayloadBytesMax,
                   .most = {{100, 100, 100}},
                   .records = 100};
  return memory;
}

TEST(RouterBuffers, GrowOnlyUnlessConfiguredAndWithinTheirMemory) {
  RouterBuffers buffers(growing());
  ASSERT_TRUE(buffers.resize({{1, 1, 1}}, {{true, false, true}}));
  for (int i = 0; i < 20; ++i)
    (void)buffers.grow({{false, true, true}});
  EXPECT_EQ(buffers.total(BufferClass::kTiny), 1U);
  EXPECT_EQ(buffers.total(BufferClass::kSmall), 1U) << "is set";
  EXPECT_EQ(buffers.total(BufferClass::kLarge), kMemory.most[BufferClass::kLarge]);
  EXPECT_EQ(buffers.bounds()[BufferClass::kLarge], PoolBound::kPlace);
  EXPECT_FALSE(buffers.grow({{false, true, true}}));
}

TEST(RouterBuffers, KeepTheirSizeWhenAnotherClassIsSet) {
  RouterBuffers buffers(growing());
  constexpr PoolFlags kEach{{true, true, true}};
  ASSERT_TRUE(buffers.resize({{1, 2, 2}}, kEach));
  ASSERT_TRUE(buffers.grow({{false, false, true}}));
  EXPECT_EQ(buffers.total(BufferClass::kLarge), 3U);
  ASSERT_TRUE(buffers.resize({{1, 4, 2}}, {{true, false, true}}));
  EXPECT_EQ(buffers.total(BufferClass::kLarge), 3U);
  EXPECT_EQ(buffers.total(BufferClass::kSmall), 4U);
  ASSERT_TRUE(buffers.resize({{1, 4, 1}}, {{true, false, false}}));
  EXPECT_EQ(buffers.total(BufferClass::kLarge), 1U) << "a configured value is used";
  ASSERT_TRUE(buffers.resize({{1, 2, 2}}, kEach));
  EXPECT_EQ(buffers.total(BufferClass::kLarge), 2U) << "and begins anew";
}

TEST(RouterBuffers, SurplusBuffersAreRemovedWhileOthersGrow) {
  RouterBuffers buffers(growing());
  ASSERT_TRUE(buffers.resize({{1, 4, 1}}, {{false, false, true}}));
  const BufferRef a = buffers.take(BufferClass::kSmall);
  const BufferRef b = buffers.take(BufferClass::kSmall);
  ASSERT_TRUE(buffers.resize({{1, 1, 1}}, {{false, false, true}}));
  ASSERT_TRUE(buffers.grow({{false, false, true}}));
  buffers.give(a);
  buffers.give(b);
  EXPECT_EQ(buffers.total(BufferClass::kSmall), 1U);
}

}  // namespace
}  // namespace plnet::lnet::router_buffers_test
