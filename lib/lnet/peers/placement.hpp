// SPDX-License-Identifier: BSD-3-Clause
// Which shard becomes the home of a new peer NI. Asked once, when the peer NI is made; the answer
// is stored with it. Checked against lustre-release lnet/lnet/api-ni.c: lnet_cpt_of_nid_locked().
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

// The coordinator's: one caller.
class Placement {
 public:
  virtual ~Placement() = default;
  [[nodiscard]] virtual HomePlace choose(const Nid& nid, const LocalView& local) = 0;
  // A peer NI that lived there is gone.
  virtual void leave(HomePlace place) = 0;
  // The CPT that choose() would find. Absent: that depends on who lives where by then.
  [[nodiscard]] virtual std::optional<std::uint16_t> foresee(const Nid& /*nid*/,
                                                             const LocalView& /*local*/) const {
    return std::nullopt;
  }
};

// How a CPT is found. In it the shard takes the peer NI that is home to the fewest, of those that
// serve the NID's network if there are any.
enum class PlacementRule : std::uint8_t {
  kV217,  // as the releases of Lustre do it: CptHashRelease
  kV216,
  kV215,
  kV212,
  kBalanced,  // ours: the CPT whose shards are home to the fewest
};
inline constexpr auto kPlacementRuleNames = std::to_array<std::string_view>(
    {"lustre-2.17", "lustre-2.16", "lustre-2.15", "lustre-2.12", "balanced"});
// "" of what is none.
[[nodiscard]] constexpr std::string_view name_of(PlacementRule rule) {
  const auto number = static_cast<std::size_t>(rule);
  return number < kPlacementRuleNames.size() ? kPlacementRuleNames[number] : std::string_view{};
}

// One list of shards for each CPT, none of them empty.
using ShardsOfCpts = std::vector<std::vector<ShardId>>;

class LoadedPlacement : public Placement {
 public:
  [[nodiscard]] HomePlace choose(const Nid& nid, const LocalView& local) final;
  void leave(HomePlace place) final;

  [[nodiscard]] std::uint32_t load_of(ShardId shard) const { return loads_[shard]; }

 protected:
  explicit LoadedPlacement(ShardsOfCpts shards_of_cpt);
  // That of a NID on a network of ours, or on none.
  [[nodiscard]] std::uint16_t cpt_on(const Net* net, const Nid& nid) const;
  // One of the CPTs that a network is restricted to, or if it names none of all.
  [[nodiscard]] virtual std::uint16_t cpt_of(const Nid& nid,
                                             std::span<const std::uint16_t> allowed) const = 0;
  // Peer NIs for each of its shards, times a constant.
  [[nodiscard]] std::uint64_t load_of_cpt(std::uint16_t cpt) const;

 private:
  const ShardsOfCpts shards_of_cpt_;
  std::array<std::uint32_t, kShardsMax> loads_{};
};

// The kernel's CPT of the NID: known before the peer is, and the same after a restart.
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

// Whatever the NIDs look like, no CPT has more than one peer NI more than another, until some
// leave. Of CPTs that have as many the kernel's hash picks one.
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
