// SPDX-License-Identifier: BSD-3-Clause
// The distance from the CPUs of one CPT to the memory of another, in the units of the firmware's
// table (10 is near). Made once at start from the CPT plan.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/check.hpp"

namespace plnet::lnet {

class CptDistances {
 public:
  // Row by row, `cpts` times `cpts`.
  CptDistances(std::uint16_t cpts, std::vector<std::uint32_t> matrix)
      : cpts_(cpts), matrix_(std::move(matrix)) {
    PLNET_CHECK(matrix_.size() == std::size_t{cpts} * cpts, "a distance for each pair of CPTs");
  }

  // A CPT that does not exist is farther than all others, as in lustre-release libcfs:
  // cfs_cpt_distance().
  [[nodiscard]] std::uint32_t between(std::uint16_t a, std::uint16_t b) const {
    if (a >= cpts_ || b >= cpts_) return UINT32_MAX;
    return matrix_[std::size_t{a} * cpts_ + b];
  }

 private:
  std::uint16_t cpts_;
  std::vector<std::uint32_t> matrix_;
};

}  // namespace plnet::lnet
