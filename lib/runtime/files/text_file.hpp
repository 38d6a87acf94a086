// SPDX-License-Identifier: BSD-3-Clause
// Files named by users: read whole and bounded, written whole or not at all.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Errors name the file, or `name` if it has no path.
[[nodiscard]] Outcome<std::string> read_all(std::FILE* file, std::string_view name);
[[nodiscard]] Outcome<std::string> read_file(const std::string& path);

// Writes a new file beside the old one, then renames it: readers see the old file or the whole new
// one. Devices and pipes are written in place; of a symbolic link the target is replaced.
[[nodiscard]] Outcome<void> write_file(const std::string& path, std::string_view text);

}  // namespace plnet::runtime
