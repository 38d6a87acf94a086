// SPDX-License-Identifier: BSD-3-Clause
// LNet selftest: a test node, a console, and `lst`, which is this program under another name.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-selftest/console_command.hpp"
#include "apps/lnet-selftest/lst_command.hpp"
#include "apps/lnet-selftest/node_command.hpp"
#include "apps/lnet-selftest/run_command.hpp"
#include "apps/manual/program_page.hpp"
#include "node/flags/flags.hpp"
#include "node/flags/whole_program.hpp"

namespace plnet::apps {
namespace {

constexpr int kUsageStatus = 2;

struct Subcommand {
  std::string_view name;
  std::string_view help;
  int (*run)(int count, const char* const* words);
};
constexpr std::array kSubcommands{
    Subcommand{"node", "an LNet node that generates or answers traffic for consoles",
               run_selftest_node},
    Subcommand{"console", "a prompt for the commands of lst, with a console of its own",
               run_console},
    Subcommand{"run", "a whole benchmark: sweeps, repeats, a report", run_benchmark},
    Subcommand{"compare", "compares two reports of run", run_compare},
    Subcommand{"lst", "one of these commands; also installed as lst", lst::run_lst_command},
};
constexpr std::string_view kMore = "lnet-selftest COMMAND --help says more.";

std::string usage() {
  std::string text = "usage: lnet-selftest COMMAND [OPTIONS]\n\n";
  for (const Subcommand& each : kSubcommands)
    text += fmt::format("  {:<9}{}\n", each.name, each.help);
  text += fmt::format("  --{:<20}{}\n", manual::kPrintManual, manual::kPrintManualHelp);
  text += fmt::format("  --{:<20}{}\n", std::string(manual::kCompletion) + " SHELL",
                      manual::kCompletionHelp);
  return text + fmt::format("\n{}\n", kMore);
}

manual::ProgramPage page() {
  manual::ProgramPage page{
      .name = "lnet-selftest",
      .help = "LNet selftest: test nodes, consoles and whole benchmarks. " + std::string(kMore),
      .options = {{.name = "version", .help = "print the version"},
                  {.name = std::string(manual::kPrintManual),
                   .help = std::string(manual::kPrintManualHelp)},
                  {.name = std::string(manual::kCompletion),
                   .value = "SHELL",
                   .help = std::string(manual::kCompletionHelp),
                   .choices = {"bash", "zsh"}}},
      .commands = {node_page(), lst::console_page(), run_page(), compare_page()}};
  page.commands.push_back(
      {.words = "lst", .usage = "COMMAND ...", .help = std::string(kSubcommands.back().help)});
  for (manual::Command command : lst::lst_page().commands) {
    command.words.insert(0, "lst ");
    command.elsewhere = true;
    page.commands.push_back(std::move(command));
  }
  return page;
}

int run(int count, const char* const* words) {
  const std::string_view name = count > 0 ? words[0] : "";
  if (name.substr(name.rfind('/') + 1) == "lst") return lst::run_lst_command(count, words);
  const std::string_view command = count > 1 ? words[1] : "";
  const auto* const found = std::ranges::find(kSubcommands, command, &Subcommand::name);
  if (found != kSubcommands.end()) return found->run(count - 1, words + 1);
  if (command == "--version") {
    std::printf("lnet-selftest %s (plnet)\n", PLNET_VERSION);
    return 0;
  }
  if (command.starts_with("--")) {
    if (const auto text = manual::answer(page(), count, words)) {
      std::fputs(text->c_str(), stdout);
      return node::flushed("lnet-selftest", 0);
    }
  }
  const bool asked = command == "--help" || command == "-h" || command == "help";
  std::fputs(usage().c_str(), asked ? stdout : stderr);
  return asked ? 0 : kUsageStatus;
}

}  // namespace
}  // namespace plnet::apps

int main(int argc, char** argv) {
  return plnet::node::whole_program("lnet-selftest", plnet::apps::run, argc, argv);
}
