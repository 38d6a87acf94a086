// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-router/command_line.hpp"

#include <charconv>
#include <utility>

#include "apps/assembly/settings_files.hpp"
#include "lib/runtime/config/schema_rendering.hpp"

namespace plnet::apps {
namespace {

constexpr unsigned kModeMax = 0777;
// A day: who stops a node does not wait longer.
constexpr unsigned kDrainSecondsMax = 86'400;

// The flags as they were typed.
struct Raw {
  std::string config;
  std::string options;
  bool print_config = false;
  bool print_reference = false;
  bool check = false;
  std::string idle;
  std::string log_level;
  std::string instance = "control";
  std::string socket;
  std::string socket_mode = "0660";
  std::string socket_owner;
  std::string socket_group;
  std::string admin_group;
  std::string lock_dir{runtime::kClaimDirectory};
  unsigned drain_timeout_s = 60;
};

void declare(CLI::App& app, Raw& raw) {
  app.set_version_flag("--version", std::string("lnet-router ") + PLNET_VERSION);
  app.add_option("-c,--config", raw.config, "configuration file; without it every default holds");
  app.add_option("--options", raw.options,
                 "modprobe.d file with `options lnet ...`; the configuration file adds to it");
  app.add_flag("--print-config", raw.print_config,
               "print a configuration file with every key, its default and what it does");
  app.add_flag("--print-reference", raw.print_reference, "the same as a table in Markdown");
  app.add_flag("--check", raw.check, "read the file, make the plan, check the host; start nothing");
  app.add_option("--idle", raw.idle, "idle policy, over the file's: auto busy pause yield sleep");
  app.add_option("--log-level", raw.log_level, "over the file's: error warning info debug");
  app.add_option("--instance", raw.instance, "name of this node among several on one host")
      ->capture_default_str();
  app.add_option("--socket", raw.socket, "control socket (default /run/plnet/INSTANCE.sock)");
  app.add_option("--socket-mode", raw.socket_mode, "its mode, octal: who may connect may look")
      ->capture_default_str();
  app.add_option("--socket-owner", raw.socket_owner, "its owner, a name or a number");
  app.add_option("--socket-group", raw.socket_group, "its group, a name or a number");
  app.add_option("--admin-group", raw.admin_group,
                 "group whose members may change things, besides root and our own user");
  app.add_option("--drain-timeout", raw.drain_timeout_s,
                 "seconds that SIGTERM gives a router to drain; 0 = ends at once")
      ->check(CLI::Range(0U, kDrainSecondsMax))
      ->capture_default_str();
  app.add_option("--lock-dir", raw.lock_dir, "folder of the CPU claims, shared by all instances")
      ->capture_default_str();
}

Outcome<mode_t> parse_mode(const std::string& text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc{} || end != text.data() + text.size() || mode > kModeMax) {
    return failure(Errc::kInvalid,
                   "--socket-mode '" + text + "': expected an octal mode, 0 to 0777");
  }
  return static_cast<mode_t>(mode);
}

Outcome<void> read_words(const Raw& raw, CommandLine& line) {
  if (!raw.idle.empty()) {
    const auto idle = parse_idle_flag(raw.idle);
    if (!idle) return std::unexpected(idle.error());
    line.idle = *idle;
  }
  if (!raw.log_level.empty()) {
    const auto level = runtime::parse_log_level(raw.log_level);
    if (!level) {
      return failure(level.error(),
                     "--log-level '" + raw.log_level + "': expected error, warning, info or debug");
    }
    line.log_level = *level;
  }
  return {};
}

Outcome<void> read_socket(const Raw& raw, CommandLine& line) {
  auto& socket = line.node.socket;
  const auto mode = parse_mode(raw.socket_mode);
  if (!mode) return std::unexpected(mode.error());
  socket.mode = *mode;
  const auto standard = runtime::control_socket_path(raw.instance);
  if (!standard) return std::unexpected(standard.error());
  socket.path = raw.socket.empty() ? *standard : raw.socket;
  if (!raw.socket_owner.empty()) {
    const auto owner = runtime::find_user(raw.socket_owner);
    if (!owner) return std::unexpected(owner.error());
    socket.owner = *owner;
  }
  if (!raw.socket_group.empty()) {
    const auto group = runtime::find_group(raw.socket_group);
    if (!group) return std::unexpected(group.error());
    socket.group = *group;
  }
  if (!raw.admin_group.empty()) {
    const auto group = runtime::find_group(raw.admin_group);
    if (!group) return std::unexpected(group.error());
    line.node.admin_group = *group;
  }
  return {};
}

}  // namespace

std::expected<CommandLine, EarlyEnd> parse_command_line(int count, const char* const* words) {
  CLI::App app("Runs an LNet node: plans its CPTs, starts its pollers, answers lnetctl.",
               "lnet-router");
  Raw raw;
  declare(app, raw);
  if (auto end = take_flags(app, count, words)) return std::unexpected(std::move(*end));
  if (raw.print_config) return std::unexpected(EarlyEnd{0, runtime::render_default_file()});
  if (raw.print_reference) return std::unexpected(EarlyEnd{0, runtime::render_reference()});
  CommandLine line;
  line.config_path = raw.config;
  line.options_path = raw.options;
  line.check_only = raw.check;
  line.node.instance = raw.instance;
  line.node.lock_directory = raw.lock_dir;
  line.node.drain_max = std::chrono::seconds(raw.drain_timeout_s);
  if (const auto read = read_words(raw, line); !read)
    return std::unexpected(wrong_flags(app, read.error()));
  if (const auto read = read_socket(raw, line); !read)
    return std::unexpected(wrong_flags(app, read.error()));
  return line;
}

}  // namespace plnet::apps
