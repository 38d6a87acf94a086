// SPDX-License-Identifier: BSD-3-Clause
// new_session, show_session, end_session, ping.
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/nid_words.hpp"
#include "apps/lnet-selftest/lst/shell.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::lst {
namespace {

using apps::Arguments;
using selftest::SessionInfo;
using selftest::TransactionResult;

constexpr auto kNewSessionOptions = std::to_array<apps::OptionRow>({
    runtime::row_makers::text("timeout", 't', "SECONDS",
                              "end after this time without commands; 300"),
    runtime::row_makers::flag("force", 'f', "make nodes drop sessions of other consoles"),
});
constexpr auto kPingOptions = std::to_array<apps::OptionRow>({
    runtime::row_makers::flag("session", 's', "all nodes of the session"),
    runtime::row_makers::text("group", 'g', "NAME", "the nodes of a group"),
    runtime::row_makers::text("batch", 'b', "NAME", "the clients of a batch"),
    runtime::row_makers::flag("server", 'v', "its servers instead"),
    runtime::row_makers::text("nodes", 'n', "IDS", "these nodes, in the session or not"),
    runtime::row_makers::text("timeout", 't', "SECONDS", "5"),
});

std::string nid_of(std::uint64_t nid) {
  return nid == lnet::kNid64Any ? "<?>" : lnet::text_of(lnet::from_nid64(nid));
}

int new_session(const Shell& shell, const Arguments& arguments) {
  const std::int64_t timeout = number_or(arguments, "timeout", selftest::kConsoleTimeoutS);
  if (timeout <= 0 || timeout > std::numeric_limits<std::int32_t>::max()) {
    complain(shell, "Invalid timeout value\n");
    return kLocalError;
  }
  std::string name = shell.default_name;
  if (!arguments.positional.empty()) {
    name = arguments.positional.front();
    if (name.size() > selftest::kConsoleNameMax) {
      complain(shell, fmt::format("Name size is limited to {}\n", selftest::kConsoleNameMax));
      return kLocalError;
    }
  }
  name.resize(std::min(name.size(), selftest::kConsoleNameMax));
  const bool force = arguments.has("force");
  const std::uint32_t key = shell.key != 0 ? shell.key : shell.parent;
  const auto made = shell.ask_for_session({{"name", name},
                                           {"key", key},
                                           {"features", shell.features},
                                           {"timeout", timeout},
                                           {"force", force}});
  if (!made) {
    const int status = local_error(shell, made.error(), "session", "Failed to create session");
    // Behind the text of lst, which scripts know: the session that is in the way.
    if (made.error().number == EEXIST && !made.error().why.empty())
      complain(shell, fmt::format("  {}\n", made.error().why));
    return status;
  }
  say(shell, fmt::format("SESSION: {} FEATURES: {:x} TIMEOUT: {} FORCE: {}\n", name, shell.features,
                         timeout, force ? "Yes" : "No"));
  if (shell.key == 0)
    complain(shell, fmt::format("LST_SESSION was not set; now: export LST_SESSION={}\n", key));
  return kGood;
}

int show_session(const Shell& shell, const Arguments& /*arguments*/) {
  const auto session = ask<SessionInfo>(shell, "lst show_session", {});
  if (!session) return local_error(shell, session.error(), "session", "Failed to show session");
  say(shell, fmt::format("{} ID: {}@{}, KEY: {} FEATURES: {:x} NODES: {}\n", session->name,
                         session->id.stamp, nid_of(session->id.nid), session->key,
                         session->features, session->nodes));
  return kGood;
}

int end_session(const Shell& shell, const Arguments& /*arguments*/) {
  const auto result = ask<TransactionResult>(shell, "lst end_session", {});
  if (!result) return local_error(shell, result.error(), "session", "Failed to end session");
  if (status_of(*result) == kGood) {
    say(shell, "session is ended\n");
    return kGood;
  }
  if (result->rpc_errno != 0) {
    complain(shell, fmt::format("[RPC] Failed to send {} session RPCs: {}\n", result->rpcs_failed,
                                text_of_errno(result->rpc_errno)));
  }
  if (result->framework_errno != 0) {
    complain(shell, fmt::format("[FWK] Failed to end session on {} nodes: {}\n", result->refused,
                                text_of_errno(result->framework_errno)));
  }
  return status_of(*result);
}

// The target of ping, for people and for the console. Nothing: not exactly one target.
struct Target {
  std::string name;
  Shell::Args args;
};
std::optional<Target> target_of(const Arguments& arguments) {
  Target target;
  unsigned given = 0;
  for (const char* const kind : {"session", "group", "batch", "nodes"}) {
    if (!arguments.has(kind)) continue;
    ++given;
    target = {arguments.text(kind), {{"target", kind}}};
  }
  if (given != 1 || (arguments.has("server") && !arguments.has("batch"))) return std::nullopt;
  if (target.name.empty()) target.name = "session";
  target.args["name"] = target.name;
  target.args["servers"] = arguments.has("server");
  return target;
}

void print_ping(const Shell& shell, const selftest::NodeResult& node) {
  using selftest::NodeState;
  std::string name = "<NULL>";
  if (node.state == NodeState::kActive || node.state == NodeState::kBusy) {
    const auto* const seen = std::get_if<selftest::PingSeen>(&node.seen);
    name = node.rpc_errno != 0 || seen == nullptr
               ? "Unknown"
               : std::string(selftest::text_of(seen->session_name));
  }
  say(shell, fmt::format("\t{}: {} [session: {} id: {}]\n", lnet::text_of(node.id),
                         text_of(node.state), name, nid_of(node.session.nid)));
}

int ping(const Shell& shell, const Arguments& arguments);

constexpr auto kSessionCommands = std::to_array<Command>({
    {.name = "new_session",
     .usage = "[--timeout SECONDS] [--force] [NAME]",
     .help = "begin a session on the console of LST_SESSION",
     .options = kNewSessionOptions,
     .words_max = 1,
     .without_key = true,
     .run = new_session},
    {.name = "end_session", .help = "end the session on all its nodes", .run = end_session},
    {.name = "show_session",
     .help = "show the session of this host",
     .without_key = true,
     .run = show_session},
    {.name = "ping",
     .usage =
         "--session | --group NAME | --batch NAME [--server] | --nodes IDS [--timeout SECONDS]",
     .help = "show the sessions of nodes",
     .options = kPingOptions,
     .run = ping},
});

int ping(const Shell& shell, const Arguments& arguments) {
  auto target = target_of(arguments);
  const std::int64_t timeout = number_or(arguments, "timeout", 5);
  if (!target || timeout <= 0) return usage_error(shell, kSessionCommands.back());
  target->args["timeout"] = timeout;
  if (arguments.has("nodes")) {
    const auto nodes = read_nodes(target->name);
    if (!nodes) {
      complain(shell, fmt::format("Failed to get count of nodes from {}: {}\n", target->name,
                                  nodes.error().what));
      return kLocalError;
    }
    target->args["nodes"] = *nodes;
  }
  const auto result = ask<TransactionResult>(shell, "lst ping", target->args);
  if (!result) {
    return local_error(shell, result.error(), target->name,
                       fmt::format("Failed to ping {}", target->name));
  }
  if (result->nodes.empty()) say(shell, fmt::format("Target {} is empty\n", target->name));
  for (const auto& node : result->nodes)
    print_ping(shell, node);
  return status_of(*result);
}

}  // namespace

std::span<const Command> session_commands() {
  return kSessionCommands;
}

}  // namespace plnet::lst
