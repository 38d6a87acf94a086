// SPDX-License-Identifier: BSD-3-Clause
// Writing of reports, and reading of text files.
#pragma once

#include <string>

#include "apps/lnet-selftest/run/report.hpp"
#include "lib/base/result.hpp"

namespace plnet::run {

// Larger files are no reports or plans.
inline constexpr std::size_t kFileBytesMax = std::size_t{256} << 20U;
[[nodiscard]] Outcome<std::string> read_file(const std::string& path);

// Checks that the folder exists and is writable, before hours of measurement.
[[nodiscard]] Outcome<void> prepare_report(const std::string& folder);
// Writes report.txt, .json, .csv and .html in `folder`, which is created if missing. Each file is
// complete or absent.
[[nodiscard]] Outcome<void> write_report(const Report& report, const std::string& folder);

}  // namespace plnet::run
