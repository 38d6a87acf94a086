// SPDX-License-Identifier: BSD-3-Clause
#include "apps/manual/option_page.hpp"

namespace plnet::manual {

std::vector<Option> options_of(std::span<const runtime::OptionRow> rows) {
  std::vector<Option> options;
  for (const runtime::OptionRow& row : rows) {
    options.push_back({.letter = row.short_name,
                       .name = std::string(row.name),
                       .value = std::string(row.value_name),
                       .help = std::string(row.help),
                       .value_optional = row.kind == runtime::OptionKind::kLevel});
  }
  return options;
}

Command command_of(const runtime::VerbRow& verb) {
  return {.words = std::string(verb.words),
          .usage = std::string(verb.positional.usage),
          .help = std::string(verb.help),
          .options = options_of({verb.options.begin(), verb.options.size()})};
}

}  // namespace plnet::manual
