// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl top`: once, again and again, or as a screen that renews itself on a terminal.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/status_page.hpp"

namespace plnet::apps {
namespace {

constexpr std::int64_t kIntervalMax = 86400;
constexpr std::int64_t kScreenInterval = 2;  // seconds
constexpr std::string_view kClearScreen = "\033[H\033[2J";

std::string cell_of(const Json& row, const char* key) {
  return row.contains(key) ? std::to_string(row[key].get<std::uint64_t>()) : std::string("-");
}

// A table of the answer.
std::string screen_of(const Json& result, std::int64_t interval) {
  const Json top = result.value("top", Json::object());
  const std::string by = top.value("by", std::string("nid"));
  std::string text = fmt::format(
      "lnetctl top: load by {}, of the last {} s, renewed every {} s; Ctrl-C ends\n\n"
      "{:<28} {:>12} {:>12} {:>10} {:>10} {:>10}\n",
      by, top.value("of the last sec", 0), interval, by, "messages/s", "bytes/s", "p50 usec",
      "p99 usec", "max usec");
  for (const Json& row : top.value("load", Json::array())) {
    text +=
        fmt::format("{:<28} {:>12} {:>12} {:>10} {:>10} {:>10}\n", row.value(by, std::string()),
                    cell_of(row, "messages per sec"),
                    text_of_bytes(row.value("bytes per sec", std::uint64_t{0})),
                    cell_of(row, "p50 usec"), cell_of(row, "p99 usec"), cell_of(row, "max usec"));
  }
  return text;
}

int show_screen(const nlohmann::json& args, const CommandRow& row, Session& session,
                std::int64_t interval) {
  while (true) {
    const auto reply = session.ask(row.verb.words, args);
    if (!reply) return print_error(session, row, reply.error());
    print_text(session.out, std::string(kClearScreen) + screen_of(*reply, interval));
    session.pause(std::chrono::seconds(interval));
  }
}

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
  if (session.live_screen && !session.json && *count == 0)
    return show_screen(args, row, session, *interval == 0 ? kScreenInterval : *interval);
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
