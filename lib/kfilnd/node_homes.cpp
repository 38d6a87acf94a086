// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/node_homes.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/check.hpp"
#include "lib/lnet/node/introductions.hpp"

namespace plnet::kfilnd {

std::uint8_t context_of(const lnet::ShardSet& serving, lnet::ShardId shard) {
  PLNET_CHECK(serving[shard], "a shard of the interface");
  const std::uint64_t before = serving.to_ullong() & ((std::uint64_t{1} << shard) - 1);
  return static_cast<std::uint8_t>(std::popcount(before));
}

NodeHomes::NodeHomes(lnet::Node& node, lnet::ShardId shard, const lnet::Ni& ni)
    : node_(node), shard_(shard), ni_(ni), question_(*this) {}

Result<std::uint8_t> NodeHomes::home_of(const lnet::Nid& peer) {
  const lnet::NodeShared& shared = node_.shared();
  if (const lnet::PeerNi* const known = shared.directory->find(peer)) {
    return context_of(ni_.shards,
                      lnet::lane_shard(ni_.shards, known->home, known->number, shared.shards));
  }
  // The home judges again, and counts; a refused peer needs no record from the coordinator.
  if (lnet::refuses_owner(shared, shard_, {peer, ni_.nid}))
    return std::unexpected(Errc::kNotPermitted);
  const auto refused = std::ranges::find_if(
      refusals_, [&](const Refusal& each) { return each.waits && each.peer == peer; });
  if (refused != refusals_.end()) {
    refused->waits = false;
    return std::unexpected(refused->cause);
  }
  if (!question_.under_way) ask(peer);
  return std::unexpected(Errc::kAgain);
}

void NodeHomes::ask(const lnet::Nid& peer) {
  PLNET_CHECK(!question_.under_way, "one question at a time");
  question_.peer = peer;
  question_.answered = false;
  question_.under_way = true;
  node_.shard(shard_).call(question_, 0);
}

bool NodeHomes::Question::run(lnet::Shard& shard) {
  PLNET_CHECK(under_way, "a question runs only while it is asked");
  if (answered) {
    homes.note_answer();
    return true;
  }
  answer = homes.make_peer(peer);
  answered = true;
  shard.call(*this, homes.shard_);
  return true;
}

// Runs on the coordinator's shard.
Result<void> NodeHomes::make_peer(const lnet::Nid& peer) {
  lnet::Coordinator& coordinator = node_.coordinator();
  if (coordinator.local().ni(ni_.nid) != &ni_) return std::unexpected(Errc::kShutdown);
  const lnet::WantedPeer wanted{
      .nid = peer, .demand = lnet::PeerDemand::kStranger, .received_on = &ni_};
  const auto made = coordinator.directory().create_by_traffic(wanted, node_.shard(0).core().now);
  if (!made) return std::unexpected(made.error());
  return {};
}

// Too many strangers in this second, or no room now, is no final refusal: the question is asked
// again.
void NodeHomes::note_answer() {
  PLNET_CHECK(question_.under_way && question_.answered, "each question has one answer");
  question_.under_way = false;
  if (question_.answer) return;
  const Errc cause = question_.answer.error();
  if (cause == Errc::kAgain || cause == Errc::kNoSpace) return;
  refusals_[next_refusal_] = {.peer = question_.peer, .cause = cause, .waits = true};
  next_refusal_ = (next_refusal_ + 1) % refusals_.size();
}

}  // namespace plnet::kfilnd
