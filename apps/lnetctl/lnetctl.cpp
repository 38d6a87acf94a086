// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/lnetctl.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "apps/lnetctl/command_table.hpp"
#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/find_socket.hpp"
#include "apps/lnetctl/known_names.hpp"
#include "apps/lnetctl/option_parser.hpp"
#include "apps/lnetctl/prompt.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/control/client.hpp"

namespace plnet::apps {
namespace {

constexpr CommandRow kProgramRow{
    .verb = {.words = "lnetctl", .operation = "lnetctl", .entity = "option"}};
// Seconds, unless a command knows that the node may take longer.
constexpr std::int64_t kTimeoutDefault = 30;
constexpr std::int64_t kTimeoutMax = 86400;  // a day
constexpr Duration kCompletionPatience = std::chrono::seconds(1);

// The node, connected to when first asked.
class Node {
 public:
  Node(std::string path, Duration timeout) : path_(std::move(path)), timeout_(timeout) {}

  runtime::VerbReply ask(std::string_view verb, const nlohmann::json& args, Duration patience) {
    if (client_ && client_->was_closed()) client_.reset();
    if (!client_) {
      auto connected = runtime::ControlClient::connect(path_, clock_);
      if (!connected) return std::unexpected(runtime::VerbError(std::move(connected.error())));
      client_.emplace(std::move(*connected));
    }
    const Duration wait = std::max(timeout_, patience);
    const Instant begin = clock_.now();
    auto reply = client_->call(verb, args, wait);
    // A node may say in time that something else was late.
    if (!reply && reply.error().faults.front().code == Errc::kTimedOut &&
        clock_.now() - begin >= wait)
      reply.error().faults.front().what +=
          "; what it asked for may happen yet; --timeout SECONDS before the command waits longer";
    // At the prompt a node may come back: try anew for the next command.
    if (!reply && reply.error().faults.front().code == Errc::kReset) client_.reset();
    return reply;
  }

 private:
  runtime::SystemClock clock_;
  std::string path_;
  Duration timeout_;
  std::optional<runtime::ControlClient> client_;
};

Outcome<std::string> socket_path(const Arguments& options) {
  if (!options.has("socket")) return socket_of_instance(options.text("instance"));
  if (options.has("instance")) {
    return failure(Errc::kInvalid, "lnetctl: expected --socket or --instance, not both");
  }
  return options.text("socket");
}

Outcome<Duration> timeout_of(const Arguments& options) {
  if (!options.has("timeout")) return std::chrono::seconds(kTimeoutDefault);
  const auto seconds = parse_c_number(options.text("timeout"));
  if (!seconds || *seconds < 1 || *seconds > kTimeoutMax) {
    return failure(Errc::kInvalid,
                   fmt::format("lnetctl: option '--timeout': '{}'; expected 1 to {} seconds",
                               options.text("timeout"), kTimeoutMax));
  }
  return std::chrono::seconds(*seconds);
}

// Options that print something and are done; nothing if none of them is given.
std::optional<int> run_informative(const Arguments& options, const CommandTable& table,
                                   Session& session) {
  if (options.has("version")) {
    print_text(session.out, fmt::format("lnetctl {} (plnet)\n", PLNET_VERSION));
    return 0;
  }
  if (options.has("list-commands")) {
    print_text(session.out, table.list());
    return 0;
  }
  if (options.has(manual::kPrintManual)) {
    print_text(session.out, manual::mdoc_of(table.page(global_options())));
    return 0;
  }
  if (options.has(manual::kCompletion)) {
    const std::string shell = options.text(manual::kCompletion);
    const std::string script = manual::completion_of(table.page(global_options()), shell);
    if (script.empty()) {
      return print_error(
          session, kProgramRow,
          Error{Errc::kInvalid,
                fmt::format("lnetctl: no completion for '{}'; expected bash or zsh", shell)});
    }
    print_text(session.out, script);
    return 0;
  }
  if (options.has("help")) {
    const runtime::VerbRow program{
        .words = "[COMMAND]", .help = kWithoutCommand, .options = global_options()};
    print_text(session.out, CommandTable::help_of(program) + table.overview());
    return 0;
  }
  return std::nullopt;
}

}  // namespace

int run_lnetctl(std::span<const std::string> words, Session& session, bool interactive) {
  const CommandTable table(commands());
  const auto options = parse_options(global_options(), words, "lnetctl", true);
  if (!options) return print_error(session, kProgramRow, options.error());
  if (const auto status = run_informative(*options, table, session)) return *status;
  auto path = socket_path(*options);
  if (!path) return print_error(session, kProgramRow, std::move(path.error()));
  // A shell waits for completion.
  const auto timeout =
      options->has("complete") ? Outcome<Duration>(kCompletionPatience) : timeout_of(*options);
  if (!timeout) return print_error(session, kProgramRow, timeout.error());
  auto names = runtime::NicNames::look_up(options->text("nic-names"), session.err);
  if (!names) return print_error(session, kProgramRow, std::move(names.error()));
  session.names = std::move(*names);
  // Users write it behind the command as often as before it.
  auto command = options->positional;
  const auto json_behind = std::erase(command, "--json");
  session.json = options->has("json") || json_behind > 0;
  if (command.empty()) session.live_screen = false;  // the prompt goes on below the answer
  Node node(std::move(*path), *timeout);
  if (!session.ask) {
    session.ask = [&node, &session, told = options->has("timeout")](std::string_view verb,
                                                                    const nlohmann::json& args) {
      return node.ask(verb, args, told ? Duration{} : session.patience);
    };
  }
  if (options->has("complete")) {
    print_text(session.out, known_names(options->text("complete"), session));
    return 0;
  }
  return command.empty() ? run_prompt(table, session, interactive) : table.run(command, session);
}

}  // namespace plnet::apps
