// SPDX-License-Identifier: BSD-3-Clause
// Lists of small numbers in text form, "0-3,8": CPUs, queues, nodes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// No machine has as many CPUs and no NIC as many queues: longer lists are a mistake.
inline constexpr std::size_t kMaxListNumbers = 8192;

// "" is the empty list. Items are `n` or `a-b`, blanks around them are allowed, the result is
// sorted; a number above `highest`, or a duplicate, is an error that names the column.
[[nodiscard]] Outcome<std::vector<unsigned>> parse_number_list(std::string_view text,
                                                               unsigned highest);

// The shortest such text: {0, 1, 2, 8} gives "0-2,8". Order and repetition do not matter.
[[nodiscard]] std::string format_number_list(std::span<const unsigned> numbers);

}  // namespace plnet::runtime
