// SPDX-License-Identifier: BSD-3-Clause
// Runs an LNet node until it is told to stop.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include "apps/assembly/node.hpp"
#include "apps/lnet-router/command_line.hpp"
#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/cpt/plan_report.hpp"

namespace plnet::apps {
namespace {

constexpr int kFailedStatus = 1;

Outcome<std::string> read_file(const std::string& path) {
  constexpr std::size_t kBytesMax = runtime::kRequestBytesMax;  // what `lnetctl import` may send
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  std::string text;
  std::array<char, 65536> piece{};
  while (file && std::feof(file.get()) == 0 && std::ferror(file.get()) == 0) {
    text.append(piece.data(), std::fread(piece.data(), 1, piece.size(), file.get()));
    if (text.size() <= kBytesMax) continue;
    return failure(Errc::kTooBig, "'" + path + "' is too long, expected at most " +
                                      std::to_string(kBytesMax >> 20U) + " MiB");
  }
  if (file && std::ferror(file.get()) == 0) return text;
  const int number = errno;
  return failure(errc_of_errno(number),
                 "cannot read '" + path + "': " + std::generic_category().message(number));
}

Outcome<void> read_options(const std::string& path, runtime::Settings& settings) {
  const auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  auto read = runtime::read_module_options(*text, path);
  if (!read) return std::unexpected(read.error().to_error());
  for (const std::string& note : read->notes)
    std::fprintf(stderr, "lnet-router: %s\n", note.c_str());
  settings.lnet = std::move(read->config);
  return {};
}

Outcome<runtime::Settings> settings_of(const CommandLine& line) {
  runtime::Settings settings;
  if (!line.options_path.empty()) {
    if (auto read = read_options(line.options_path, settings); !read) {
      return std::unexpected(read.error());
    }
  }
  if (!line.config_path.empty()) {
    const auto text = read_file(line.config_path);
    if (!text) return std::unexpected(text.error());
    const auto read = runtime::read_settings(*text, line.config_path, settings);
    if (!read) return std::unexpected(read.error().to_error());
    settings = *read;
  }
  if (line.idle) settings.pollers.idle = *line.idle;
  if (line.log_level) settings.log.level = *line.log_level;
  return settings;
}

int complain(const Error& error) {
  std::fprintf(stderr, "lnet-router: %s\n", error.what.c_str());
  return kFailedStatus;
}

// --check: everything that a start decides, and nothing that it takes.
int check(const runtime::Settings& settings) {
  const auto plan = Machine::plan(settings);
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

// What was asked for and did not get out (a full disk) must not look like success.
int flushed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const int number = errno;
  std::fprintf(stderr, "lnet-router: cannot write to standard output: %s\n",
               std::generic_category().message(number).c_str());
  return status != 0 ? status : kFailedStatus;
}

int run(int count, const char* const* words) {
  const auto line = parse_command_line(count, words);
  if (!line) {
    std::fputs(line.error().text.c_str(), line.error().status == 0 ? stdout : stderr);
    return flushed(line.error().status);
  }
  const auto settings = settings_of(*line);
  if (!settings) return complain(settings.error());
  if (line->check_only) return flushed(check(*settings));
  auto node = Node::start(*settings, line->node);
  if (!node) return complain(node.error());
  (*node)->run();
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
