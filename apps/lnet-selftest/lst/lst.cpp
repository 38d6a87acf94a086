// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/lst.hpp"

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "apps/lnetctl/option_parser.hpp"
#include "apps/lnetctl/prompt.hpp"

namespace plnet::lst {

std::vector<const Command*> all_commands() {
  std::vector<const Command*> all;
  for (const auto commands :
       {session_commands(), group_commands(), stat_commands(), batch_commands(), test_commands()}) {
    for (const Command& command : commands)
      all.push_back(&command);
  }
  return all;
}

namespace {

constexpr std::string_view kNoKey = "Can't find env LST_SESSION or value is not valid\n";

const Command* find_command(std::string_view name) {
  for (const Command* const command : all_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

int unknown_command(const Shell& shell, std::string_view name) {
  complain(shell, fmt::format("lst: '{}' is not a command; lst help lists them\n", name));
  return kLocalError;
}

int run_help(const Shell& shell, std::span<const std::string> words) {
  if (words.empty()) {
    say(shell, overview());
    return kGood;
  }
  const Command* const command = find_command(words.front());
  if (command == nullptr) return unknown_command(shell, words.front());
  say(shell, help_of(*command));
  return kGood;
}

int list_commands(const Shell& shell) {
  for (const Command* const command : all_commands())
    say(shell, fmt::format("{}\n", command->name));
  return kGood;
}

int run_command(const Shell& shell, std::span<const std::string> words) {
  const std::string& name = words.front();
  const auto rest = words.subspan(1);
  if (name == "help" || name == "--help" || name == "-h") return run_help(shell, rest);
  if (name == "--list-commands") return list_commands(shell);
  const Command* const command = find_command(name);
  if (command == nullptr) return unknown_command(shell, name);
  if (shell.key == 0 && !command->without_key) {
    complain(shell, kNoKey);
    return kLocalError;
  }
  const auto arguments = apps::parse_options(command->options, rest, fmt::format("lst {}", name));
  if (!arguments) {
    complain(shell, arguments.error().what + '\n');
    return usage_error(shell, *command);
  }
  const std::size_t count = arguments->positional.size();
  if (count < command->words_min || count > command->words_max) return usage_error(shell, *command);
  return command->run(shell, *arguments);
}

int run_prompt(const Shell& shell, bool interactive) {
  int status = kGood;
  char* buffer = nullptr;
  std::size_t size = 0;
  while (true) {
    if (interactive) say(shell, "lst > ");
    const ssize_t length = ::getline(&buffer, &size, shell.in);
    if (length < 0) break;
    const auto words = apps::split_line({buffer, static_cast<std::size_t>(length)});
    if (!words) {
      complain(shell, "a quote is left open in this line\n");
      status = kLocalError;
      continue;
    }
    if (words->empty()) continue;
    if (words->front() == "quit" || words->front() == "exit") break;
    status = run_command(shell, *words);
  }
  std::free(buffer);
  return status;
}

}  // namespace

Outcome<void> read_environment(const char* session, const char* features, Shell& shell) {
  if (features != nullptr) {
    const auto given = static_cast<std::uint32_t>(std::strtoul(features, nullptr, 16));
    if (const std::uint32_t unknown = given & ~selftest::kFeaturesKnown; unknown != 0) {
      return failure(Errc::kInvalid,
                     fmt::format("Unsupported session features {:x}, only support these features "
                                 "so far: {:x}",
                                 unknown, selftest::kFeaturesKnown));
    }
    shell.features = given;
  }
  shell.key = session == nullptr
                  ? 0
                  : static_cast<std::uint32_t>(std::strtol(session, nullptr, 10) & 0xffff'ffff);
  return {};
}

std::string overview() {
  std::string text = "usage: lst COMMAND [OPTIONS]\n\n";
  for (const Command* const command : all_commands())
    text += fmt::format("  {:<14}{}\n", command->name, command->help);
  text +=
      "\nlst help COMMAND says more; without a command lst reads them line by line. The session "
      "of\nLST_SESSION (export LST_SESSION=$$) is the one that commands are for.\n";
  return text;
}

std::string help_of(const Command& command) {
  std::string text =
      fmt::format("Usage: lst {} {}\n{}\n", command.name, command.usage, command.help);
  for (const apps::OptionRow& option : command.options) {
    const std::string letter =
        option.short_name != 0 ? fmt::format("-{}, ", option.short_name) : "    ";
    const std::string name =
        fmt::format("{}{}{}", option.name, option.value_name.empty() ? "" : " ", option.value_name);
    text += fmt::format("  {}--{:<22}{}\n", letter, name, option.help);
  }
  return text;
}

int run_lst(std::span<const std::string> words, const Shell& shell, bool interactive) {
  return words.empty() ? run_prompt(shell, interactive) : run_command(shell, words);
}

}  // namespace plnet::lst
