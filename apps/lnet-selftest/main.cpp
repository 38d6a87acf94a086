// SPDX-License-Identifier: BSD-3-Clause
// LNet selftest: a test node, a console, and `lst`, which is this program under another name.
#include <cstdio>
#include <string_view>

#include "apps/lnet-selftest/console_command.hpp"
#include "apps/lnet-selftest/lst_command.hpp"
#include "apps/lnet-selftest/node_command.hpp"
#include "apps/lnet-selftest/run_command.hpp"
#include "node/flags/whole_program.hpp"

namespace plnet::apps {
namespace {

constexpr int kUsageStatus = 2;
constexpr const char* kUsage =
    "usage: lnet-selftest COMMAND [OPTIONS]\n"
    "\n"
    "  node     an LNet node that generates or answers traffic for consoles\n"
    "  console  a prompt for the commands of lst, with a console of its own\n"
    "  run      a whole benchmark: sweeps, repeats, a report\n"
    "  compare  compares two reports of run\n"
    "  lst      one of these commands; also installed as lst\n"
    "\n"
    "lnet-selftest COMMAND --help says more.\n";

int run(int count, const char* const* words) {
  const std::string_view name = count > 0 ? words[0] : "";
  if (name.substr(name.rfind('/') + 1) == "lst") return lst::run_lst_command(count, words);
  const std::string_view command = count > 1 ? words[1] : "";
  if (command == "node") return run_selftest_node(count - 1, words + 1);
  if (command == "console") return run_console(count - 1, words + 1);
  if (command == "run") return run_benchmark(count - 1, words + 1);
  if (command == "compare") return run_compare(count - 1, words + 1);
  if (command == "lst") return lst::run_lst_command(count - 1, words + 1);
  if (command == "--version") {
    std::printf("lnet-selftest %s (plnet)\n", PLNET_VERSION);
    return 0;
  }
  const bool asked = command == "--help" || command == "-h" || command == "help";
  std::fputs(kUsage, asked ? stdout : stderr);
  return asked ? 0 : kUsageStatus;
}

}  // namespace
}  // namespace plnet::apps

int main(int argc, char** argv) {
  return plnet::node::whole_program("lnet-selftest", plnet::apps::run, argc, argv);
}
