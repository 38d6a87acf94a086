// SPDX-License-Identifier: BSD-3-Clause
// Where reports go, and files of any kind as text.
#pragma once

#include <string>

#include "apps/lnet-selftest/run/report.hpp"
#include "lib/base/result.hpp"

namespace plnet::run {

// Reports and plans that are larger are none.
inline constexpr std::size_t kFileBytesMax = std::size_t{256} << 20U;
[[nodiscard]] Outcome<std::string> read_file(const std::string& path);

// The folder is there and can be written to: to be known before something is measured for hours.
[[nodiscard]] Outcome<void> prepare_report(const std::string& folder);
// report.txt, .json, .csv and .html in `folder`, which is made if it is not there. Each is whole
// or not there at all.
[[nodiscard]] Outcome<void> write_report(const Report& report, const std::string& folder);

}  // namespace plnet::run
