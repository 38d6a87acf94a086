// SPDX-License-Identifier: BSD-3-Clause
// The homes of the peers of a node, for the kfi LNDs of one of its interfaces: taken from the peer
// directory. The coordinator makes records for strangers.
#pragma once

#include <array>
#include <cstdint>

#include "lib/kfilnd/peer_homes.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::kfilnd {

// The receive context of a shard is its rank among the shards that serve the interface.
[[nodiscard]] std::uint8_t context_of(const lnet::ShardSet& serving, lnet::ShardId shard);

// Each shard that serves the interface has one. It asks for one stranger at a time, so that
// strangers cannot keep the coordinator busy.
class NodeHomes final : public PeerHomes {
 public:
  // The node outlives it, the interface is not removed from the shard before.
  NodeHomes(lnet::Node& node, lnet::ShardId shard, const lnet::Ni& ni);

  // kInvalid: no node can have this NID; kNoMemory: there is no room for more peers; kNotPermitted:
  // an access rule forbids it; kShutdown: the interface is being removed.
  [[nodiscard]] Result<std::uint8_t> home_of(const lnet::Nid& peer) override;
  // No question is under way: the object may be destroyed.
  [[nodiscard]] bool idle() const { return !question_.under_way; }

 private:
  // A call to the coordinator's shard and back.
  struct Question final : lnet::Call {
    explicit Question(NodeHomes& asking) : homes(asking) {}
    [[nodiscard]] bool run(lnet::Shard& shard) override;

    NodeHomes& homes;
    lnet::Nid peer;
    Result<void> answer;
    bool under_way = false;
    bool answered = false;
  };
  struct Refusal {
    lnet::Nid peer;
    Errc cause = Errc::kInvalid;
    bool waits = false;  // not reported yet
  };

  void ask(const lnet::Nid& peer);
  [[nodiscard]] Result<void> make_peer(const lnet::Nid& peer);
  void note_answer();

  lnet::Node& node_;
  const lnet::ShardId shard_;
  const lnet::Ni& ni_;
  Question question_;
  // If more are refused, their peers are asked about again.
  std::array<Refusal, 8> refusals_{};
  std::size_t next_refusal_ = 0;
};

}  // namespace plnet::kfilnd
