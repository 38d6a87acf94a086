// SPDX-License-Identifier: BSD-3-Clause
// The document of `lnetctl route explain`.
#pragma once

#include "lib/lnet/node/path_report.hpp"
#include "lib/runtime/lnet/report_json.hpp"

namespace plnet::runtime {

[[nodiscard]] Json path_to_json(const lnet::PathReport& report);

}  // namespace plnet::runtime
