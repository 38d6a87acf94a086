// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/intrusive_list.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::intrusive_list_test {
namespace {

struct Item : ListNode<> {
  explicit Item(int id) : number(id) {}
  int number;
};

std::vector<int> numbers(IntrusiveList<Item>& list) {
  std::vector<int> out;
  list.for_each([&out](const Item& item) { out.push_back(item.number); });
  return out;
}

TEST(IntrusiveList, FindsWhetherAnyElementMatches) {
  Item one(1);
  Item two(2);
  IntrusiveList<Item> list;
  const auto has = [&list](int number) {
    return list.any_of([number](const Item& item) { return item.number == number; });
  };
  EXPECT_FALSE(has(1));
  list.push_back(one);
  list.push_back(two);
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_FALSE(has(3));
}

TEST(IntrusiveList, KeepsOrderAndLetsTheMiddleGo) {
  Item one(1);
  Item two(2);
  Item three(3);
  IntrusiveList<Item> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
  list.push_back(two);
  list.push_back(three);
  list.push_front(one);
  EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
  two.unlink();
  EXPECT_FALSE(two.linked());
  EXPECT_EQ(numbers(list), (std::vector{1, 3}));
  EXPECT_EQ(list.pop_front(), &one);
  EXPECT_EQ(list.front(), &three);
}

TEST(IntrusiveList, SplicesInOrderAndFreesItsElementsAtTheEnd) {
  Item one(1);
  Item two(2);
  Item three(3);
  {
    IntrusiveList<Item> list;
    IntrusiveList<Item> other;
    list.splice_back(other);
    EXPECT_TRUE(list.empty());
    list.push_back(one);
    other.push_back(two);
    other.push_back(three);
    list.splice_back(other);
    EXPECT_TRUE(other.empty());
    EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
  }
  EXPECT_FALSE(one.linked());
  EXPECT_FALSE(three.linked());
}

TEST(IntrusiveListDeathTest, TwoListsAtOnceAndNoneAreBugs) {
  Item one(1);
  EXPECT_DEATH(one.unlink(), "not in a list");
  IntrusiveList<Item> list;
  list.push_back(one);
  EXPECT_DEATH(list.push_back(one), "already in a list");
}

}  // namespace
}  // namespace plnet::intrusive_list_test
