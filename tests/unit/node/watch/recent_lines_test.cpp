// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/recent_lines.hpp"

#include <gtest/gtest.h>

namespace plnet::node::recent_lines_test {
namespace {

TEST(RecentLines, ReadsTheFormOfTheLog) {
  RecentLines lines;
  lines.add(
      "time=2026-01-31T12:00:00.000Z level=warning event=ni_down nid=10.0.0.1@tcp "
      "cause=\"no carrier\" changes=1\n");
  lines.add("time=2026-01-31T12:00:01.000Z level=info event=ready pid=7\n");
  lines.add("time=2026-01-31T12:00:02.000Z level=info event=reloaded\n");
  const auto all = lines.latest();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], (RecentLine{"2026-01-31T12:00:02.000Z", "info", "reloaded", ""}));
  EXPECT_EQ(all[2], (RecentLine{"2026-01-31T12:00:00.000Z", "warning", "ni_down",
                                "nid=10.0.0.1@tcp cause=\"no carrier\" changes=1"}));
}

TEST(RecentLines, KeepsFewAndShortOnesAboutChanges) {
  RecentLines lines;
  for (const char* const line :
       {"", "\n", "hello", "time=a level=info event=plan by=auto", "time=a level=debug event=x",
        "time=a level=info event=memory text=\"64 MiB\"", "event=x"})
    lines.add(line);
  ASSERT_EQ(lines.latest().size(), 1U);
  EXPECT_EQ(lines.latest()[0].event, "x");
  for (int i = 0; i < 100; ++i)
    lines.add("time=a level=info event=e" + std::to_string(i));
  EXPECT_EQ(lines.latest().size(), RecentLines::kLinesMax);
  EXPECT_EQ(lines.latest().front().event, "e99");
  lines.add("time=a level=info event=long text=" + std::string(RecentLines::kTextMax - 6, 'x') +
            "ä");
  EXPECT_EQ(lines.latest().front().text.size(), RecentLines::kTextMax - 1) << "a whole character";
}

}  // namespace
}  // namespace plnet::node::recent_lines_test
