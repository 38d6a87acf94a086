// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl top`: once, or again and again.
#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/row_makers.hpp"

namespace plnet::apps {
namespace {

using namespace row_makers;

constexpr std::int64_t kIntervalMax = 86400;

constexpr std::array kTopOptions{
    text("by", 'b', "WHAT", "nid (whom messages are from), net, portal, or hop (nid)"),
    number("rows", 'r', "N", "at most so many, 1 to 256 (10)"),
    number("interval", 'i', "SECONDS", "again after so long, until interrupted"),
    number("count", 'c', "N", "so many times, every second without --interval")};

// 0: not given.
Outcome<std::int64_t> at_least_one(const Arguments& arguments, std::string_view name,
                                   std::int64_t most) {
  const auto given = arguments.number(name);
  if (!given) return 0;
  if (*given >= 1 && *given <= most) return *given;
  return failure(Errc::kInvalid, fmt::format("{}: {}, expected 1 to {}", name, *given, most));
}

}  // namespace

std::span<const OptionRow> top_options() {
  return kTopOptions;
}

int run_top(const Arguments& arguments, const CommandRow& row, Session& session) {
  const auto interval = at_least_one(arguments, "interval", kIntervalMax);
  if (!interval) return print_error(session, row, interval.error());
  const auto count = at_least_one(arguments, "count", INT64_MAX);
  if (!count) return print_error(session, row, count.error());
  nlohmann::json args = nlohmann::json::object();
  if (arguments.has("by")) args["by"] = arguments.text("by");
  if (const auto rows = arguments.number("rows")) args["rows"] = *rows;
  const bool endless = *interval != 0 && *count == 0;
  for (std::int64_t round = 1;; ++round) {
    const auto reply = session.ask(row.words, args);
    if (!reply) return print_error(session, row, reply.error());
    if (const int status = print_result(session, row, *reply); status != 0) return status;
    if (!endless && round >= *count) return 0;
    session.pause(std::chrono::seconds(std::max<std::int64_t>(*interval, 1)));
  }
}

}  // namespace plnet::apps
