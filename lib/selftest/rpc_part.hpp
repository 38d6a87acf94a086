// SPDX-License-Identifier: BSD-3-Clause
// One of the memory descriptors (MD) of an RPC: a request, a reply, bulk data. And the ids of RPCs.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/lnet/api/data_operations.hpp"

namespace plnet::selftest {

// The kernel's default: clients wait this long, so a server's work on an RPC is useless afterwards.
inline constexpr Duration kRpcTimeout = std::chrono::seconds(64);

struct RpcPart {
  Fragment fragment;  // stays in place while `posted`
  lnet::MdHandle md;
  bool posted = false;      // the network may still access the memory; one more event will come
  bool happened = false;    // the operation has ended or will never happen
  std::uint8_t wanted = 1;  // events other than UNLINK
  std::uint8_t seen = 0;
  std::uint32_t length = 0;  // bytes moved
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

  // Events of an MD may come in any order, and some not at all when it is unlinked early.
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

// Ids of replies and bulk data. Those of a run start at a wall-clock time, so that a late message
// for an earlier run finds no match; the shards of a node use interleaved ids. A console on the
// same node uses the upper half of the ids between two seconds.
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
