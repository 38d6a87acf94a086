// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/process_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace plnet::cassini::soft::process_memory_test {
namespace {

TEST(SoftProcessMemory, HolesAndPermissions) {
  constexpr std::size_t kPage = 4096;
  auto* const begin = static_cast<std::byte*>(
      mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(begin, MAP_FAILED);
  EXPECT_TRUE(look_at_memory(begin, 4 * kPage).writable);
  ASSERT_EQ(mprotect(begin + kPage, kPage, PROT_READ), 0);
  const MemorySeen two = look_at_memory(begin + 10, kPage);
  EXPECT_TRUE(two.whole && two.readable);
  EXPECT_FALSE(two.writable) << "one byte of the second page is not";
  EXPECT_TRUE(look_at_memory(begin, kPage).writable);
  ASSERT_EQ(munmap(begin + 3 * kPage, kPage), 0);
  EXPECT_TRUE(look_at_memory(begin, 3 * kPage).whole);
  EXPECT_FALSE(look_at_memory(begin, 3 * kPage + 1).whole);
  EXPECT_TRUE(look_at_memory(nullptr, 0).whole);
  EXPECT_FALSE(look_at_memory(nullptr, 1).whole);
  EXPECT_EQ(page_size_at(begin), kPage);
  EXPECT_EQ(page_size_at(nullptr), kPage);
  (void)munmap(begin, 3 * kPage);
}

}  // namespace
}  // namespace plnet::cassini::soft::process_memory_test
