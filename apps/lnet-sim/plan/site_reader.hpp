// SPDX-License-Identifier: BSD-3-Clause
// Reads a site from YAML. Reports all errors with file, line and column.
#pragma once

#include <expected>
#include <string_view>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::sim {

[[nodiscard]] std::expected<SiteConfig, runtime::ConfigErrors> read_site(
    std::string_view text, std::string_view file_name);

}  // namespace plnet::sim
