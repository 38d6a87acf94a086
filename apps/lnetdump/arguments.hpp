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

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/trace/filter/expression.hpp"
#include "lib/trace/show/format.hpp"

namespace plnet::lnetdump {

enum class ChartKind : std::uint8_t { kText, kMermaid, kHtml };

struct Arguments {
  std::vector<std::string> files;  // "-": standard input
  trace::Expression filter;
  std::optional<trace::Format> format;
  bool json = false;
  bool quiet = false;  // no line for each message
  bool colour = false;
  bool summary = false;
  bool metrics = false;
  std::optional<ChartKind> chart;
  std::string write;  // empty: nowhere; "-": standard output
  bool as_tcp = false;
  std::uint64_t count_max = ~0ULL;
  std::uint64_t first_number = 1;
  std::size_t snap_bytes = 65536;
  std::uint16_t port = 988;
  std::vector<lnet::Nid> local;
};

// An exit status: --help was printed (0), or what is wrong was (2).
[[nodiscard]] std::expected<Arguments, int> parse_arguments(int argc, const char* const* argv,
                                                            std::FILE* out, std::FILE* error);

}  // namespace plnet::lnetdump
