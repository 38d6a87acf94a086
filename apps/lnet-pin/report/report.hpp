// SPDX-License-Identifier: BSD-3-Clause
// The results of a sweep as text and as data.
#pragma once

#include <string>
#include <string_view>

#include "apps/lnet-pin/report/analysis.hpp"

namespace plnet::pin {

[[nodiscard]] std::string text_of(const Results& results, const Analysis& analysis);
[[nodiscard]] Json json_of(const Results& results, const Analysis& analysis);
// A line for each measurement.
[[nodiscard]] std::string csv_of(const Results& results);
// One self-contained page.
[[nodiscard]] std::string html_of(const Results& results, const Analysis& analysis);

// report.txt, .json, .csv and .html; each is complete or absent.
[[nodiscard]] Outcome<void> write_report(const Results& results, const std::string& folder);

// "+3.1 % (0.5 to 5.9)", or that no difference is visible and the size of a detectable one.
[[nodiscard]] std::string text_of(const Comparison& comparison);
// "2 rounds are too few for an interval, 6 are needed"
[[nodiscard]] std::string too_few_text(std::size_t rounds, std::size_t needed,
                                       std::string_view purpose = "for an interval");
[[nodiscard]] std::string percent_text(const Interval& percent);
// "harness: 0.40 % of the placed node's CPU time"
[[nodiscard]] std::string harness_text(double percent);

}  // namespace plnet::pin
