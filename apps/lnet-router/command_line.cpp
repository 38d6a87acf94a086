// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-router/command_line.hpp"

#include <string>
#include <utility>

namespace plnet::apps {
namespace {

// A day: who stops a node does not wait longer.
constexpr unsigned kDrainSecondsMax = 86'400;

}  // namespace

std::expected<CommandLine, EarlyEnd> parse_command_line(int count, const char* const* words) {
  CLI::App app("Runs an LNet node: plans its CPTs, starts its pollers, answers lnetctl.",
               "lnet-router");
  app.set_version_flag("--version", std::string("lnet-router ") + PLNET_VERSION);
  CommandLine line;
  unsigned drain_timeout_s = 60;
  const NodeFlags flags(app, "lnet-router", "control");
  app.add_flag("--check", line.check_only,
               "read the file, make the plan, check the host; start nothing");
  app.add_flag("--selftest", line.selftest,
               "be a test node of LNet selftest, too, and a console for lst");
  app.add_option("--drain-timeout", drain_timeout_s,
                 "seconds that SIGTERM gives a router to drain; 0 = ends at once")
      ->check(CLI::Range(0U, kDrainSecondsMax))
      ->capture_default_str();
  if (auto end = take_flags(app, count, words)) return std::unexpected(std::move(*end));
  if (auto end = flags.informative()) return std::unexpected(std::move(*end));
  auto node = flags.read();
  if (!node) return std::unexpected(wrong_flags(app, node.error()));
  line.node = std::move(*node);
  line.node.node.drain_max = std::chrono::seconds(drain_timeout_s);
  return line;
}

}  // namespace plnet::apps
