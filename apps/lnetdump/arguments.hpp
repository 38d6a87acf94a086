// SPDX-License-Identifier: BSD-3-Clause
// The command line of lnetdump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "apps/lnetdump/live_source.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/trace/filter/expression.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/tally.hpp"

namespace plnet::lnetdump {

enum class ChartKind : std::uint8_t { kText, kMermaid, kHtml };

struct Arguments {
  std::vector<std::string> files;  // "-": standard input; empty: a node
  LiveOptions live;
  std::string ssh_host;               // the node is there
  std::optional<Duration> end_after;  // of a live capture
  trace::Expression filter;
  std::optional<trace::Format> format;
  bool json = false;
  bool quiet = false;  // no line for each message
  bool colour = false;
  bool summary = false;
  bool metrics = false;
  std::optional<Duration> top;  // interval of tables
  std::optional<ChartKind> chart;
  std::string write;  // empty: nowhere; "-": standard output
  bool as_tcp = false;
  std::uint64_t count_max = ~0ULL;
  std::uint64_t first_number = 1;
  std::size_t snap_bytes = 65536;
  std::uint16_t port = 988;
  std::vector<lnet::Nid> local;
  std::vector<trace::Assertion> assertions;
  std::string junit;                 // where JUnit XML goes
  std::vector<std::string> command;  // runs while messages are captured
  Duration settle{};                 // time of capturing after its end

  [[nodiscard]] bool is_live() const { return files.empty(); }
};

// An exit status: --help was printed (0), or an error (2).
[[nodiscard]] std::expected<Arguments, int> parse_arguments(int argc, const char* const* argv,
                                                            std::FILE* out, std::FILE* error);

}  // namespace plnet::lnetdump
