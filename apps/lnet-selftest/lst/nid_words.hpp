// SPDX-License-Identifier: BSD-3-Clause
// Lists of nodes as users of lst write them: 192.168.1.[1-253/2]@o2ib.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::lst {

// What a list may come to; no console keeps more.
inline constexpr std::size_t kNodesOfListMax = 16'384;

// Every bracket stands for numbers: [n], [a,b], [a-b], [a-b/stride], or several of these with
// commas. Commas outside of brackets part words. In the order in which they are written, the last
// bracket of a word running fastest.
[[nodiscard]] Outcome<std::vector<std::string>> expand_brackets(std::string_view text);

// The same, each a NID or PID-NID, as a console is told of it: "12345-192.168.1.1@o2ib".
[[nodiscard]] Outcome<std::vector<std::string>> read_nodes(std::string_view text);

}  // namespace plnet::lst
