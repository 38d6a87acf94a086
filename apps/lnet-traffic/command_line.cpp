// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/command_line.hpp"

#include <vector>

#include "apps/lnet-traffic/protocol.hpp"
#include "apps/manual/cli_page.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/access.hpp"

namespace plnet::traffic {
namespace {

constexpr unsigned kWindowMax = 256;
constexpr std::uint64_t kOperationsMax = PutLabel::kSequenceMask;

struct Raw {
  std::vector<std::string> targets;
  std::string idle;
  std::string socket;
};

void declare(CLI::App& app, Raw& raw, CommandLine& line) {
  TrafficConfig& traffic = line.traffic;
  traffic.bytes_max = kBytesMax;
  app.set_version_flag("--version", std::string("lnet-traffic ") + PLNET_VERSION);
  app.add_option("--to", raw.targets, "NIDs of nodes that run lnet-traffic; without: only answer")
      ->type_name("NID");
  app.add_option("--count", traffic.operations, "operations, then end; 0 = until stopped")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, kOperationsMax));
  app.add_flag("--stay", line.stay, "answer others after that, until stopped");
  app.add_option("--window", traffic.window, "operations under way on each shard")
      ->capture_default_str()
      ->check(CLI::Range(1U, kWindowMax));
  app.add_option("--bytes-max", traffic.bytes_max, "payloads are of all sizes up to this")
      ->capture_default_str()
      ->check(CLI::Range(1U, kBytesMax));
  app.add_option("--gets", traffic.get_percent, "percent of operations that are GETs, not PUTs")
      ->capture_default_str()
      ->check(CLI::Range(0U, 100U));
  app.add_option("-c,--config", line.files.config, "as for lnet-router; names the networks")
      ->type_name("FILE");
  app.add_option("--options", line.files.options, "modprobe.d file, as for lnet-router")
      ->type_name("FILE");
  app.add_option("--idle", raw.idle, "idle policy, over the file's: auto busy pause yield sleep");
  app.add_option("--instance", line.node.instance, "name of this node among several on one host")
      ->capture_default_str();
  app.add_option("--socket", raw.socket, "control socket (default /run/plnet/INSTANCE.sock)");
  app.add_option("--lock-dir", line.node.lock_directory, "folder of the CPU claims")
      ->capture_default_str();
}

Outcome<void> read_words(const Raw& raw, CommandLine& line) {
  for (const std::string& text : raw.targets) {
    const auto nid = lnet::parse_nid(text);
    if (!nid) return std::unexpected(nid.error());
    line.traffic.targets.push_back(*nid);
  }
  if (!raw.idle.empty()) {
    const auto idle = node::parse_idle_flag(raw.idle);
    if (!idle) return std::unexpected(idle.error());
    line.idle = *idle;
  }
  const auto standard = runtime::control_socket_path(line.node.instance);
  if (!standard) return std::unexpected(standard.error());
  line.node.socket.path = raw.socket.empty() ? *standard : raw.socket;
  return {};
}

}  // namespace

std::expected<CommandLine, node::EarlyEnd> parse_command_line(int count, const char* const* words) {
  CLI::App app(
      "An LNet node that puts to others and gets from them, payloads of all sizes, and answers "
      "those that do so with it. Every byte is checked, and every operation accounted for.",
      "lnet-traffic");
  CommandLine line;
  line.node.instance = "traffic";
  Raw raw;
  declare(app, raw, line);
  if (auto text = manual::answer(app, "lnet-traffic", count, words))
    return std::unexpected(node::EarlyEnd{0, std::move(*text)});
  if (auto end = node::take_flags(app, count, words)) return std::unexpected(std::move(*end));
  if (const auto read = read_words(raw, line); !read)
    return std::unexpected(node::wrong_flags(app, read.error()));
  return line;
}

}  // namespace plnet::traffic
