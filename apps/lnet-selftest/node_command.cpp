// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/node_command.hpp"

#include <cstdio>
#include <string>

#include "apps/flags/node_flags.hpp"
#include "apps/selftest/whole_node.hpp"

namespace plnet::apps {
namespace {

constexpr const char* kProgram = "lnet-selftest node";
constexpr const char* kInstance = "selftest";

int complain(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", kProgram, error.what.c_str());
  return 1;
}

}  // namespace

int run_selftest_node(int count, const char* const* words) {
  CLI::App app(
      "An LNet node that consoles of LNet selftest, ours or Lustre's, have generate traffic or "
      "answer it.",
      kProgram);
  app.set_version_flag("--version", std::string("lnet-selftest ") + PLNET_VERSION);
  const NodeFlags flags(app, kProgram, kInstance);
  if (const auto end = take_flags(app, count, words)) return say(kProgram, *end);
  if (const auto end = flags.informative()) return say(kProgram, *end);
  auto line = flags.read();
  if (!line) return say(kProgram, wrong_flags(app, line.error()));
  auto settings = read_settings_of(*line);
  if (!settings) return complain(settings.error());
  settings->selftest.enable = true;
  const auto ended = run_node(*settings, line->node, {.instance = line->node.instance});
  return ended ? 0 : complain(ended.error());
}

}  // namespace plnet::apps
