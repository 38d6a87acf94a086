// SPDX-License-Identifier: BSD-3-Clause
// Conversion of the text of one value by its row in the schema.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {

// For a key whose value is one text. The error is a message.
[[nodiscard]] std::expected<Value, std::string> parse_value(const std::string& text,
                                                            const Key& key);

// "; did you mean '...'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view given,
                                       std::span<const std::string_view> known);

}  // namespace plnet::runtime
