// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a verb on one line, for people: "net=tcp1 gateway=10.0.0.9@tcp hop=1".
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace plnet::runtime {

// Of one value, and of all of them: a document or a list of hundreds of NIDs is not a line.
inline constexpr std::size_t kArgTextMax = 80;
inline constexpr std::size_t kArgsTextMax = 400;

// What does not fit is cut off and ends with "...". Of a text of several lines there is the size.
[[nodiscard]] std::string args_text(const nlohmann::json& args);

}  // namespace plnet::runtime
