// SPDX-License-Identifier: BSD-3-Clause
#include "node/flags/node_flags.hpp"

#include <utility>

#include "lib/base/whole_number.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/schema_rendering.hpp"
#include "lib/runtime/control/access.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::node {
namespace {

constexpr unsigned kModeMax = 0777;

Outcome<mode_t> parse_mode(const std::string& text) {
  const auto mode = whole_number<unsigned>(text, 8);
  if (!mode || *mode > kModeMax) {
    return failure(Errc::kInvalid,
                   "--socket-mode '" + text + "': expected an octal mode, 0 to 0777");
  }
  return static_cast<mode_t>(*mode);
}

}  // namespace

Outcome<runtime::Settings> read_settings_of(const NodeLine& line) {
  auto settings = read_settings_files(line.files);
  if (!settings) return settings;
  if (line.idle) settings->pollers.idle = *line.idle;
  if (line.log_level) settings->log.level = *line.log_level;
  return settings;
}

NodeFlags::NodeFlags(CLI::App& app, std::string program, std::string instance)
    : program_(std::move(program)), instance_(std::move(instance)) {
  app.add_option("-c,--config", config_, "configuration file; without it every default holds")
      ->type_name("FILE");
  app.add_option("--options", options_,
                 "modprobe.d file with `options lnet ...`; the configuration file adds to it")
      ->type_name("FILE");
  app.add_option("--networks", networks_,
                 "networks of this node, over the files', as LNet's module option: 'tcp(eth0)'");
  app.add_option("--ip2nets", ip2nets_,
                 "the same by address, for hosts that are started alike: 'tcp 10.0.0.*'");
  app.add_flag("--print-config", print_config_,
               "print a configuration file with every key, its default and its meaning");
  app.add_flag("--print-reference", print_reference_, "the same as a table in Markdown");
  app.add_option("--idle", idle_, "idle policy, over the file's: auto busy pause yield sleep");
  app.add_option("--log-level", log_level_, "over the file's: error warning info debug");
  app.add_option("--instance", instance_, "name of this node among several on one host")
      ->capture_default_str();
  app.add_option("--socket", socket_, "control socket (default /run/plnet/INSTANCE.sock)");
  app.add_option("--socket-mode", socket_mode_,
                 "its mode, octal: users who may connect may read all reports")
      ->capture_default_str();
  app.add_option("--socket-owner", socket_owner_, "its owner, a name or a number");
  app.add_option("--socket-group", socket_group_, "its group, a name or a number");
  app.add_option("--admin-group", admin_group_,
                 "group whose members may make changes, besides root and the node's own user");
  app.add_option("--nic-names", nic_names_,
                 "hosts of NIC addresses, shown behind their NIDs in the log "
                 "(/etc/plnet/nic_names)")
      ->type_name("FILE");
  app.add_option("--lock-dir", lock_dir_, "folder of the CPU claims, shared by all instances")
      ->type_name("FOLDER")
      ->capture_default_str();
}

std::optional<EarlyEnd> NodeFlags::informative() const {
  const runtime::Schema schema(family_sections());
  if (print_config_) return EarlyEnd{0, runtime::render_default_file(schema)};
  if (print_reference_) return EarlyEnd{0, runtime::render_reference(schema)};
  return std::nullopt;
}

Outcome<NodeLine> NodeFlags::read() const {
  NodeLine line;
  line.files = {.program = program_,
                .config = config_,
                .options = options_,
                .networks = networks_,
                .ip2nets = ip2nets_};
  line.node.instance = instance_;
  line.node.lock_directory = lock_dir_;
  auto names = runtime::NicNames::look_up(nic_names_, stderr);
  if (!names) return std::unexpected(std::move(names.error()));
  line.node.nic_names = std::move(*names);
  if (auto read = read_words(line); !read) return std::unexpected(std::move(read.error()));
  if (auto read = read_socket(line); !read) return std::unexpected(std::move(read.error()));
  if (!config_.empty() || !options_.empty()) {
    NodeLine words;
    words.files = line.files;
    words.idle = line.idle;
    words.log_level = line.log_level;
    line.node.reread = [words = std::move(words)] { return read_settings_of(words); };
  }
  return line;
}

Outcome<void> NodeFlags::read_words(NodeLine& line) const {
  if (!idle_.empty()) {
    const auto idle = parse_idle_flag(idle_);
    if (!idle) return std::unexpected(idle.error());
    line.idle = *idle;
  }
  if (!log_level_.empty()) {
    const auto level = runtime::parse_log_level(log_level_);
    if (!level) {
      return failure(level.error(),
                     "--log-level '" + log_level_ + "': expected error, warning, info or debug");
    }
    line.log_level = *level;
  }
  return {};
}

Outcome<void> NodeFlags::read_socket(NodeLine& line) const {
  auto& socket = line.node.socket;
  const auto mode = parse_mode(socket_mode_);
  if (!mode) return std::unexpected(mode.error());
  socket.mode = *mode;
  const auto standard = runtime::control_socket_path(instance_);
  if (!standard) return std::unexpected(standard.error());
  socket.path = socket_.empty() ? *standard : socket_;
  if (!socket_owner_.empty()) {
    const auto owner = runtime::find_user(socket_owner_);
    if (!owner) return std::unexpected(owner.error());
    socket.owner = *owner;
  }
  if (!socket_group_.empty()) {
    const auto group = runtime::find_group(socket_group_);
    if (!group) return std::unexpected(group.error());
    socket.group = *group;
  }
  if (!admin_group_.empty()) {
    const auto group = runtime::find_group(admin_group_);
    if (!group) return std::unexpected(group.error());
    line.node.admin_group = *group;
  }
  return {};
}

}  // namespace plnet::node
