// SPDX-License-Identifier: BSD-3-Clause
#include "apps/manual/cli_page.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plnet::manual {
namespace {

// CLI11 describes the values of an option as "TEXT:{newest,oldest}" or "UINT:INT in [0 - 9]".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || !type.ends_with('}')) return {};
  std::vector<std::string> choices(1);
  for (const char letter : std::string_view(type).substr(begin + 2, type.size() - begin - 3)) {
    if (letter == ',') {
      choices.emplace_back();
    } else {
      choices.back() += letter;
    }
  }
  return choices;
}

std::string help_of(const CLI::Option& option, const std::string& type) {
  std::string help = option.get_description();
  const std::size_t limits = type.find(" in [");
  if (limits != std::string::npos) help += fmt::format("; {}", type.substr(limits + 4));
  if (const std::string fallback = option.get_default_str(); !fallback.empty())
    help += fmt::format("; default: {}", fallback);
  return help;
}

Option option_of(const CLI::Option& option) {
  const bool is_flag = option.get_expected_max() == 0;
  const std::string type = option.get_type_name();
  const auto& letters = option.get_snames();
  const auto& names = option.get_lnames();
  return {.letter = letters.empty() ? '\0' : letters.front().front(),
          .name = names.empty() ? "" : names.front(),
          .value = is_flag ? "" : type.substr(0, type.find(':')),
          .help = help_of(option, is_flag ? "" : type),
          .choices = choices_in(type),
          .other_names = {names.empty() ? names.end() : names.begin() + 1, names.end()}};
}

}  // namespace

Command command_of(const CLI::App& app, const std::string& words) {
  Command command{.words = words, .help = app.get_description()};
  std::ptrdiff_t arguments = 0;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->nonpositional()) {
      command.options.push_back(option_of(*option));
      continue;
    }
    const std::string name = option->get_name(true);
    const std::string usage = option->get_expected_max() > 1 ? name + " ..." : name;
    command.usage += command.usage.empty() ? "" : " ";
    command.options.insert(command.options.begin() + arguments++,
                           {.value = name, .help = help_of(*option, option->get_type_name())});
    command.usage += option->get_required() ? usage : fmt::format("[{}]", usage);
  }
  return command;
}

ProgramPage page_of(const CLI::App& app, const std::string& program) {
  Command whole = command_of(app, "");
  ProgramPage page{.name = program,
                   .help = std::move(whole.help),
                   .usage = std::move(whole.usage),
                   .options = std::move(whole.options),
                   .details = app.get_footer()};
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; }))
    page.commands.push_back(command_of(*each, each->get_name()));
  return page;
}

void add_options(CLI::App& app) {
  const std::string manual_help(kPrintManualHelp);
  const std::string completion_help(kCompletionHelp);
  app.add_flag("--" + std::string(kPrintManual), manual_help);
  app.add_option("--" + std::string(kCompletion), completion_help)
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh"}));
}

std::optional<std::string> answer(CLI::App& app, const std::string& program, int count,
                                  const char* const* words) {
  add_options(app);
  return answer(page_of(app, program), count, words);
}

}  // namespace plnet::manual
