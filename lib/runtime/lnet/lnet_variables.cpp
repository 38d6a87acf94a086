// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/lnet_variables.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/runtime/config/yaml_text.hpp"
#include "lib/runtime/lnet/routing_outlook.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"

namespace plnet::runtime {
namespace {

struct BufferVariable {
  std::string_view name;
  std::int32_t lnet::BuffersConfig::* member;
};
constexpr std::array kBufferVariables{
    BufferVariable{"tiny_buffers", &lnet::BuffersConfig::tiny},
    BufferVariable{"small_buffers", &lnet::BuffersConfig::small},
    BufferVariable{"large_buffers", &lnet::BuffersConfig::large},
};

const BufferVariable* find_buffer_variable(std::string_view name) {
  const auto* const found = std::ranges::find(kBufferVariables, name, &BufferVariable::name);
  return found == kBufferVariables.end() ? nullptr : found;
}

Outcome<std::int64_t> value_of(std::string_view name, const VerbArgs& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (const auto number = parse_integer(text)) return *number;
  return failure(Errc::kInvalid, fmt::format("{}: '{}' is not a number", name, text));
}

}  // namespace

bool is_lnet_variable(std::string_view name) {
  return name == "routing" || find_buffer_variable(name) != nullptr ||
         lnet::find_global_variable(name) != nullptr;
}

std::string lnet_variable_names() {
  std::string names = "tiny_buffers, small_buffers, large_buffers, routing";
  for (const lnet::GlobalVariable& variable : lnet::global_variables())
    names += fmt::format(", {}", variable.name);
  return names;
}

void set_lnet_variable(lnet::LnetControl& control, std::string_view name, const VerbArgs& value,
                       VerbToken token) {
  const auto number = value_of(name, value);
  if (!number) return fail(token, number.error());
  if (const lnet::GlobalVariable* const variable = lnet::find_global_variable(name)) {
    return control.edit(
        [variable, number = *number](lnet::NodeConfig& config) {
          return set_global_variable(config.parameters, *variable, number);
        },
        silent(std::move(token)));
  }
  if (const BufferVariable* const variable = find_buffer_variable(name)) {
    if (*number < 0 || *number > INT32_MAX) {
      return fail(token,
                  {Errc::kOutOfRange, fmt::format("{}: {}, expected 0 or more", name, *number)});
    }
    return control.edit(
        [variable, number = *number](lnet::NodeConfig& config) -> Outcome<void> {
          config.buffers.*variable->member = static_cast<std::int32_t>(number);
          return {};
        },
        silent(std::move(token)));
  }
  if (*number != 0 && *number != 1) {
    return fail(token, {Errc::kOutOfRange, fmt::format("{}: {}, expected 0 or 1", name, *number)});
  }
  control.set_routing(*number == 1, with_outlook(control, std::move(token)));
}

}  // namespace plnet::runtime
