// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace plnet::run {
namespace {

constexpr double kWidth = 560;
constexpr double kHeight = 300;
constexpr double kLeft = 62;
constexpr double kRight = 96;  // room for the names of the series
constexpr double kTop = 34;
constexpr double kBottom = 44;
constexpr double kLabelGap = 34;
constexpr double kInnerWidth = kWidth - kLeft - kRight;
constexpr double kInnerHeight = kHeight - kTop - kBottom;
constexpr unsigned kTicks = 5;
// Distinguishable with impaired colour vision.
constexpr std::array<const char*, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#7f5539", "#808080"};

// 1, 2 or 5 times a power of ten.
double nice_step(double range) {
  const double raw = range / kTicks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

// Largest value over smallest that a linear axis still shows.
constexpr double kLinearRatioMax = 20;

struct Scale {
  double x_low = 0;
  double x_high = 1;
  double y_low = 0;  // above 0: the axis is logarithmic
  double y_high = 1;
  double step = 1;

  [[nodiscard]] double x(double value) const {
    const double range = std::log2(x_high) - std::log2(x_low);
    if (range <= 0) return kLeft + kInnerWidth / 2;
    return kLeft + (std::log2(value) - std::log2(x_low)) / range * kInnerWidth;
  }
  [[nodiscard]] double y(double value) const {
    if (y_low <= 0) return kTop + kInnerHeight * (1 - value / y_high);
    const double share = std::log(std::max(value, y_low) / y_low) / std::log(y_high / y_low);
    return kTop + kInnerHeight * (1 - share);
  }
  [[nodiscard]] std::vector<double> lines() const {
    std::vector<double> values;
    if (y_low > 0) {
      // Each decade; few decades also have lines at 2 and 5.
      const bool few = y_high / y_low < 1e3;
      const auto decades = std::lround(std::floor(std::log10(y_high * 1.001 / y_low)));
      for (long power = 0; power <= decades; ++power) {
        const double decade = y_low * std::pow(10.0, power);
        for (const double factor : {1.0, 2.0, 5.0}) {
          if ((factor == 1 || few) && decade * factor <= y_high * 1.001)
            values.push_back(decade * factor);
        }
      }
      return values;
    }
    const auto count = std::lround(y_high / step);
    for (long line = 0; line <= count; ++line)
      values.push_back(static_cast<double>(line) * step);
    return values;
  }
};

Scale scale_of(const std::vector<PlotSeries>& series) {
  Scale scale{.x_low = HUGE_VAL, .x_high = 0, .y_high = 0};
  double least = HUGE_VAL;
  for (const PlotSeries& each : series) {
    for (const PlotPoint& point : each.points) {
      scale.x_low = std::min(scale.x_low, point.x);
      scale.x_high = std::max(scale.x_high, point.x);
      scale.y_high = std::max({scale.y_high, point.y, point.high});
      least = std::min(least, point.y);
    }
  }
  if (scale.y_high <= 0) scale.y_high = 1;
  if (least > 0 && scale.y_high / least > kLinearRatioMax) {
    scale.y_low = std::pow(10, std::floor(std::log10(least)));
    scale.y_high = std::pow(10, std::ceil(std::log10(scale.y_high)));
    return scale;
  }
  scale.step = nice_step(scale.y_high);
  scale.y_high = std::ceil(scale.y_high / scale.step) * scale.step;
  return scale;
}

std::string axes(const Scale& scale, const std::vector<PlotSeries>& series, std::string_view x_name,
                 std::string_view y_name) {
  std::string svg;
  for (const double value : scale.lines()) {
    const double y = scale.y(value);
    svg += fmt::format("<line class='grid' x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}'/>", kLeft,
                       kLeft + kInnerWidth, y, y);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>", kLeft - 6, y + 4,
                       short_number(value));
  }
  std::vector<double> xs;
  for (const PlotSeries& each : series) {
    for (const PlotPoint& point : each.points)
      xs.push_back(point.x);
  }
  std::ranges::sort(xs);
  const auto rest = std::ranges::unique(xs);
  xs.erase(rest.begin(), rest.end());
  double last = -kLabelGap;
  for (const double x : xs) {
    if (scale.x(x) - last < kLabelGap) continue;  // it would overlap the previous one
    last = scale.x(x);
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>", scale.x(x),
                       kTop + kInnerHeight + 18, short_number(x));
  }
  svg += fmt::format("<text x='{}' y='{}' text-anchor='middle'>{}</text>", kLeft + kInnerWidth / 2,
                     kHeight - 8, html_escaped(x_name));
  svg += fmt::format("<text x='{}' y='{}' text-anchor='start'>{}</text>", 8, kTop - 10,
                     html_escaped(y_name) + (scale.y_low > 0 ? " (logarithmic)" : ""));
  return svg;
}

std::string line_of(const Scale& scale, const PlotSeries& series, const char* colour) {
  std::string path;
  std::string marks;
  for (const PlotPoint& point : series.points) {
    const double x = scale.x(point.x);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, scale.y(point.y));
    marks += fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}' stroke='{3}'/>",
                         x, scale.y(point.low), scale.y(point.high), colour);
    marks += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'><title>{} at {}: {:.2f} "
        "({:.2f} to {:.2f})</title></circle>",
        x, scale.y(point.y), colour, html_escaped(series.name), point.x, point.y, point.low,
        point.high);
  }
  return fmt::format("<polyline fill='none' stroke='{}' stroke-width='2' points='{}'/>", colour,
                     path) +
         marks;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string svg_plot(std::string_view title, std::string_view x_name, std::string_view y_name,
                     const std::vector<PlotSeries>& series) {
  const auto has_points = [](const PlotSeries& each) { return !each.points.empty(); };
  if (!std::ranges::any_of(series, has_points)) return {};
  const Scale scale = scale_of(series);
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {} {}' role='img' aria-label='{}'><text class='title' x='{}' y='14' "
      "text-anchor='middle'>{}</text>",
      kWidth, kHeight, html_escaped(title), kLeft + kInnerWidth / 2, html_escaped(title));
  svg += axes(scale, series, x_name, y_name);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const char* const colour = kColours[i % kColours.size()];
    svg += line_of(scale, series[i], colour);
    const double y = kTop + 12 + 18 * static_cast<double>(i);
    svg += fmt::format(
        "<rect x='{}' y='{}' width='12' height='4' fill='{}'/><text x='{}' y='{}'>{}</text>",
        kWidth - kRight + 12, y - 4, colour, kWidth - kRight + 30, y + 2,
        html_escaped(series[i].name));
  }
  return svg + "</svg>\n";
}

}  // namespace plnet::run
