// SPDX-License-Identifier: BSD-3-Clause
// The kernel's cpu_pattern, "0[0-3] 1[4-7]" or "N X[0]": parses the text to the CPUs in brackets.
// kernel_layout.hpp applies a pattern to a machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

inline constexpr std::size_t kMaxPatternLength = 4096;  // the limit of a kernel module parameter
inline constexpr std::size_t kMaxPatternGroups = 256;   // LNet's limit of CPTs

// One item between brackets: `a`, `a-b`, `a-b/s` (every s-th from a), `*` (all of the machine).
struct PatternRange {
  unsigned low = 0;
  unsigned high = 0;
  unsigned stride = 1;
  bool everything = false;
  std::size_t column = 0;  // of its first character, counted from 1

  bool operator==(const PatternRange&) const = default;
};

// `2[0-3]`: partition 2. In excluding patterns the number is absent and stays 0.
struct PatternGroup {
  unsigned partition = 0;
  std::vector<PatternRange> ranges;
  std::size_t column = 0;

  bool operator==(const PatternGroup&) const = default;
};

// pattern := blanks
//          | ["N"] group { group }        group  := number "[" ranges "]"
//          | "N"
//          | ["N"] ("X" | "C") "[" ranges "]" { "[" ranges "]" }
// ranges  := range { "," range }          number := decimal | 0octal | 0xhex
// Letters in either case, blanks anywhere but within a number.
struct CptPattern {
  enum class Kind : std::uint8_t {
    kDefault,          // "": split evenly
    kList,             // partitions are listed
    kPerNode,          // "N": one for each NUMA node
    kExclude,          // X: begin with a default, take CPUs away by their number
    kExcludeRelative,  // C: the same, numbers count from the first CPU of each node or partition
  };

  Kind kind = Kind::kDefault;
  bool nodes = false;  // "N": numbers are NUMA nodes, or with X and C the default is by node
  std::vector<PatternGroup> groups;

  bool operator==(const CptPattern&) const = default;
};

// Errors name the column and what was expected there.
[[nodiscard]] Outcome<CptPattern> parse_cpt_pattern(std::string_view text);

}  // namespace plnet::runtime
