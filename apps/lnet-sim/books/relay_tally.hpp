// SPDX-License-Identifier: BSD-3-Clause
// The ends of the messages that a node was offered in one incarnation: each ends in one way, and
// the core has counted the cause. Separate sums for messages of other nodes, which it was to
// forward, and for all.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace plnet::sim {

struct ReceiveTally {
  std::uint64_t offered = 0;
  std::uint64_t received = 0;
  std::uint64_t failed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t rejected = 0;
  std::uint64_t gone = 0;  // parked, lost with their connection

  // No message is missing.
  [[nodiscard]] bool balances() const {
    return offered == received + failed + dropped + rejected + gone;
  }
};

struct RelayTally {
  ReceiveTally all;
  ReceiveTally of_others;
  std::uint64_t relayed = 0;
  std::uint64_t relayed_bytes = 0;

  // The counters of the core in this incarnation.
  struct Counted {
    std::uint64_t dropped = 0;  // for any cause
    std::uint64_t acks = 0;     // of these, ACKs for descriptors that have been unlinked
    std::uint64_t rejected = 0;
    std::uint64_t receive_failed = 0;
    std::uint64_t forward_failed = 0;
  };
  // The first mismatch, or empty. For a node without messages under way.
  [[nodiscard]] std::string wrong(const Counted& counted) const {
    const auto is = [](const char* what, const ReceiveTally& tally) {
      return fmt::format(
          "{}: {} were offered, {} received, {} failed, {} dropped, {} rejected, {} "
          "lost with their connections",
          what, tally.offered, tally.received, tally.failed, tally.dropped, tally.rejected,
          tally.gone);
    };
    if (!all.balances()) return is("of all messages", all);
    if (!of_others.balances()) return is("of messages of others", of_others);
    if (of_others.received != relayed + counted.forward_failed) {
      return fmt::format("of others it has received {}, relayed {}, and could not forward {}",
                         of_others.received, relayed, counted.forward_failed);
    }
    // A message dropped because its connection ended is counted for both; and an ACK is received
    // before its shard checks whether its descriptor still exists.
    if (all.dropped > counted.dropped || all.dropped + all.gone + counted.acks < counted.dropped ||
        all.rejected > counted.rejected || all.failed > counted.receive_failed) {
      return fmt::format("{}; counted are {} drops, {} rejections, {} failures",
                         is("of all messages", all), counted.dropped, counted.rejected,
                         counted.receive_failed);
    }
    return {};
  }
};

}  // namespace plnet::sim
