// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/args_text.hpp"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace plnet::runtime {
namespace {

using Args = nlohmann::json;

void cut(std::string& text, std::size_t most) {
  constexpr std::string_view kCut = "...";
  if (text.size() <= most) return;
  text.resize(most - kCut.size());
  text += kCut;
}

std::string value_text(const Args& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.contains('\n') ? fmt::format("({} bytes)", text.size()) : text;
  }
  if (!value.is_array()) return value.dump(-1, ' ', false, Args::error_handler_t::replace);
  std::string list;
  for (const Args& item : value) {
    if (list.size() > kArgTextMax) break;
    if (!list.empty()) list += ',';
    list += value_text(item);
  }
  return list;
}

}  // namespace

std::string args_text(const nlohmann::json& args) {
  std::string all;
  for (const auto& [name, value] : args.items()) {
    if (all.size() > kArgsTextMax) break;
    std::string text = value_text(value);
    cut(text, kArgTextMax);
    if (!all.empty()) all += ' ';
    all.append(name).append(1, '=').append(text);
  }
  cut(all, kArgsTextMax);
  return all;
}

}  // namespace plnet::runtime
