// SPDX-License-Identifier: BSD-3-Clause
// Peers as a report tells of them: what the coordinator knows of each, and on top of that what each
// shard has counted. In bounded pieces, so that thousands of peers do not make a long turn.
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_report.hpp"

namespace plnet::node {

class PeerTally {
 public:
  static constexpr std::uint32_t kPeersAtOnce = 64;

  // Absent: of all peers; else of the one that has this NID.
  explicit PeerTally(std::optional<lnet::Nid> only = std::nullopt) : only_(only) {}

  // On shard 0, which alone may look at what is the coordinator's. True: there is more to list.
  [[nodiscard]] bool list(lnet::Node& node);
  // When all are listed, on one shard after the other. True: this one has more to count.
  [[nodiscard]] bool count(lnet::Node& node, unsigned shard);

  [[nodiscard]] std::vector<lnet::PeerReport>& peers() { return peers_; }

 private:
  void list(const lnet::Node& node, const lnet::PeerRecord& peer);
  [[nodiscard]] lnet::PeerNiReport report_of(const lnet::Node& node, const lnet::PeerRecord& peer,
                                             const lnet::PeerNi& ni) const;
  void count(const lnet::ShardCore& core, lnet::PeerNiReport& report);

  const std::optional<lnet::Nid> only_;
  std::vector<lnet::PeerReport> peers_;
  std::uint32_t next_number_ = 0;  // of the directory, where the next piece begins
  std::size_t next_peer_ = 0;      // the same, of what is counted
  unsigned counting_ = UINT_MAX;   // on this shard
  // Peer NIs that are not well, as they were when the list began.
  std::unordered_map<lnet::Nid, lnet::PeerRecovery::Effort, lnet::NidHash> pinged_;
  // Whose messages some shard so far has forwarded.
  std::unordered_set<lnet::Nid, lnet::NidHash> clients_;
};

}  // namespace plnet::node
