// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a verb on one line, for people: "net=tcp1 gateway=10.0.0.9@tcp hop=1".
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace plnet::runtime {

// Limits of one value and of all values: a document or a list of hundreds of NIDs does not fit into
// a line.
inline constexpr std::size_t kArgTextMax = 80;
inline constexpr std::size_t kArgsTextMax = 400;

// Longer text is cut off and ends with "...". A text of several lines is replaced by its size.
[[nodiscard]] std::string args_text(const nlohmann::json& args);

}  // namespace plnet::runtime
