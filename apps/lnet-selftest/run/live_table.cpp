// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/live_table.hpp"

#include <fmt/format.h>

#include "apps/lnet-selftest/run/report.hpp"

namespace plnet::run {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

void LiveTable::put(const std::string& text) {
  // A reader that has gone is no reason to stop.
  (void)std::fwrite(text.data(), 1, text.size(), out_);
  (void)std::fflush(out_);
}

void LiveTable::show(const std::string& line) {
  if (is_terminal_) put(std::string(kClearLine) + line);
}

void LiveTable::on_begin(const Point& point, unsigned repeat, std::size_t number,
                         std::size_t total) {
  if (!head_shown_) put("  of  " + table_head({.rate = point.rate > 0}));
  head_shown_ = true;
  what_ = fmt::format("{}/{} {}, repeat {}", number, total, text_of(point), repeat + 1);
  show(what_);
}

void LiveTable::on_sample(double throughput_mibps, double rpc_rate, bool warming_up) {
  show(fmt::format("{}: {:.2f} MiB/s, {:.0f} RPC/s{}", what_, throughput_mibps, rpc_rate,
                   warming_up ? " (warming up)" : ""));
}

void LiveTable::on_end(const Measurement& measurement) {
  show("");
  const auto points = figures_of({measurement});
  put(fmt::format("{:>4}  {}", measurement.repeat + 1,
                  table_row(points.front(), {.rate = measurement.point.rate > 0})));
}

}  // namespace plnet::run
