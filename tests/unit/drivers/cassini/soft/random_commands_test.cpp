// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/drivers/cassini/soft/random_commands.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::cassini::soft::random_commands_test {
namespace {

// Random bytes stop nearly every queue at once; with a plausible first byte commands run.
TEST(SoftRandomCommands, NeverACrash) {
  unsigned stopped = 0, both_ran = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::byte> bytes(1 + 60 * kSlotBytes);
    for (std::byte& byte : bytes)
      byte = random.chance(0.7) ? std::byte{0} : static_cast<std::byte>(random.next());
    bytes[0] = static_cast<std::byte>(random.between(0, 70) + seed % 2 * 128);
    for (std::size_t at = 1; at < bytes.size(); at += kUnitBytes) {
      constexpr unsigned kHeads[] = {0x15, 0x25, 0x81, 0x91, 0xa0, 0x10, 0x74, 0x16, 0x36, 0x17,
                                     0x27, 0x87, 0x97, 0xa7, 0xb7, 0xc7, 0x07, 0x00, 0x00, 0x00,
                                     0x49, 0x59, 0x35, 0x40, 0x54, 0x5a, 0x66, 0x76, 0x86};
      if (random.chance(0.9))
        bytes[at] = static_cast<std::byte>(kHeads[random.below(std::size(kHeads))]);
    }
    const unsigned now = run_commands(bytes);
    stopped += now;
    if (now < 2) ++both_ran;
  }
  EXPECT_GT(stopped, 1000U);
  EXPECT_GT(both_ran, 0U);
}

}  // namespace
}  // namespace plnet::cassini::soft::random_commands_test
