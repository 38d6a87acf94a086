// SPDX-License-Identifier: BSD-3-Clause
// A line plot as SVG, for a page that loads nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plnet::run {

struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // of the repeats
  double high = 0;
};
struct PlotSeries {
  std::string name{};
  std::vector<PlotPoint> points{};
};

// The x axis is logarithmic to base 2. The y axis begins at 0; if values differ by more than an
// order of magnitude it is logarithmic, so that the small ones can be read. Empty without points.
[[nodiscard]] std::string svg_plot(std::string_view title, std::string_view x_name,
                                   std::string_view y_name, const std::vector<PlotSeries>& series);

[[nodiscard]] std::string html_escaped(std::string_view text);

// 1234567 as "1.2M".
[[nodiscard]] std::string short_number(double value);

}  // namespace plnet::run
