// SPDX-License-Identifier: BSD-3-Clause
// One of the memory descriptors (MD) of an RPC: a request, a reply, bulk data. And what names RPCs.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/lnet/api/data_operations.hpp"

namespace plnet::selftest {

// The kernel's default: so long a client waits, and nobody needs what a server does for it longer.
inline constexpr Duration kRpcTimeout = std::chrono::seconds(64);

struct RpcPart {
  Fragment fragment;  // stays in place while `posted`
  lnet::MdHandle md;
  bool posted = false;      // it may still be written to or read; there will be one more event
  bool happened = false;    // what was to happen has, or never will
  std::uint8_t wanted = 1;  // events other than UNLINK
  std::uint8_t seen = 0;
  std::uint32_t length = 0;  // that was moved
  Result<void> status;       // while `happened`: the first failure. kCancelled: unlinked before

  void begin(lnet::MdHandle handle, std::uint8_t events) {
    md = handle;
    posted = true;
    wanted = events;
  }
  void reset() {
    happened = false;
    seen = 0;
    length = 0;
    status = {};
  }

  // Events of an MD may come in any order, and some not at all when it is unlinked before its time.
  void take(const lnet::Event& event) {
    if (event.kind != lnet::EventKind::kUnlink) {
      ++seen;
      if (status && !event.status) status = event.status;
      if (event.kind != lnet::EventKind::kSend || wanted == 1) length = event.accepted_length;
    }
    if (event.unlinked) {
      posted = false;
      if (status && seen < wanted) status = std::unexpected(Errc::kCancelled);
    }
    if (seen >= wanted || event.unlinked || !status) happened = true;
  }
};

// Ids of replies and bulk data. Those of a run start at a time of the wall, so that what is late
// for an earlier one finds nothing; shards of a node take turns, so that no two use the same. A
// console on the same node has the upper half of what lies between two seconds.
class RpcIds {
 public:
  enum class User : std::uint8_t { kNode, kConsole };
  RpcIds(std::uint64_t unix_seconds, lnet::ShardId shard, unsigned shards, User user = User::kNode)
      : last_((unix_seconds << 48) + (user == User::kConsole ? kUpperHalf : 0) + shard),
        step_(shards) {}
  [[nodiscard]] std::uint64_t next() { return last_ += step_; }

 private:
  static constexpr std::uint64_t kUpperHalf = std::uint64_t{1} << 47;

  std::uint64_t last_;
  const std::uint64_t step_;
};

}  // namespace plnet::selftest
