// SPDX-License-Identifier: BSD-3-Clause
// What became of the messages that a node was offered in one life: each ends in one way, and the
// core has counted why. For those of others, which it was to forward, and for all.
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
  std::uint64_t gone = 0;  // parked, with their connection

  // None is left.
  [[nodiscard]] bool balances() const {
    return offered == received + failed + dropped + rejected + gone;
  }
};

struct RelayTally {
  ReceiveTally all;
  ReceiveTally of_others;
  std::uint64_t relayed = 0;

  // What the core has counted in this life.
  struct Counted {
    std::uint64_t dropped = 0;  // by whatever cause
    std::uint64_t acks = 0;     // of them: ACKs for descriptors that have gone
    std::uint64_t rejected = 0;
    std::uint64_t receive_failed = 0;
    std::uint64_t forward_failed = 0;
  };
  // What does not add up, or empty. Of a node that has nothing under way.
  [[nodiscard]] std::string wrong(const Counted& counted) const {
    const auto is = [](const char* what, const ReceiveTally& tally) {
      return fmt::format(
          "{}: {} were offered, {} received, {} failed, {} dropped, {} rejected, {} "
          "gone with their connections",
          what, tally.offered, tally.received, tally.failed, tally.dropped, tally.rejected,
          tally.gone);
    };
    if (!all.balances()) return is("of all messages", all);
    if (!of_others.balances()) return is("of those of others", of_others);
    if (of_others.received != relayed + counted.forward_failed) {
      return fmt::format("of others it has received {}, relayed {}, and could not forward {}",
                         of_others.received, relayed, counted.forward_failed);
    }
    // One that was dropped when its connection went is counted for both; and an ACK is received
    // before the shard that it is for looks whether its descriptor is still there.
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
