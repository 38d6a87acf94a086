// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/kept_signals.hpp"

#include <array>
#include <csignal>

#include <gtest/gtest.h>

#include "tests/unit/drivers/ofi/rig.hpp"

namespace plnet::ofi {
namespace {

using OfiSignals = OfiTest;

void handle_it(int) {}

// shm would handle four of them itself.
TEST_P(OfiSignals, HaveTheirHandlersWhenAnEndpointHasOpened) {
  std::array<struct sigaction, KeptSignals::kSignals.size()> before{};
  for (std::size_t i = 0; i < before.size(); ++i) {
    struct sigaction ours{};
    ours.sa_handler = i % 2 == 0 ? handle_it : SIG_DFL;
    ASSERT_EQ(::sigaction(KeptSignals::kSignals[i], &ours, &before[i]), 0);
  }
  conformance::EndpointUser events;
  Side side;
  (void)side.open(GetParam(), 0, events, next_site());
  for (std::size_t i = 0; i < before.size(); ++i) {
    struct sigaction after{};
    ASSERT_EQ(::sigaction(KeptSignals::kSignals[i], &before[i], &after), 0);
    EXPECT_EQ(after.sa_handler, i % 2 == 0 ? handle_it : SIG_DFL) << KeptSignals::kSignals[i];
  }
}

INSTANTIATE_TEST_SUITE_P(, OfiSignals, testing::Values(kShm, kNet), provider_name);

}  // namespace
}  // namespace plnet::ofi
