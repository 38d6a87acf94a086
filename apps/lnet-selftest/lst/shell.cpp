// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/shell.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "apps/lnetctl/option_parser.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lst {

void say(const Shell& shell, std::string_view text) {
  apps::print_text(shell.out, shell.names.annotate(text));
}

void complain(const Shell& shell, std::string_view text) {
  apps::print_text(shell.err, shell.names.annotate(text));
}

std::expected<void, Refusal> ask(const Shell& shell, std::string_view verb, Shell::Args args) {
  args["key"] = shell.key;
  auto answer = shell.ask(verb, args);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return {};
}

std::string text_of_errno(int number) {
  return std::generic_category().message(number);
}

std::string_view text_of(selftest::NodeState state) {
  switch (state) {
    case selftest::NodeState::kActive: return "Active";
    case selftest::NodeState::kBusy: return "Busy";
    case selftest::NodeState::kDown: return "Down";
    case selftest::NodeState::kUnknown: break;
  }
  return "Unknown";
}

int local_error(const Shell& shell, const Refusal& refusal, std::string_view what,
                std::string_view failed) {
  const auto text = [&]() -> std::string {
    switch (refusal.number) {
      case ESRCH: return "No session exists";
      case ESHUTDOWN: return "Session is shutting down";
      case EACCES: return "Unmatched session key or not root";
      case ENOENT: return fmt::format("Can't find {} in current session", what);
      case EINVAL: return "Invalid parameters list in command line";
      case EFAULT: return "Bad parameter address";
      case EEXIST: return fmt::format("{} already exists", what);
      default: return fmt::format("{}: {}", failed, text_of_errno(refusal.number));
    }
  };
  complain(shell, text() + '\n');
  // Details on a line of their own: scripts parse the first line.
  constexpr std::array kClear{ESRCH, ESHUTDOWN, EACCES, ENOENT, EEXIST};
  if (!refusal.why.empty() && std::ranges::find(kClear, refusal.number) == kClear.end())
    complain(shell, "  " + refusal.why + '\n');
  return kLocalError;
}

int status_of(const selftest::TransactionResult& result) {
  if (result.rpc_errno != 0) return kRpcError;
  return result.framework_errno != 0 ? kFrameworkError : kGood;
}

void print_failures(const Shell& shell, const selftest::TransactionResult& result,
                    std::string_view operation) {
  for (const selftest::NodeResult& node : result.nodes) {
    if (node.rpc_errno != 0) {
      complain(shell, fmt::format("{} RPC failed on {}: {}\n", operation, lnet::text_of(node.id),
                                  text_of_errno(node.rpc_errno)));
    } else if (node.refused) {
      complain(shell,
               fmt::format("operation {} failed on {}: {}\n", operation, lnet::text_of(node.id),
                           text_of_errno(static_cast<int>(node.status))));
    }
  }
}

int usage_error(const Shell& shell, const Command& command) {
  complain(shell, fmt::format("Usage: lst {} {}\n", command.name, command.usage));
  return kLocalError;
}

std::int64_t number_or(const apps::Arguments& arguments, std::string_view name,
                       std::int64_t otherwise) {
  return arguments.has(name) ? apps::parse_c_number(arguments.text(name)).value_or(0) : otherwise;
}

}  // namespace plnet::lst
