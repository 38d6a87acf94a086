// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/outbox.hpp"

#include <array>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/doorbell.hpp"

namespace plnet::lnet::outbox_test {
namespace {

struct Post {
  Post() {
    for (unsigned i = 0; i < 100; ++i)
      parcels.emplace_back(ParcelKind::kErrand);
  }
  // Parcels that arrived for a shard, by number.
  [[nodiscard]] std::vector<std::size_t> come(std::size_t to) {
    std::array<Parcel*, 100> out{};
    std::vector<std::size_t> numbers;
    for (const Parcel* const parcel : std::span(out).first(mail.box(0, to).collect(out))) {
      for (std::size_t i = 0; i < parcels.size(); ++i)
        if (parcel == &parcels[i]) numbers.push_back(i);
    }
    return numbers;
  }

  std::array<SilentDoorbell, 3> bells;
  std::array<Doorbell*, 3> bell_pointers{&bells[0], &bells[1], &bells[2]};
  MailboxGrid<Parcel> mail{128, bell_pointers};
  std::deque<Parcel> parcels;
  Outbox outbox{&mail, 0, 3};
};

TEST(Outbox, ParcelsLeaveAtTheEndOfTheTurn) {
  Post post;
  EXPECT_TRUE(post.outbox.empty());
  post.outbox.add(post.parcels[0], 1);
  EXPECT_FALSE(post.outbox.empty());
  EXPECT_TRUE(post.come(1).empty());
  post.outbox.flush();
  EXPECT_TRUE(post.outbox.empty());
  EXPECT_EQ(post.come(1), (std::vector<std::size_t>{0}));
}

TEST(Outbox, ParcelsToOneShardArriveInOrder) {
  Post post;
  std::vector<std::size_t> first;
  std::vector<std::size_t> second;
  for (std::size_t i = 0; i < post.parcels.size(); ++i) {
    post.outbox.add(post.parcels[i], i % 3 == 0 ? 2 : 1);
    (i % 3 == 0 ? second : first).push_back(i);
  }
  post.outbox.flush();
  EXPECT_EQ(post.come(1), first);
  EXPECT_EQ(post.come(2), second);
}

TEST(Outbox, AFullBatchGoesAtOnce) {
  Post post;
  std::size_t added = 0;
  while (post.come(1).empty()) {
    ASSERT_LT(added, post.parcels.size());
    post.outbox.add(post.parcels[added++], 1);
  }
  EXPECT_TRUE(post.outbox.empty());
  EXPECT_GT(added, 4U) << "more than a line of a mailbox";
}

}  // namespace
}  // namespace plnet::lnet::outbox_test
