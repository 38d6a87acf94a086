// SPDX-License-Identifier: BSD-3-Clause
// The last lines of the log about changes, for people who look at the node now. Lines that describe
// the start are left out: they would fill the place and change nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace plnet::node {

struct RecentLine {
  std::string time;   // as in the log: 2026-01-31T12:00:00.000Z
  std::string level;  // "warning"
  std::string event;  // "ni_down"
  std::string text;   // the other values: nid=… cause=…

  bool operator==(const RecentLine&) const = default;
};

class RecentLines {
 public:
  static constexpr std::size_t kLinesMax = 20;
  static constexpr std::size_t kTextMax = 300;  // bytes; longer texts are cut

  // `line` has the form of the log's lines. Any thread.
  void add(std::string_view line);
  // The newest first. Any thread.
  [[nodiscard]] std::vector<RecentLine> latest() const;

 private:
  mutable std::mutex mutex_;
  std::deque<RecentLine> lines_;  // newest first
};

}  // namespace plnet::node
