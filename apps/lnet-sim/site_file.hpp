// SPDX-License-Identifier: BSD-3-Clause
// Site files on disk.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "apps/lnet-sim/plan/site_config.hpp"

namespace plnet::sim {

// Empty: not readable. At most 1 MiB is read.
[[nodiscard]] std::optional<std::string> read_text_file(const std::string& path);
// Empty: the errors are printed.
[[nodiscard]] std::optional<SiteConfig> load_site(const std::string& path, std::FILE* error);

}  // namespace plnet::sim
