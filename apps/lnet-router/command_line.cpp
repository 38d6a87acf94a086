// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-router/command_line.hpp"

#include <string>
#include <utility>

#include "apps/manual/cli_page.hpp"
#include "apps/manual/config_page.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::apps {
namespace {

// A day: no operator waits longer for a stop.
constexpr unsigned kDrainSecondsMax = 86'400;

}  // namespace

std::expected<CommandLine, node::EarlyEnd> parse_command_line(int count, const char* const* words) {
  CLI::App app("Runs an LNet node: plans its CPTs, starts its pollers, answers lnetctl.",
               "lnet-router");
  app.set_version_flag("--version", std::string("lnet-router ") + PLNET_VERSION);
  CommandLine line;
  std::optional<unsigned> drain_timeout_s;
  lnet::DrainOrder drain;
  const node::NodeFlags flags(app, "lnet-router", "control");
  app.add_flag(
      "--check", line.check_only,
      "check the file, the plan, the host and all preconditions of a start; start nothing");
  app.add_flag("--selftest", line.selftest,
               "also be a test node of LNet selftest and a console for lst");
  app.add_option("--drain-timeout", drain_timeout_s,
                 "seconds that SIGTERM gives a router to drain; 0 = ends at once; without: three "
                 "times alive_router_check_interval + router_ping_timeout (330)")
      ->check(CLI::Range(0U, kDrainSecondsMax));
  app.add_flag("--drain-full-notice", drain.full_notice,
               "such a drain gives peers all of alive_router_check_interval + "
               "router_ping_timeout, also if all have acknowledged");
  bool config_page = false;
  app.add_flag("--print-config-manual", config_page, "print the manual page of plnet.yaml");
  if (auto text = manual::answer(app, "lnet-router", count, words))
    return std::unexpected(node::EarlyEnd{0, std::move(*text)});
  if (auto end = node::take_flags(app, count, words)) return std::unexpected(std::move(*end));
  if (config_page) {
    const runtime::Schema schema(node::family_sections());
    return std::unexpected(node::EarlyEnd{0, manual::config_page(schema)});
  }
  if (auto end = flags.informative()) return std::unexpected(std::move(*end));
  auto node = flags.read();
  if (!node) return std::unexpected(node::wrong_flags(app, node.error()));
  line.node = std::move(*node);
  if (drain_timeout_s) drain.bound = std::chrono::seconds(*drain_timeout_s);
  if (drain_timeout_s != 0U) line.node.node.drain = drain;
  return line;
}

}  // namespace plnet::apps
