// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/node_command.hpp"

#include <cstdio>
#include <string>

#include "apps/lnet-selftest/service/whole_node.hpp"
#include "apps/manual/cli_page.hpp"
#include "node/flags/node_flags.hpp"

namespace plnet::apps {
namespace {

constexpr const char* kNodeProgram = "lnet-selftest node";
constexpr const char* kNodeInstance = "selftest";

constexpr const char* kNodeHelp =
    "An LNet node that generates traffic for consoles of LNet selftest, ours or Lustre's, or "
    "answers it.";

}  // namespace

manual::Command node_page() {
  CLI::App app(kNodeHelp, kNodeProgram);
  const node::NodeFlags flags(app, kNodeProgram, kNodeInstance);
  return manual::command_of(app, "node");
}

int run_selftest_node(int count, const char* const* words) {
  CLI::App app(kNodeHelp, kNodeProgram);
  app.set_version_flag("--version", std::string("lnet-selftest ") + PLNET_VERSION);
  const node::NodeFlags flags(app, kNodeProgram, kNodeInstance);
  if (const auto end = node::take_flags(app, count, words)) return node::say(kNodeProgram, *end);
  if (const auto end = flags.informative()) return node::say(kNodeProgram, *end);
  auto line = flags.read();
  if (!line) return node::say(kNodeProgram, node::wrong_flags(app, line.error()));
  auto settings = node::read_settings_of(*line);
  if (!settings) return node::complain(kNodeProgram, settings.error());
  settings->selftest.enable = true;
  const auto ended = run_node(*settings, line->node, {.instance = line->node.instance});
  if (ended) return 0;
  return node::complain(kNodeProgram,
                        node::located_in_files(line->files, *settings, ended.error()));
}

}  // namespace plnet::apps
