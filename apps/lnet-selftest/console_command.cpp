// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/console_command.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

#include "apps/lnet-selftest/lst_command.hpp"
#include "apps/lnet-selftest/service/service.hpp"
#include "node/flags/node_flags.hpp"

namespace plnet::apps {
namespace {

constexpr const char* kConsoleProgram = "lnet-selftest console";
constexpr const char* kConsoleInstance = "console";

// A console communicates rarely: one shard that sleeps meanwhile, whatever else the host does. A
// list of CPUs in the settings is used as is.
void make_modest(runtime::Settings& settings, bool idle_asked) {
  if (!idle_asked) settings.pollers.idle = runtime::IdlePolicy::kSleep;
  if (settings.cpts.by == runtime::CptPlanRequest::By::kList) return;
  settings.cpts = {.by = runtime::CptPlanRequest::By::kPartitions,
                   .partitions = 1,
                   .shards_per_cpt = 1,
                   .reserved_cpus = settings.cpts.reserved_cpus};
}

int run_in_background(int count, const char* const* words) {
  CLI::App app("A console of LNet selftest that ends with its session.", kConsoleProgram);
  const node::NodeFlags flags(app, kConsoleProgram, kConsoleInstance);
  bool background = false;
  app.add_flag("--background", background, "what this is");
  if (const auto end = node::take_flags(app, count, words)) return node::say(kConsoleProgram, *end);
  auto line = flags.read();
  if (!line) return node::say(kConsoleProgram, node::wrong_flags(app, line.error()));
  auto settings = node::read_settings_of(*line);
  if (!settings) return node::complain(kConsoleProgram, settings.error());
  make_modest(*settings, line->idle.has_value());
  settings->selftest.enable = true;

  std::atomic<node::Node*> running{nullptr};
  SelftestService selftest(settings->selftest,
                           {.instance = line->node.instance, .when_over = [&running] {
                              if (node::Node* const node = running.load()) node->stop();
                            }});
  line->node.residents = &selftest;
  auto node = node::Node::start(*settings, line->node);
  if (!node) return node::complain(kConsoleProgram, node.error());
  running.store(node->get());
  (*node)->run();
  selftest.move_out();
  // After a success its files are not needed, and every session uses another lock.
  const std::string socket = line->node.socket.path;
  if (socket.ends_with(".sock")) {
    (void)::unlink((socket.substr(0, socket.size() - 4) + "log").c_str());
    (void)::unlink((socket + ".lock").c_str());
  }
  return 0;
}

}  // namespace

int run_console(int count, const char* const* words) {
  const auto is_background = [](const char* word) {
    return std::string_view(word) == "--background";
  };
  if (std::any_of(words, words + count, is_background)) return run_in_background(count, words);
  return lst::run_prompt_with_console(count, words);
}

}  // namespace plnet::apps
