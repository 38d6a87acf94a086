// SPDX-License-Identifier: BSD-3-Clause
// Runs an LNet node until it is told to stop.
#include <cstdio>
#include <string>

#include "apps/lnet-router/command_line.hpp"
#include "apps/lnet-selftest/service/service.hpp"
#include "apps/lnet-selftest/service/whole_node.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "lib/runtime/admin/metrics_http.hpp"
#include "lib/runtime/control/socket.hpp"
#include "lib/runtime/cpt/plan_report.hpp"
#include "node/flags/whole_program.hpp"
#include "node/host/machine.hpp"
#include "node/net/families.hpp"
#include "node/run/node.hpp"

namespace plnet::apps {
namespace {

constexpr int kFailedStatus = 1;
constexpr const char* kProgram = "lnet-router";

// Whether another process has what a start needs. A port and CPUs are taken for a moment.
Outcome<void> check_free(const runtime::Settings& settings, const node::MachinePlan& plan,
                         const node::NodeOptions& options) {
  if (auto free = runtime::ListeningSocket::check_free(options.socket.path); !free) return free;
  const node::MachineOptions machine{.instance = options.instance,
                                     .lock_directory = options.lock_directory};
  if (auto free = node::Machine::check_claims(plan, machine); !free) return free;
  const runtime::Metrics none;
  return runtime::MetricsHttp(none).set_listen(settings.metrics.listen);
}

// --check: makes all decisions of a start, and keeps no resource.
int check(const runtime::Settings& settings, const node::NodeLine& line,
          const node::Residents* residents) {
  const auto plan = node::Machine::plan(settings, node::network_families(), residents);
  if (!plan) return node::complain(kProgram, plan.error());
  std::fputs(plan_text(plan->planned.plan, plan->planned.topology).c_str(), stdout);
  std::printf("idle: %s\n", std::string(name_of(plan->idle)).c_str());
  bool fatal = false;
  for (const auto& finding : plan->findings) {
    std::printf("%s\n", text_of(finding).c_str());
    fatal = fatal || finding.severity == runtime::Severity::kError;
  }
  const auto able = node::check_startable(line.files, settings, plan->planned.plan.cpts.size());
  if (!able) return node::complain(kProgram, able.error());
  if (const auto limits = node::Node::check_limits(); !limits)
    return node::complain(kProgram, limits.error());
  if (const auto free = check_free(settings, *plan, line.node); !free)
    return node::complain(kProgram, free.error());
  return fatal ? kFailedStatus : 0;
}

int run(int count, const char* const* words) {
  const auto line = parse_command_line(count, words);
  if (!line) return node::say(kProgram, line.error());
  auto settings = node::read_settings_of(line->node);
  if (!settings) return node::complain(kProgram, settings.error());
  if (line->selftest) settings->selftest.enable = true;
  const SelftestHost host{.instance = line->node.node.instance};
  if (line->check_only) {
    const SelftestService selftest(settings->selftest, host);
    return node::flushed(
        kProgram, check(*settings, line->node, settings->selftest.enable ? &selftest : nullptr));
  }
  const auto ended = run_node(*settings, line->node.node, host);
  if (ended) return 0;
  return node::complain(kProgram,
                        node::located_in_files(line->node.files, *settings, ended.error()));
}

}  // namespace
}  // namespace plnet::apps

int main(int argc, char** argv) {
  return plnet::node::whole_program("lnet-router", plnet::apps::run, argc, argv);
}
