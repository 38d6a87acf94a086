// SPDX-License-Identifier: BSD-3-Clause
// The page that `lnetctl status` prints: the verdict, then the facts, then warnings with the
// command that looks closer, and notes last.
#pragma once

#include <string>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

// `result`: the answer of the verb `status`. Parts that an older node leaves out are left out here.
[[nodiscard]] std::string print_status(const Json& result);

// "1.2 GB", "15 B": decimal units.
[[nodiscard]] std::string text_of_bytes(std::uint64_t bytes);
// "3 h 12 min", "45 s": the two largest units.
[[nodiscard]] std::string text_of_seconds(std::uint64_t seconds);

}  // namespace plnet::apps
