// SPDX-License-Identifier: BSD-3-Clause
// Verdicts about messages that have not reached their LND: a message may be too late, its next hop
// down, its route lost, its user gone, its NI or peer NI removed. A verdict sets the result of the
// message and counts it; the caller takes the message out of its queue and returns its credits.
#pragma once

#include "lib/base/check.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class SendVerdicts {
 public:
  explicit SendVerdicts(ShardCore& core) : core_(core) {}

  // Hot. False: the message ends here, and its result says why. The message has a path; `hop` is
  // not null.
  [[nodiscard]] bool still_wanted(Message& message) {
    PLNET_CHECK(message.ni != nullptr && message.hop != nullptr, "the message has a path");
    const bool wanted =
        core_.now <= message.deadline && !is_routed_down(message) && !is_aborted(message);
    if (!wanted) [[unlikely]]
      end_unwanted(message);
    return wanted;
  }
  // True: the path of the message is lost. Its result says whether it takes another one.
  [[nodiscard]] bool turn_back(Message& message);
  // The deadline of the message has passed while it waited.
  void end_late(Message& message);
  // The NI or the peer NI of the message is being removed.
  void end_released(Message& message, Errc cause);

  static void end_with(Message& message, Errc code, Health health) {
    message.result = Completion{.status = std::unexpected(code), .health = health};
  }

 private:
  [[nodiscard]] static bool is_routed_down(const Message& message) {
    return message.routed && ShardCore::is_down_for(message.header, *message.ni, *message.hop,
                                                    message.next_hop_is_router);
  }
  [[nodiscard]] bool is_aborted(const Message& message) const {
    return message.origin == core_.id && message.is_request() && core_.match.aborted(message.grant);
  }
  [[nodiscard]] static bool may_detour(const Message& message);
  [[nodiscard]] bool may_avoid_hop(const Message& message) const;
  [[nodiscard]] bool has_lost_route(const Message& message) const;
  [[nodiscard]] bool stays_on_ni(const Message& message) const;
  void end_unwanted(Message& message);
  void end_for_lost_hop(Message& message);
  void end_for_other_path(Message& message);
  void drop_for_hop(Message& message);
  void count_drop(const Message& message, Cause cause);

  ShardCore& core_;
};

}  // namespace plnet::lnet
