// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/statistics.hpp"

namespace plnet::kfilnd {

namespace {

constexpr std::size_t kSizeWidth = 12;
constexpr std::size_t kTotalWidth = 17;
constexpr std::size_t kStateWidth = 21;

void append(std::string& text, std::string_view cell, std::size_t width) {
  text.append(width > cell.size() ? width - cell.size() : 1, ' ');
  text += cell;
}

void append(std::string& text, std::uint64_t value, std::size_t width) {
  append(text, std::to_string(value), width);
}

}  // namespace

std::string total_table(const SideStatistics& side) {
  std::string text;
  append(text, "MSG_SIZE", kSizeWidth);
  for (const std::string_view column : {"MIN", "MAX", "AVE", "COUNT"})
    append(text, column, kTotalWidth);
  text += '\n';
  for (std::size_t bucket = 0; bucket < kSizeBuckets; ++bucket) {
    const DurationStatistics& total = side.total(bucket);
    append(text, label_of(bucket), kSizeWidth);
    for (const std::uint64_t value : {total.min_ns, total.max_ns, total.average_ns(), total.count})
      append(text, value, kTotalWidth);
    text += '\n';
  }
  return text;
}

std::string state_table(const SideStatistics& side) {
  std::string text;
  append(text, "MSG_SIZE", kSizeWidth);
  for (const TransactionState state : kStateColumns)
    append(text, name_of(state), kStateWidth);
  text += '\n';
  for (std::size_t bucket = 0; bucket < kSizeBuckets; ++bucket) {
    append(text, label_of(bucket), kSizeWidth);
    for (const TransactionState state : kStateColumns)
      append(text, side.state(bucket, state).average_ns(), kStateWidth);
    text += '\n';
  }
  return text;
}

}  // namespace plnet::kfilnd
