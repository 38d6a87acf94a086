// SPDX-License-Identifier: BSD-3-Clause
// The report of peers: the coordinator's records, and the counters of each shard. In bounded
// pieces, so that thousands of peers do not make a long turn.
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

  // nullopt: all peers; otherwise only the peer with this NID.
  explicit PeerTally(std::optional<lnet::Nid> only = std::nullopt) : only_(only) {}

  // First, on shard 0, the owner of the coordinator's records. True: there is more to list.
  [[nodiscard]] bool list(lnet::Node& node);
  // Then on one shard after the other. True: this one has more to count.
  [[nodiscard]] bool count(lnet::Node& node, unsigned shard);

  [[nodiscard]] std::vector<lnet::PeerReport>& peers() { return peers_; }

 private:
  void list(const lnet::Node& node, const lnet::PeerRecord& peer);
  [[nodiscard]] lnet::PeerNiReport report_of(const lnet::Node& node, const lnet::PeerRecord& peer,
                                             const lnet::PeerNi& ni) const;
  void count(const lnet::ShardCore& core, lnet::PeerNiReport& report);

  const std::optional<lnet::Nid> only_;
  std::vector<lnet::PeerReport> peers_;
  std::uint32_t next_number_ = 0;  // of the directory: where the next piece begins
  std::size_t next_peer_ = 0;      // the same, of `peers_`
  unsigned counting_ = UINT_MAX;   // the shard
  // Peer NIs in recovery when the list began.
  std::unordered_map<lnet::Nid, lnet::PeerRecovery::Effort, lnet::NidHash> pinged_;
  // Peers whose messages a shard so far has forwarded.
  std::unordered_set<lnet::Nid, lnet::NidHash> clients_;
};

}  // namespace plnet::node
