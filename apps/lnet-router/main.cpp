// SPDX-License-Identifier: BSD-3-Clause
// Runs an LNet node until it is told to stop.
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "apps/assembly/node.hpp"
#include "apps/lnet-router/command_line.hpp"
#include "apps/selftest/service.hpp"
#include "lib/runtime/cpt/plan_report.hpp"

namespace plnet::apps {
namespace {

constexpr int kFailedStatus = 1;
constexpr const char* kProgram = "lnet-router";

int complain(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", kProgram, error.what.c_str());
  return kFailedStatus;
}

// --check: everything that a start decides, and nothing that it takes.
int check(const runtime::Settings& settings, const Residents* residents) {
  const auto plan = Machine::plan(settings, residents);
  if (!plan) return complain(plan.error());
  std::fputs(plan_text(plan->planned.plan, plan->planned.topology).c_str(), stdout);
  std::printf("idle: %s\n", std::string(name_of(plan->idle)).c_str());
  bool fatal = false;
  for (const auto& finding : plan->findings) {
    std::printf("%s\n", text_of(finding).c_str());
    fatal = fatal || finding.severity == runtime::Severity::kError;
  }
  return fatal ? kFailedStatus : 0;
}

int run(int count, const char* const* words) {
  const auto line = parse_command_line(count, words);
  if (!line) return say(kProgram, line.error());
  auto settings = read_settings_of(line->node);
  if (!settings) return complain(settings.error());
  if (line->selftest) settings->selftest.enable = true;
  std::optional<SelftestService> selftest;
  if (settings->selftest.enable)
    selftest.emplace(settings->selftest, SelftestHost{.instance = line->node.node.instance});
  if (line->check_only) return flushed(kProgram, check(*settings, selftest ? &*selftest : nullptr));
  NodeOptions options = line->node.node;
  if (selftest) options.residents = &*selftest;
  auto node = Node::start(*settings, options);
  if (!node) return complain(node.error());
  (*node)->run();
  if (selftest) selftest->move_out();
  return 0;
}

}  // namespace
}  // namespace plnet::apps

int main(int argc, char** argv) {
  // A log whose reader went away costs its lines, not the node.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // Whatever a library throws at the very top (out of memory while starting) ends with words.
  try {
    return plnet::apps::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lnet-router: %s\n", error.what());
    return 1;
  }
}
