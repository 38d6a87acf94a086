// SPDX-License-Identifier: BSD-3-Clause
// Lists of nodes in the syntax of lst: 192.168.1.[1-253/2]@o2ib.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::lst {

// The longest list of nodes; no console keeps more.
inline constexpr std::size_t kNodesOfListMax = 16'384;

// Every bracket stands for numbers: [n], [a,b], [a-b], [a-b/stride], or several of these with
// commas. Commas outside brackets separate words. In the order of the text; the last bracket of a
// word varies fastest.
[[nodiscard]] Outcome<std::vector<std::string>> expand_brackets(std::string_view text);

// The same, each a NID or PID-NID in the form for consoles: "12345-192.168.1.1@o2ib".
[[nodiscard]] Outcome<std::vector<std::string>> read_nodes(std::string_view text);

}  // namespace plnet::lst
