// SPDX-License-Identifier: BSD-3-Clause
// Client credits (the kernel's peer router credits): the number of messages of one client that this
// shard forwards at a time. A message without a credit waits in the queue of its client.
#pragma once

#include <cstdint>

#include "lib/lnet/flow/forward_share.hpp"
#include "lib/lnet/move/receive.hpp"

namespace plnet::lnet {

struct ShardCore;

class ClientQueues {
 public:
  // All clients together borrow at most half of the free buffers.
  static constexpr std::uint32_t kBorrowedPart = 2;

  explicit ClientQueues(ShardCore& core) : core_(core) {}

  // Hot. A message that has no credit yet. False: it waits, and is admitted again later.
  [[nodiscard]] bool take_credit(Receive& receive);
  // Hot. Returns the credit of a message, or its place in the queue. Nothing if it has neither.
  void give_credit(Receive& receive);

 private:
  [[nodiscard]] bool may_run(const ClientCredits& client, BufferClass of) const;
  void start_waiting(ClientCredits& client);

  ShardCore& core_;
  std::uint32_t clients_ = 0;  // clients with a message under way or waiting
};

}  // namespace plnet::lnet
