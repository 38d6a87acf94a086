// SPDX-License-Identifier: BSD-3-Clause
// Messages that are dropped because of the configuration: a log line a minute for each cause, and
// warnings of `status` while drops continue. Messages without a route are reported by network.
// Owned by the admin thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/move/refusal_book.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "node/watch/recent_activity.hpp"

namespace plnet::node {

class RefusalWatch {
 public:
  static constexpr Duration kAgain = std::chrono::minutes(1);
  // Networks remembered separately; messages to further ones share the first line of their cause.
  static constexpr std::size_t kKnownMax = 64;
  // Senders that a warning names.
  static constexpr std::size_t kSendersMax = 3;

  void hear(const lnet::RefusedMessage& refused, Instant now, runtime::Log& log);
  void clear() { known_.clear(); }
  // The rules of access have changed: what they forbade says nothing about the next message.
  void forget_access();
  // Entries of the list of warnings, of the last minute. `drops`: the counts.
  [[nodiscard]] runtime::Json warnings(Instant now, std::span<const GrowingCause> drops) const;

 private:
  struct Known {
    lnet::RefusedMessage last;
    Instant heard_at{};
    Instant said_at{};
    std::vector<lnet::Nid> senders{};  // the first ones
  };

  [[nodiscard]] static std::string senders_of(const Known& known);

  std::map<std::pair<lnet::Cause, lnet::NetId>, Known> known_;
};

}  // namespace plnet::node
