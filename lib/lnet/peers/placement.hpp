// SPDX-License-Identifier: BSD-3-Clause
// The choice of the home shard of a new peer NI, made when the peer NI is made and stored with it.
// Checked against lustre-release lnet/lnet/api-ni.c: lnet_cpt_of_nid_locked().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

struct HomePlace {
  std::uint16_t cpt = 0;
  ShardId shard = 0;

  friend bool operator==(const HomePlace&, const HomePlace&) = default;
};

// Used by the coordinator alone.
class Placement {
 public:
  virtual ~Placement() = default;
  [[nodiscard]] virtual HomePlace choose(const Nid& nid, const LocalView& local) = 0;
  // A peer NI of that home has been removed.
  virtual void leave(HomePlace place) = 0;
  // The CPT that choose() would return. Absent: it depends on the load by then.
  [[nodiscard]] virtual std::optional<std::uint16_t> foresee(const Nid& /*nid*/,
                                                             const LocalView& /*local*/) const {
    return std::nullopt;
  }
};

// The rule for the CPT. Within it, the home is the shard with the fewest peer NIs, among those that
// serve the NID's network if there are any.
enum class PlacementRule : std::uint8_t {
  kV217,  // as the releases of Lustre: CptHashRelease
  kV216,
  kV215,
  kV212,
  kBalanced,  // ours: the CPT whose shards have the fewest peer NIs
};
inline constexpr auto kPlacementRuleNames = std::to_array<std::string_view>(
    {"lustre-2.17", "lustre-2.16", "lustre-2.15", "lustre-2.12", "balanced"});
// "" for an invalid value.
[[nodiscard]] constexpr std::string_view name_of(PlacementRule rule) {
  const auto number = static_cast<std::size_t>(rule);
  return number < kPlacementRuleNames.size() ? kPlacementRuleNames[number] : std::string_view{};
}

// The shards of each CPT, at least one.
using ShardsOfCpts = std::vector<std::vector<ShardId>>;

class LoadedPlacement : public Placement {
 public:
  [[nodiscard]] HomePlace choose(const Nid& nid, const LocalView& local) final;
  void leave(HomePlace place) final;

  [[nodiscard]] std::uint32_t load_of(ShardId shard) const { return loads_[shard]; }

 protected:
  explicit LoadedPlacement(ShardsOfCpts shards_of_cpt);
  // The CPT of a NID on a network of this node, or on another one (null).
  [[nodiscard]] std::uint16_t cpt_on(const Net* net, const Nid& nid) const;
  // One of the CPTs that a network is restricted to; without a restriction, one of all.
  [[nodiscard]] virtual std::uint16_t cpt_of(const Nid& nid,
                                             std::span<const std::uint16_t> allowed) const = 0;
  // Peer NIs on each of its shards, times a constant.
  [[nodiscard]] std::uint64_t load_of_cpt(std::uint16_t cpt) const;

 private:
  const ShardsOfCpts shards_of_cpt_;
  std::array<std::uint32_t, kShardsMax> loads_{};
};

// The kernel's CPT of the NID: known before the peer exists, and the same after a restart.
class HashPlacement final : public LoadedPlacement {
 public:
  HashPlacement(CptHash hash, ShardsOfCpts shards_of_cpt);
  [[nodiscard]] std::optional<std::uint16_t> foresee(const Nid& nid,
                                                     const LocalView& local) const override;

 private:
  [[nodiscard]] std::uint16_t cpt_of(const Nid& nid,
                                     std::span<const std::uint16_t> allowed) const override;
  const CptHash hash_;
};

// For any NIDs, the numbers of peer NIs of two CPTs differ by at most one, until some are removed.
// Among CPTs with equal numbers the kernel's hash chooses.
class BalancedPlacement final : public LoadedPlacement {
 public:
  explicit BalancedPlacement(const ShardsOfCpts& shards_of_cpt);

 private:
  [[nodiscard]] std::uint16_t cpt_of(const Nid& nid,
                                     std::span<const std::uint16_t> allowed) const override;
  const CptHash tie_break_;
  std::vector<std::uint16_t> all_;
};

[[nodiscard]] std::unique_ptr<Placement> make_placement(PlacementRule rule,
                                                        ShardsOfCpts shards_of_cpt);

}  // namespace plnet::lnet
