// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/retry_lines.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"

namespace plnet::node::kfi_retry_lines_test {
namespace {

TEST(KfiRetryLines, StandInTheLogWithTheirInterface) {
  std::vector<std::string> lines;
  ManualClock clock;
  const runtime::SystemWallClock wall_clock;
  runtime::LogOptions options;
  options.descriptor = -1;
  options.capture = [&](std::string_view line) { lines.emplace_back(line); };
  const auto log = std::move(*runtime::Log::open(options, clock, wall_clock));
  KfiRetryLines retries;
  retries.line("packet undeliverable sct=1 spt=5 nid=691 rc=UNDELIVERABLE");
  retries.line(std::string(1000, 'x'));
  retries.say("cxi0", *log);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(
      lines[0].contains("event=retry_handler interface=cxi0 text=\"packet undeliverable "
                        "sct=1 spt=5 nid=691 rc=UNDELIVERABLE\""))
      << lines[0];
  EXPECT_LT(lines[1].size(), 256U);
  retries.say("cxi0", *log);
  EXPECT_EQ(lines.size(), 2U);
}

TEST(KfiRetryLines, SurplusLinesAreCounted) {
  KfiRetryLines retries;
  for (std::size_t i = 0; i < KfiRetryLines::kWaitingMax + 3; ++i)
    retries.line("packet canceled");
  EXPECT_EQ(retries.counters().value(0), KfiRetryLines::kWaitingMax + 3);
  EXPECT_EQ(retries.counters().value(1), 3U);
}

}  // namespace
}  // namespace plnet::node::kfi_retry_lines_test
