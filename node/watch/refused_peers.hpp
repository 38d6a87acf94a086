// SPDX-License-Identifier: BSD-3-Clause
// Peers whose connections an access rule refuses: a log line for each, then a sum each minute, and
// warnings of `status` while they try. Owned by the admin thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/access/access_rule.hpp"
#include "lib/lnet/access/refused_peers.hpp"
#include "lib/runtime/admin/once_log.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::node {

class RefusedPeers {
 public:
  // A peer tries again within a minute: longer than that, so that a warning does not come and go.
  static constexpr Duration kKept = std::chrono::minutes(2);
  // Peers remembered by name; the log and counters have the others.
  static constexpr std::size_t kKnownMax = 64;

  void hear(const lnet::RefusedPeer& refused, Instant now, runtime::OnceLog& log);
  // True: the rules have changed. Former refusals say nothing about the next attempt, and are
  // forgotten.
  bool judge_by(const std::vector<lnet::AccessRule>& rules);
  void clear() { known_.clear(); }
  // Peers that were refused lately.
  [[nodiscard]] std::size_t count(Instant now) const;
  // Entries of the list of warnings.
  [[nodiscard]] runtime::Json warnings(Instant now) const;

 private:
  struct Known {
    std::size_t rule = 0;
    std::uint64_t attempts = 0;
    Instant first_at{};
    Instant last_at{};
  };

  std::unordered_map<lnet::Nid, Known, lnet::NidHash> known_;
  std::vector<lnet::AccessRule> rules_;
};

}  // namespace plnet::node
