// SPDX-License-Identifier: BSD-3-Clause
// Memory regions of a device for what is mapped on demand, by the slots of its cache.
#pragma once

#include <vector>

#include <infiniband/verbs.h>

#include "lib/base/map_cache.hpp"

namespace plnet::mlx {

class Registrations final : public MapDevice {
 public:
  // Both outlive it.
  Registrations(ibv_pd& domain, const ArenaTable& arenas) : domain_(domain), arenas_(arenas) {}

  [[nodiscard]] Result<MapKeys> enter(std::uint32_t slot, const MapRegion& region) override;
  void leave(std::uint32_t slot) override;

 private:
  ibv_pd& domain_;
  const ArenaTable& arenas_;
  std::vector<ibv_mr*> regions_;
};

}  // namespace plnet::mlx
