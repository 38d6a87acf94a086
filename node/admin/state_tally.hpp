// SPDX-License-Identifier: BSD-3-Clause
// The states of NIs, routes, routing and peers, for metrics and `status`. Made by shard 0 alone, in
// bounded pieces: a node may have tens of thousands of peers.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "node/watch/node_states.hpp"

namespace plnet::node {

// The state of a peer NI as `peer show` prints it. `net`: null if the node has no NI there.
[[nodiscard]] lnet::Aliveness state_of(const lnet::PeerRecord& peer, const lnet::PeerNi& ni,
                                       const lnet::Net* net, const lnet::Parameters& parameters);

class StateTally {
 public:
  static constexpr std::uint32_t kPeersAtOnce = 256;

  // On shard 0. True: there are more peers to count.
  [[nodiscard]] bool count(lnet::Node& node);
  [[nodiscard]] NodeStates& states() { return states_; }

 private:
  void count_few(lnet::Node& node);
  void add_credits(const lnet::PeerNi& ni);

  NodeStates states_;
  std::uint32_t next_number_ = 0;  // of the directory: where the next piece begins
};

}  // namespace plnet::node
