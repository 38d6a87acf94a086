// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl ping` and `lnetctl discover`, which wait as long as the node may take.
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "apps/lnetctl/commands.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::apps {
namespace {

using namespace nlohmann::literals;

// The longest time of a burst of pings at the node, and some seconds: the number of pings and the
// timeout of each have limits. One argument may name as many NIDs as a burst has.
Duration patience_of_ping(const Arguments& arguments) {
  constexpr Duration kMore = std::chrono::seconds(15);
  constexpr std::size_t kAskedAtOnce = 16;
  constexpr std::int64_t kPingTimeoutMax = 120;
  if (arguments.has("count")) return std::chrono::minutes(10) + kMore;
  const auto timeout = arguments.number("timeout").value_or(1);
  const std::size_t most =
      arguments.positional.size() == 1 &&
              arguments.positional.front().find_first_of(",[*") == std::string::npos
          ? 1
          : runtime::verb_rows::kNidsMax;
  const auto rounds = static_cast<std::int64_t>(most / kAskedAtOnce + 1);
  return std::chrono::seconds(std::clamp<std::int64_t>(timeout, 1, kPingTimeoutMax) * rounds) +
         kMore;
}

// A discovery ends with the transactions of its messages, however many are asked: the node answers
// some seconds after that.
Duration patience_of_discovery(Session& session) {
  constexpr Duration kMore = std::chrono::seconds(20);
  constexpr std::int64_t kTransactionDefault = 150;  // seconds
  const auto reply = session.ask("global show", nlohmann::json::object());
  const auto known = reply.value_or(Json::object())
                         .value("/global/transaction_timeout"_json_pointer, kTransactionDefault);
  return std::chrono::seconds(known) + kMore;
}

// Answers go to standard output, faults of other NIDs to standard error. One answer is a success.
int run_manage(const Arguments& arguments, const CommandRow& row, Session& session,
               Duration patience) {
  session.patience = patience;
  auto reply = session.ask(row.verb.words, args_by_name(arguments, row));
  session.patience = {};
  if (!reply) return print_error(session, row, reply.error());
  if (!session.json && reply->is_object() && reply->contains("manage")) {
    print_text(session.err, runtime::print_yaml({{"manage", (*reply)["manage"]}}));
    reply->erase("manage");
  }
  return print_result(session, row, *reply);
}

}  // namespace

int run_ping(const Arguments& arguments, const CommandRow& row, Session& session) {
  return run_manage(arguments, row, session, patience_of_ping(arguments));
}

int run_discover(const Arguments& arguments, const CommandRow& row, Session& session) {
  return run_manage(arguments, row, session, patience_of_discovery(session));
}

}  // namespace plnet::apps
