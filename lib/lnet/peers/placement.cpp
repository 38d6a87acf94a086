// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/placement.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// The CPTs that a network is restricted to, in the order in which its NIs name them. None at all as
// soon as one NI is free to use any.
std::span<const std::uint16_t> cpts_of(const Net& net, std::array<std::uint16_t, kCptsMax>& room) {
  std::size_t count = 0;
  for (const Ni* ni : net.nis) {
    if (ni->cpts.empty()) return {};
    for (const std::uint16_t cpt : ni->cpts) {
      if (std::ranges::find(room.begin(), room.begin() + count, cpt) != room.begin() + count)
        continue;
      PLNET_CHECK(count < room.size(), "more CPTs than LNet has");
      room[count++] = cpt;
    }
  }
  return std::span(room).first(count);
}

ShardSet shards_of(const Net* net) {
  ShardSet all;
  if (net == nullptr) return all;
  for (const Ni* ni : net->nis)
    all |= ni->shards;
  return all;
}

}  // namespace

HashPlacement::HashPlacement(CptHash hash, std::vector<std::vector<ShardId>> shards_of_cpt)
    : hash_(hash), shards_of_cpt_(std::move(shards_of_cpt)) {
  PLNET_CHECK(shards_of_cpt_.size() == hash_.total_cpts(), "one list of shards for each CPT");
  for (const auto& shards : shards_of_cpt_) {
    PLNET_CHECK(!shards.empty(), "a CPT has a shard");
    for (const ShardId shard : shards)
      PLNET_CHECK(shard < kShardsMax, "shard out of range");
  }
}

std::uint16_t HashPlacement::cpt_of(const Nid& nid, const Net* net) const {
  if (net != nullptr) {
    std::array<std::uint16_t, kCptsMax> room{};
    const auto allowed = cpts_of(*net, room);
    if (!allowed.empty()) return static_cast<std::uint16_t>(hash_.of(nid, allowed));
  }
  return static_cast<std::uint16_t>(hash_.of(nid));
}

HomePlace HashPlacement::choose(const Nid& nid, const LocalView& local) {
  const Net* net = local.net(nid.net());
  const ShardSet serving = shards_of(net);
  const std::uint16_t cpt = cpt_of(nid, net);
  PLNET_CHECK(cpt < shards_of_cpt_.size(), "a NID hashes to a CPT that there is");
  const auto least = [this](const auto& shards, const ShardSet& of) {
    ShardId best = kShardsMax;
    for (const ShardId shard : shards) {
      if (of[shard] && (best == kShardsMax || loads_[shard] < loads_[best])) best = shard;
    }
    return best;
  };
  ShardId shard = least(shards_of_cpt_[cpt], serving);
  if (shard == kShardsMax) shard = least(shards_of_cpt_[cpt], ShardSet{}.set());
  ++loads_[shard];
  return {cpt, shard};
}

void HashPlacement::leave(HomePlace place) {
  PLNET_CHECK(loads_[place.shard] > 0, "a peer NI leaves where one lived");
  --loads_[place.shard];
}

}  // namespace plnet::lnet
