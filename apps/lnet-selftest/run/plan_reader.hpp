// SPDX-License-Identifier: BSD-3-Clause
// A plan from YAML. Reports all errors with file, line and column.
#pragma once

#include <expected>
#include <string_view>

#include "apps/lnet-selftest/run/plan.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::run {

// Missing keys keep the values of `plan`; its nodes may be missing.
[[nodiscard]] std::expected<void, runtime::ConfigErrors> read_plan(std::string_view text,
                                                                   std::string_view file_name,
                                                                   Plan& plan);

}  // namespace plnet::run
