// SPDX-License-Identifier: BSD-3-Clause
// The search for the descriptor of a received message, on this shard or on others, and the end of
// its grant. For PUT and GET each shard with entries on the portal is asked in turn; the handle of
// an ACK or REPLY names the owner.
#pragma once

#include <optional>

#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class MatchSearch {
 public:
  explicit MatchSearch(ShardCore& core) : core_(core) {}

  // On the shard where the message arrived. Returns its decision; kPark: another shard is asked,
  // and Receiver::on_match_answer() follows. `header`: the offered one, or the record's own.
  [[nodiscard]] RxDecision find(Receive& receive, const MessageHeader& header);
  // The search is over. kPark: the message waits on a lazy portal.
  [[nodiscard]] RxDecision decide(Receive& receive);

  // On a shard that is asked: searches here, then asks the next shard or answers the asker.
  void on_question(Receive& receive);
  // On any shard. Sets the match of the message, or the cause why there is none.
  void match_here(Receive& receive);
  // False: all shards with entries on the portal were asked, or the message has its match.
  [[nodiscard]] bool ask_next(Receive& receive);
  // The search found no entry; a later one may match.
  [[nodiscard]] static bool found_none(const Receive& receive);

  // An ACK that another shard passed on, or a note of this shard that is home again.
  void deliver(AckNote& note);
  // On the shard that owns the descriptor: ends the grant, with the event of its user.
  void end_grant_here(Receive& receive);

 private:
  [[nodiscard]] RxDecision ask_owner(Receive& receive, const MessageHeader& header);
  [[nodiscard]] RxDecision ask_here_first(Receive& receive);
  [[nodiscard]] bool pass_on(Receive& receive, const MessageHeader& header);
  [[nodiscard]] static RxDecision accept(const Receive& receive);
  void respond_here(Receive& receive, const MdHandle& md);
  void acknowledge_here(Receive& receive);
  [[nodiscard]] std::optional<ShardId> next_to_ask(const Receive& receive) const;

  ShardCore& core_;
};

}  // namespace plnet::lnet
