// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl top`: once, or again and again.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"

namespace plnet::apps {
namespace {

constexpr std::int64_t kIntervalMax = 86400;

// 0: not given.
Outcome<std::int64_t> at_least_one(const Arguments& arguments, std::string_view name,
                                   std::int64_t most) {
  const auto given = arguments.number(name);
  if (!given) return 0;
  if (*given >= 1 && *given <= most) return *given;
  return failure(Errc::kInvalid, fmt::format("{}: {}, expected 1 to {}", name, *given, most));
}

}  // namespace

int run_top(const Arguments& arguments, const CommandRow& row, Session& session) {
  const auto interval = at_least_one(arguments, "interval", kIntervalMax);
  if (!interval) return print_error(session, row, interval.error());
  const auto count = at_least_one(arguments, "count", INT64_MAX);
  if (!count) return print_error(session, row, count.error());
  const nlohmann::json args = args_by_name(arguments, row);
  const bool endless = *interval != 0 && *count == 0;
  for (std::int64_t round = 1;; ++round) {
    const auto reply = session.ask(row.verb.words, args);
    if (!reply) return print_error(session, row, reply.error());
    if (const int status = print_result(session, row, *reply); status != 0) return status;
    if (!endless && round >= *count) return 0;
    session.pause(std::chrono::seconds(std::max<std::int64_t>(*interval, 1)));
  }
}

}  // namespace plnet::apps
