// SPDX-License-Identifier: BSD-3-Clause
// PUTs without a match on lazy portals whose home is this shard. They wait until an entry is
// attached on any shard, the portal is cleared, or their connection is gone.
#pragma once

#include <cstdint>

#include "lib/lnet/flow/wait_queue.hpp"
#include "lib/lnet/move/match_search.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Receiver;

class LazyPortals {
 public:
  LazyPortals(ShardCore& core, Receiver& receiver, MatchSearch& search)
      : core_(core), receiver_(receiver), search_(search) {}

  // A message comes to wait here. An entry may have been attached meanwhile.
  void delay(Receive& receive);
  // The shards that this home asked have answered.
  void on_answer(Receive& receive);
  // An entry was attached on some shard, or a portal was cleared: asks again for all messages.
  void retry();
  // Returns messages whose connection is gone. Now and then.
  void sweep();

 private:
  void ask_all(Receive& receive);
  void leave(Receive& receive);

  ShardCore& core_;
  Receiver& receiver_;
  MatchSearch& search_;
  WaitQueue<Receive> delayed_;
  std::uint32_t attach_epoch_ = 0;  // calls of retry()
};

}  // namespace plnet::lnet
