// SPDX-License-Identifier: BSD-3-Clause
// The arguments of `lst add_test`: the test and its parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "lib/base/result.hpp"
#include "lib/selftest/console/test_spec.hpp"

namespace plnet::lst {

// "ping", or "brw" and any of read r write w, check= c=, size= s=, off=, skip_rx_copy;
// case-insensitive. The error is the text that lst prints.
[[nodiscard]] Outcome<std::variant<selftest::PingTest, selftest::BrwTest>> read_test(
    std::string_view test, std::span<const std::string> words);

struct Distribution {
  std::uint32_t distribute = 1;
  std::uint32_t span = 1;
};
// "D:S"
[[nodiscard]] Outcome<Distribution> read_distribution(std::string_view text);

}  // namespace plnet::lst
