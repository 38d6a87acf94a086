// SPDX-License-Identifier: BSD-3-Clause
// Files that a person names: read whole and bounded, written whole or not at all.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Errors name the file. `name` stands in for one that has no path.
[[nodiscard]] Outcome<std::string> read_all(std::FILE* file, std::string_view name);
[[nodiscard]] Outcome<std::string> read_file(const std::string& path);

// Beside the file first, then in its place: whoever looks sees the old one or the whole new one.
// A device or a pipe is written to as it is; behind a symbolic link its target is replaced.
[[nodiscard]] Outcome<void> write_file(const std::string& path, std::string_view text);

}  // namespace plnet::runtime
