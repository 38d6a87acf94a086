// SPDX-License-Identifier: BSD-3-Clause
// Which shard becomes the home of a new peer NI. Asked once, when the peer NI is made; the answer
// is stored with it. Checked against lustre-release lnet/lnet/api-ni.c: lnet_cpt_of_nid_locked().
#pragma once

#include <array>
#include <cstdint>
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
};

// The kernel's CPT of the NID, and in it the shard that is home to the fewest, of those that serve
// the NID's network if there are any.
class HashPlacement final : public Placement {
 public:
  // `shards_of_cpt`: one list for each CPT, none of them empty.
  HashPlacement(CptHash hash, std::vector<std::vector<ShardId>> shards_of_cpt);

  [[nodiscard]] HomePlace choose(const Nid& nid, const LocalView& local) override;
  void leave(HomePlace place) override;

  [[nodiscard]] std::uint32_t load_of(ShardId shard) const { return loads_[shard]; }

 private:
  [[nodiscard]] std::uint16_t cpt_of(const Nid& nid, const Net* net) const;

  const CptHash hash_;
  const std::vector<std::vector<ShardId>> shards_of_cpt_;
  std::array<std::uint32_t, kShardsMax> loads_{};
};

}  // namespace plnet::lnet
