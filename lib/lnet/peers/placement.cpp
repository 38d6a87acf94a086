// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/placement.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// The CPTs that a network is restricted to, in the order in which its NIs name them. None if any NI
// may use all CPTs.
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

LoadedPlacement::LoadedPlacement(ShardsOfCpts shards_of_cpt)
    : shards_of_cpt_(std::move(shards_of_cpt)) {
  for (const auto& shards : shards_of_cpt_) {
    PLNET_CHECK(!shards.empty(), "a CPT has a shard");
    for (const ShardId shard : shards)
      PLNET_CHECK(shard < kShardsMax, "shard out of range");
  }
}

std::uint16_t LoadedPlacement::cpt_on(const Net* net, const Nid& nid) const {
  std::array<std::uint16_t, kCptsMax> room{};
  const std::uint16_t cpt =
      cpt_of(nid, net == nullptr ? std::span<const std::uint16_t>{} : cpts_of(*net, room));
  PLNET_CHECK(cpt < shards_of_cpt_.size(), "a NID is given to a CPT that there is");
  return cpt;
}

HomePlace LoadedPlacement::choose(const Nid& nid, const LocalView& local) {
  const Net* net = local.net(nid.net());
  const ShardSet serving = shards_of(net);
  const std::uint16_t cpt = cpt_on(net, nid);
  const auto least = [this](const auto& shards, const ShardSet& of) {
    ShardId best = kShardsMax;
    for (const ShardId shard : shards) {
      if (of[shard] && (best == kShardsMax || loads_[shard] < loads_[best])) best = shard;
    }
    return best;
  };
  ShardId shard = least(shards_of_cpt_[cpt], serving);
  if (shard == kShardsMax) shard = least(shards_of_cpt_[cpt], ShardSet{}.set());
  PLNET_CHECK(shard < kShardsMax, "a CPT has a shard");
  ++loads_[shard];
  return {cpt, shard};
}

void LoadedPlacement::leave(HomePlace place) {
  PLNET_CHECK(place.shard < kShardsMax, "the home of a peer NI is a shard");
  PLNET_CHECK(loads_[place.shard] > 0, "a peer NI leaves where one lived");
  --loads_[place.shard];
}

std::uint64_t LoadedPlacement::load_of_cpt(std::uint16_t cpt) const {
  PLNET_CHECK(cpt < shards_of_cpt_.size(), "the CPT exists");
  constexpr std::uint64_t kScale = 1U << 16U;
  std::uint64_t load = 0;
  for (const ShardId shard : shards_of_cpt_[cpt])
    load += loads_[shard];
  return load * kScale / shards_of_cpt_[cpt].size();
}

HashPlacement::HashPlacement(CptHash hash, ShardsOfCpts shards_of_cpt)
    : LoadedPlacement(std::move(shards_of_cpt)), hash_(hash) {}

std::uint16_t HashPlacement::cpt_of(const Nid& nid, std::span<const std::uint16_t> allowed) const {
  return static_cast<std::uint16_t>(allowed.empty() ? hash_.of(nid) : hash_.of(nid, allowed));
}

std::optional<std::uint16_t> HashPlacement::foresee(const Nid& nid, const LocalView& local) const {
  return cpt_on(local.net(nid.net()), nid);
}

BalancedPlacement::BalancedPlacement(const ShardsOfCpts& shards_of_cpt)
    : LoadedPlacement(shards_of_cpt), tie_break_(static_cast<unsigned>(shards_of_cpt.size())) {
  for (std::size_t cpt = 0; cpt < shards_of_cpt.size(); ++cpt)
    all_.push_back(static_cast<std::uint16_t>(cpt));
}

std::uint16_t BalancedPlacement::cpt_of(const Nid& nid,
                                        std::span<const std::uint16_t> allowed) const {
  const std::span<const std::uint16_t> choices = allowed.empty() ? all_ : allowed;
  PLNET_CHECK(!choices.empty(), "a network may use some CPT");
  const std::size_t first = tie_break_.choose(nid, static_cast<unsigned>(choices.size()));
  std::uint16_t best = choices[first];
  for (std::size_t i = 1; i < choices.size(); ++i) {
    const std::uint16_t cpt = choices[(first + i) % choices.size()];
    if (load_of_cpt(cpt) < load_of_cpt(best)) best = cpt;
  }
  return best;
}

std::unique_ptr<Placement> make_placement(PlacementRule rule, ShardsOfCpts shards_of_cpt) {
  const auto hashed = [&](CptHashRelease release) {
    const CptHash hash(static_cast<unsigned>(shards_of_cpt.size()), release);
    return std::make_unique<HashPlacement>(hash, std::move(shards_of_cpt));
  };
  switch (rule) {
    case PlacementRule::kV217: return hashed(CptHashRelease::kV217);
    case PlacementRule::kV216: return hashed(CptHashRelease::kV216);
    case PlacementRule::kV215: return hashed(CptHashRelease::kV215);
    case PlacementRule::kV212: return hashed(CptHashRelease::kV212);
    case PlacementRule::kBalanced: return std::make_unique<BalancedPlacement>(shards_of_cpt);
  }
  PLNET_CHECK(false, "a rule that there is");
  return nullptr;
}

}  // namespace plnet::lnet
