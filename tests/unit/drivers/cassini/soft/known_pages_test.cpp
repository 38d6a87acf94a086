// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/known_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "drivers/net/cassini/soft/process_memory.hpp"

namespace plnet::cassini::soft::known_pages_test {
namespace {

bool knows(const KnownPages& pages, std::uint64_t begin, std::uint64_t end) {
  return pages.unknown(begin, end) == 0;
}

TEST(KnownPages, PartsThatTouchAreOne) {
  KnownPages pages;
  EXPECT_EQ(pages.unknown(0, 1), 1U);
  pages.add(100, 200);
  pages.add(300, 400);
  EXPECT_TRUE(knows(pages, 100, 200));
  EXPECT_TRUE(knows(pages, 350, 360));
  EXPECT_EQ(pages.unknown(150, 350), 100U);
  EXPECT_EQ(pages.unknown(99, 101), 1U);
  EXPECT_EQ(pages.unknown(0, 1000), 800U);
  pages.add(200, 300);
  EXPECT_TRUE(knows(pages, 100, 400));
  pages.add(0, 1000);
  EXPECT_TRUE(knows(pages, 0, 1000));
}

TEST(KnownPages, ShortestOfTooManyIsForgotten) {
  KnownPages pages;
  pages.add(0, 5);
  for (std::uint64_t i = 1; i <= KnownPages::kPartsMax; ++i)
    pages.add(i * 1000, i * 1000 + 10);
  EXPECT_FALSE(knows(pages, 0, 5));
  for (std::uint64_t i = 1; i <= KnownPages::kPartsMax; ++i)
    EXPECT_TRUE(knows(pages, i * 1000, i * 1000 + 10)) << i;
}

TEST(KnownPages, PagesThatAreInMemory) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kPages = 8;
  auto* const begin = static_cast<std::byte*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(begin, MAP_FAILED);
  (void)madvise(begin, kPages * kPage, MADV_NOHUGEPAGE);
  begin[0] = begin[kPage] = begin[5 * kPage] = std::byte{1};
  KnownPages known;
  for_each_present(begin, kPages * kPage, [&](std::size_t offset, std::size_t length) {
    known.add(offset, offset + length);
  });
  EXPECT_TRUE(knows(known, 0, 2 * kPage));
  EXPECT_TRUE(knows(known, 5 * kPage, 6 * kPage));
  EXPECT_FALSE(knows(known, 2 * kPage, 3 * kPage));
  EXPECT_FALSE(knows(known, 6 * kPage, 7 * kPage));
  ASSERT_EQ(munmap(begin, kPages * kPage), 0);
}

}  // namespace
}  // namespace plnet::cassini::soft::known_pages_test
