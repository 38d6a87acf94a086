// SPDX-License-Identifier: BSD-3-Clause
// Events on their way from the desk to their connection; no device is needed.
#include "drivers/net/mlx/event_desk.hpp"

#include <gtest/gtest.h>

namespace plnet::mlx::event_desk_test {
namespace {

TEST(MlxEventDesk, AnIdentifierNamesItsInboxAndConnection) {
  rdma_cm_id id{};
  for (const std::uint32_t inbox : {1U, 77U, std::uint32_t{EventDesk::kInboxesMax}}) {
    for (const QueuePairId connection :
         {QueuePairId{0, 0}, QueuePairId{5, ~0U}, QueuePairId{0xffffe, 0x8000'0001}}) {
      IdWord(inbox, connection).put_on(id);
      EXPECT_EQ(IdWord::on(id).inbox(), inbox);
      EXPECT_EQ(IdWord::on(id).connection(), connection);
    }
    IdWord::of_inbox(inbox).put_on(id);  // a listener
    EXPECT_EQ(IdWord::on(id).inbox(), inbox);
    EXPECT_EQ(IdWord::on(id).connection().index, ~0U);
  }
  IdWord::of_inbox(0).put_on(id);
  EXPECT_EQ(id.context, IdWord::of_inbox(0).context());
  EXPECT_EQ(IdWord::on(id).inbox(), 0U);
}

TEST(MlxEventDesk, AnInboxKeepsTheOrderAndIsBounded) {
  EventInbox inbox;
  CmEvent event;
  EXPECT_FALSE(inbox.take(event));
  int put = 0;
  while (inbox.put({.status = put}))
    ++put;
  EXPECT_GE(put, static_cast<int>(EventInbox::kWaitingMax));
  for (int i = 0; i < put; ++i) {
    ASSERT_TRUE(inbox.take(event));
    EXPECT_EQ(event.status, i);
  }
  EXPECT_FALSE(inbox.take(event));
}

}  // namespace
}  // namespace plnet::mlx::event_desk_test
