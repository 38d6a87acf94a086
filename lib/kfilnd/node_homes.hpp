// SPDX-License-Identifier: BSD-3-Clause
// Where the peers of a node live, for the kfi LNDs of one of its interfaces: its peer directory
// says, and the coordinator makes peers of strangers.
#pragma once

#include <array>
#include <cstdint>

#include "lib/kfilnd/peer_homes.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::kfilnd {

// The receive context of a shard is its place among those that serve the interface.
[[nodiscard]] std::uint8_t context_of(const lnet::ShardSet& serving, lnet::ShardId shard);

// One for each shard that serves the interface, and that shard's. One stranger at a time is asked
// for, so that those who write to us cannot keep the coordinator busy.
class NodeHomes final : public PeerHomes {
 public:
  // The node outlives it, the interface is not removed from the shard before.
  NodeHomes(lnet::Node& node, lnet::ShardId shard, const lnet::Ni& ni);

  // kInvalid: nobody can have this NID; kNoMemory: there is no room for more peers; kNotPermitted:
  // a rule of access forbids it; kShutdown: the interface goes.
  [[nodiscard]] Result<std::uint8_t> home_of(const lnet::Nid& peer) override;
  // Nothing is being asked: it may go.
  [[nodiscard]] bool idle() const { return !question_.under_way; }

 private:
  // To the coordinator's shard and back.
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
    bool waits = false;  // whoever asked has not heard of it
  };

  void ask(const lnet::Nid& peer);
  [[nodiscard]] Result<void> make_peer(const lnet::Nid& peer);
  void note_answer();

  lnet::Node& node_;
  const lnet::ShardId shard_;
  const lnet::Ni& ni_;
  Question question_;
  // More are asked again.
  std::array<Refusal, 8> refusals_{};
  std::size_t next_refusal_ = 0;
};

}  // namespace plnet::kfilnd
