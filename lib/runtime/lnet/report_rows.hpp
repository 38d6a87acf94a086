// SPDX-License-Identifier: BSD-3-Clause
// A report as a table of its fields, for documents and files of debugfs.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {

// The place of a field in a line of a file.
struct Column {
  int place = 0;  // from 1; 0: the file does not have the field
  const char* title = "";
  int width = 0;  // negative: flush left
};

struct Row {
  std::string key;     // in documents
  mutable Json value;  // null: the report does not have the field
  int level = 0;       // of detail, from which documents show it
  Column column{};
};
using Rows = std::span<const Row>;
inline constexpr int kFileOnly = lnet::kReportLevelMax + 1;  // as a level

// Writers; they move the values out of the rows.
[[nodiscard]] Json object_of(Rows rows, int level);
[[nodiscard]] inline Json object_of(std::initializer_list<Row> rows, int level = 0) {
  return object_of(Rows(rows.begin(), rows.size()), level);
}
[[nodiscard]] std::string file_line(Rows rows);
[[nodiscard]] std::string file_titles(Rows rows);

// A list of print(report, more...) for each report.
Json list_of(const auto& reports, const auto& print, const auto&... more) {
  Json list = Json::array();
  for (const auto& report : reports)
    list.push_back(print(report, more...));
  return list;
}
// Null for an empty list: lnetctl prints no document then.
[[nodiscard]] Json document_of(std::string_view key, Json list);

// Null if the value is 0, false or empty.
template <class T>
Json if_any(const T& value) {
  return value == T{} ? Json{} : Json(value);
}
// {"nid-0": ..., "nid-1": ...}; null if there are none.
[[nodiscard]] Json numbered(std::string_view prefix, const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<lnet::Nid>& nids);
[[nodiscard]] inline const char* up_or_down(bool up) {
  return up ? "up" : "down";
}

}  // namespace plnet::runtime
