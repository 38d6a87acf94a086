// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/qsbr.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::qsbr_test {
namespace {

void note(void* context, void* object) {
  static_cast<std::vector<void*>*>(context)->push_back(object);
}

class QsbrTest : public testing::Test {
 protected:
  void retire(int& object) { ASSERT_TRUE(qsbr_.retire(&object, note, &released_)); }

  std::vector<void*> released_;
  Qsbr qsbr_{2, 4};
  int first_ = 0;
  int second_ = 0;
};

TEST_F(QsbrTest, WaitsForEveryOnlineReader) {
  const auto a = qsbr_.register_reader().value();
  const auto b = qsbr_.register_reader().value();
  qsbr_.online(a);
  qsbr_.online(b);
  retire(first_);
  EXPECT_EQ(qsbr_.reclaim(10), 0U);
  qsbr_.quiescent(a);
  EXPECT_EQ(qsbr_.reclaim(10), 0U) << "b may still hold it";
  qsbr_.quiescent(b);
  EXPECT_EQ(qsbr_.reclaim(10), 1U);
  EXPECT_EQ(released_, std::vector<void*>{&first_});
}

TEST_F(QsbrTest, SleepersAreNotWaitedFor) {
  const auto a = qsbr_.register_reader().value();
  retire(first_);
  EXPECT_EQ(qsbr_.reclaim(10), 1U);
  qsbr_.online(a);
  retire(second_);
  EXPECT_EQ(qsbr_.reclaim(10), 0U);
  qsbr_.offline(a);
  EXPECT_EQ(qsbr_.reclaim(10), 1U);
}

TEST_F(QsbrTest, AReaderThatWokeAfterwardsHoldsNothingOld) {
  const auto a = qsbr_.register_reader().value();
  retire(first_);
  qsbr_.online(a);
  EXPECT_EQ(qsbr_.reclaim(10), 1U);
}

TEST_F(QsbrTest, OldestFirstAndNoMoreThanAskedFor) {
  retire(first_);
  retire(second_);
  EXPECT_EQ(qsbr_.reclaim(1), 1U);
  EXPECT_EQ(released_, std::vector<void*>{&first_});
  EXPECT_EQ(qsbr_.retired(), 1U);
  EXPECT_EQ(qsbr_.reclaim(1), 1U);
  EXPECT_EQ(qsbr_.reclaim(1), 0U);
}

TEST_F(QsbrTest, HasLimits) {
  ASSERT_TRUE(qsbr_.register_reader());
  ASSERT_TRUE(qsbr_.register_reader());
  EXPECT_EQ(qsbr_.register_reader().error(), Errc::kNoSpace);
  for (int i = 0; i < 4; ++i)
    retire(first_);
  EXPECT_EQ(qsbr_.retire(&first_, note, &released_).error(), Errc::kNoSpace);
  EXPECT_EQ(qsbr_.reclaim(10), 4U);
  retire(second_);
  EXPECT_EQ(qsbr_.retired(), 1U);
}

TEST(QsbrEnd, ReleasesPendingObjects) {
  std::vector<void*> released;
  int object = 0;
  {
    Qsbr qsbr(1, 1);
    qsbr.online(qsbr.register_reader().value());
    ASSERT_TRUE(qsbr.retire(&object, note, &released));
    EXPECT_EQ(qsbr.reclaim(1), 0U);
  }
  EXPECT_EQ(released.size(), 1U);
}

TEST_F(QsbrTest, GraceIsRememberedOncePassed) {
  const auto a = qsbr_.register_reader().value();
  const Qsbr::Grace grace = qsbr_.begin_grace();
  EXPECT_TRUE(qsbr_.passed(grace));
  qsbr_.online(a);
  const Qsbr::Grace later = qsbr_.begin_grace();
  EXPECT_TRUE(qsbr_.passed(grace));
  EXPECT_FALSE(qsbr_.passed(later));
}

using QsbrDeathTest = QsbrTest;
TEST_F(QsbrDeathTest, UnknownReadersAreABug) {
  EXPECT_DEATH(qsbr_.quiescent(1), "no such QSBR reader");
}

}  // namespace
}  // namespace plnet::qsbr_test
