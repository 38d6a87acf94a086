// SPDX-License-Identifier: BSD-3-Clause
// The text of one value and what its row in the schema makes of it.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {

// For a key whose value is one text. The error is what to say.
[[nodiscard]] std::expected<Value, std::string> parse_value(const std::string& text,
                                                            const Key& key);

// "; did you mean '...'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view given,
                                       std::span<const std::string_view> known);

}  // namespace plnet::runtime
