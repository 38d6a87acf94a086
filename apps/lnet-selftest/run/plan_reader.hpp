// SPDX-License-Identifier: BSD-3-Clause
// A plan from YAML. All that is wrong is reported, with file, line and column.
#pragma once

#include <expected>
#include <string_view>

#include "apps/lnet-selftest/run/plan.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::run {

// Keys that are not there leave what `plan` says; its nodes need not be there yet.
[[nodiscard]] std::expected<void, runtime::ConfigErrors> read_plan(std::string_view text,
                                                                   std::string_view file_name,
                                                                   Plan& plan);

}  // namespace plnet::run
