// SPDX-License-Identifier: BSD-3-Clause
// Messages that are dropped because of the configuration: a log line a minute for each cause and
// network, and warnings of `status` while drops continue. Owned by the admin thread.
#pragma once

#include <map>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/lnet/move/refusal_book.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::node {

class RefusalWatch {
 public:
  static constexpr Duration kAgain = std::chrono::minutes(1);
  // Networks remembered separately; messages to further ones share the first line of their cause.
  static constexpr std::size_t kKnownMax = 64;

  void hear(const lnet::RefusedMessage& refused, Instant now, runtime::Log& log);
  void clear() { known_.clear(); }
  // Entries of the list of warnings, of the last minute.
  [[nodiscard]] runtime::Json warnings(Instant now) const;

 private:
  struct Known {
    lnet::RefusedMessage last;
    Instant heard_at{};
    Instant said_at{};
  };

  std::map<std::pair<lnet::Cause, lnet::NetId>, Known> known_;
};

}  // namespace plnet::node
