// SPDX-License-Identifier: BSD-3-Clause
// Peers beyond gateways that do not answer requests of this node: warnings of `status` with the
// possible causes, and the number for `route explain`. Owned by the admin thread.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/move/silence_book.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::node {

struct SilentPeer {
  lnet::Nid nid = lnet::Nid::any();
  std::uint64_t requests = 0;    // without an answer, in the last minute
  bool neighbour_heard = false;  // since then another node of its network has answered
};

class SilenceWatch {
 public:
  static constexpr Duration kWindow = std::chrono::minutes(1);
  static constexpr std::size_t kKnownMax = 256;

  void hear(const lnet::SilenceNote& note, Instant now);
  void clear() { known_.clear(); }
  // The peer with the most requests first. A peer that has answered since is none.
  [[nodiscard]] std::vector<SilentPeer> list(Instant now) const;
  // Requests to the peer without an answer, in the last minute; 0 if it has answered since.
  [[nodiscard]] std::uint64_t requests_to(const lnet::Nid& nid, Instant now) const;

 private:
  static constexpr Duration kStep = std::chrono::seconds(5);
  static constexpr std::size_t kSteps = kWindow / kStep;

  struct Known {
    std::array<std::uint64_t, kSteps> requests{};  // by time in steps, modulo their number
    Instant heard_of{};
    bool neighbour_heard = false;
    // Forgets the counts of the steps since then.
    void advance(Instant now);
    [[nodiscard]] std::uint64_t sum() const;
  };

  std::unordered_map<lnet::Nid, Known, lnet::NidHash> known_;
};

// Entries of the list of warnings, with the gateways that a request may have taken.
[[nodiscard]] runtime::Json warnings_of_silence(const std::vector<SilentPeer>& silent,
                                                const std::vector<lnet::RouteReport>& routes,
                                                const std::vector<lnet::NetReport>& nets);

}  // namespace plnet::node
