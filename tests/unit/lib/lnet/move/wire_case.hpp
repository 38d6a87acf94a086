// SPDX-License-Identifier: BSD-3-Clause
// The parameters of a suite: each kind of network driver, on one shard and on several.
#pragma once

#include <array>
#include <ostream>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/site.hpp"

namespace plnet::lnet {

struct WireCase {
  Wire wire;
  unsigned shards;
  friend std::ostream& operator<<(std::ostream& out, const WireCase& which) {
    return out << (which.wire == Wire::kStream ? "Stream" : "Rdma") << which.shards;
  }
};

inline constexpr std::array kEveryWire{WireCase{Wire::kStream, 1}, WireCase{Wire::kStream, 2},
                                       WireCase{Wire::kStream, 4}, WireCase{Wire::kRdma, 1},
                                       WireCase{Wire::kRdma, 2},   WireCase{Wire::kRdma, 4}};

class WireTest : public testing::TestWithParam<WireCase> {
 protected:
  [[nodiscard]] static unsigned shards() { return GetParam().shards; }
  [[nodiscard]] static bool rdma() { return GetParam().wire == Wire::kRdma; }
  [[nodiscard]] static SiteSetup setup() { return {.wire = GetParam().wire, .shards = shards()}; }
};

}  // namespace plnet::lnet
