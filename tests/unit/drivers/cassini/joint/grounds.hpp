// SPDX-License-Identifier: BSD-3-Clause
// The available environments. A backend for hardware would be one more row.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/drivers/cassini/joint/ground.hpp"

namespace plnet::cassini {

enum class GroundKind : std::uint8_t { kSoft, kSoftRough, kLibcxi };

// The path of the shared object; each executable defines it.
extern const char* const kCxiSoft;

// Parts of events arrive late, events and answers in either order, with pauses between commands.
inline soft::Freedom rough_freedom() {
  return {.seed = 20261123,
          .low_latency_rejected = 0.3,
          .torn_event = 0.3,
          .event_after_answer = 0.5,
          .delay_ns_max = 5'000,
          .command_pause = 0.2};
}

class GroundTest : public testing::TestWithParam<GroundKind> {
 protected:
  void SetUp() override {
    switch (GetParam()) {
      case GroundKind::kSoft: ground_ = std::make_unique<SoftGround>(soft::Freedom{}); break;
      case GroundKind::kSoftRough: ground_ = std::make_unique<SoftGround>(rough_freedom()); break;
      case GroundKind::kLibcxi: ground_ = LibcxiGround::load(kCxiSoft); break;
    }
    ASSERT_NE(ground_, nullptr);
  }
  [[nodiscard]] const std::unique_ptr<Ground>& ground() const { return ground_; }

 private:
  std::unique_ptr<Ground> ground_;
};

inline std::string name_of_ground(const testing::TestParamInfo<GroundKind>& info) {
  switch (info.param) {
    case GroundKind::kSoft: return "Soft";
    case GroundKind::kSoftRough: return "SoftRough";
    case GroundKind::kLibcxi: break;
  }
  return "Libcxi";
}

}  // namespace plnet::cassini

#define PLNET_ON_EVERY_GROUND(suite)                                                   \
  INSTANTIATE_TEST_SUITE_P(                                                            \
      Ground, suite,                                                                   \
      testing::Values(GroundKind::kSoft, GroundKind::kSoftRough, GroundKind::kLibcxi), \
      name_of_ground)
