// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/registrations.hpp"

#include <cerrno>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::mlx {

Result<MapKeys> Registrations::enter(std::uint32_t slot, const MapRegion& region) {
  if (slot >= regions_.size()) regions_.resize(slot + std::size_t{1});
  PLNET_CHECK(region.offset + region.bytes <= arenas_.arena(region.arena).size,
              "a region lies in its arena");
  ibv_mr* const made = ibv_reg_mr(&domain_, arenas_.arena(region.arena).base + region.offset,
                                  region.bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (made == nullptr) return std::unexpected(errc_of_errno(errno));
  PLNET_CHECK(regions_[slot] == nullptr, "a slot has one region");
  regions_[slot] = made;
  return MapKeys{.local = made->lkey, .remote = made->rkey};
}

void Registrations::leave(std::uint32_t slot) {
  PLNET_CHECK(slot < regions_.size() && regions_[slot] != nullptr, "a region leaves once");
  (void)ibv_dereg_mr(std::exchange(regions_[slot], nullptr));
}

}  // namespace plnet::mlx
