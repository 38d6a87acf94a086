// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/report_rows.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::runtime {
namespace {

std::string line_of(Rows rows, std::string (*text_of)(const Row& row)) {
  std::string line;
  for (int place = 1;; ++place) {
    const auto row =
        std::ranges::find(rows, place, [](const Row& each) { return each.column.place; });
    if (row == rows.end()) return line + '\n';
    const int width = row->column.width;
    const std::string text = text_of(*row);
    line += place == 1 ? "" : " ";
    line += width < 0 ? fmt::format("{:<{}}", text, -width) : fmt::format("{:>{}}", text, width);
  }
}

}  // namespace

Json object_of(Rows rows, int level) {
  Json object = Json::object();
  for (const Row& row : rows) {
    if (level >= row.level && !row.value.is_null()) object[row.key] = std::move(row.value);
  }
  return object;
}

std::string file_line(Rows rows) {
  return line_of(rows, [](const Row& row) {
    return row.value.is_string() ? row.value.get<std::string>() : row.value.dump();
  });
}

std::string file_titles(Rows rows) {
  return line_of(rows, [](const Row& row) { return std::string(row.column.title); });
}

Json document_of(std::string_view key, Json list) {
  return list.empty() ? Json{} : Json{{std::string(key), std::move(list)}};
}

Json numbered(std::string_view prefix, const std::vector<std::string>& texts) {
  Json object;
  for (const std::string& text : texts)
    object[fmt::format("{}{}", prefix, object.size())] = text;
  return object;
}

std::vector<std::string> texts_of(const std::vector<lnet::Nid>& nids) {
  std::vector<std::string> texts;
  std::ranges::transform(nids, std::back_inserter(texts),
                         [](const auto& nid) { return text_of(nid); });
  return texts;
}

}  // namespace plnet::runtime
