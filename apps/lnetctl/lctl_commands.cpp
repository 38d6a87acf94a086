// SPDX-License-Identifier: BSD-3-Clause
// Rules that drop and delay messages, as lctl calls them and prints them.
// Checked against lustre-release lustre/utils/portals.c: fault_simul_rule_add(),
// fault_simul_rule_list().
#include <array>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "lib/runtime/verbs/fault_rows.hpp"

namespace plnet::apps {
namespace {

using runtime::verb_rows::kDelayOptions;
using runtime::verb_rows::kDropOptions;
using runtime::verb_rows::kFaultDelOptions;

// The kind that a row is about: its words say it.
std::string_view kind_of(const CommandRow& row) {
  return row.verb.words.contains("drop") ? "drop" : "delay";
}

int ask_and_print(const CommandRow& row, Session& session, std::string_view action,
                  const nlohmann::json& args, auto print) {
  const auto reply = session.ask(fmt::format("fault {} {}", kind_of(row), action), args);
  if (!reply) return print_error(session, row, reply.error());
  if (session.json) return print_result(session, row, *reply);
  print_text(session.out, print(*reply));
  return 0;
}

int run_lctl_add(const Arguments& arguments, const CommandRow& row, Session& session) {
  return ask_and_print(row, session, "add", args_by_name(arguments, row), [&](const Json&) {
    return fmt::format("Added {} rule {}->{} (1/{})\n", kind_of(row), arguments.text("source"),
                       arguments.text("dest"), arguments.number("rate").value_or(0));
  });
}

int run_lctl_del(const Arguments& arguments, const CommandRow& row, Session& session) {
  return ask_and_print(
      row, session, "del", args_by_name(arguments, row), [&row](const Json& reply) {
        return fmt::format("Removed {} {} rules\n", reply["fault"]["removed"].get<std::uint64_t>(),
                           kind_of(row));
      });
}

int run_lctl_reset(const Arguments&, const CommandRow& row, Session& session) {
  return ask_and_print(row, session, "reset", nlohmann::json::object(),
                       [](const Json&) { return std::string(); });
}

std::string lctl_line(const Json& rule, bool drops) {
  const auto number = [&rule](const char* key) { return rule[key].get<std::uint64_t>(); };
  std::string line = fmt::format(
      "{}->{} (1/{} | {}", rule["fa_src"].get<std::string>(), rule["fa_dst"].get<std::string>(),
      number(drops ? "da_rate" : "la_rate"), number(drops ? "da_interval" : "la_interval"));
  if (!drops) line += fmt::format(", latency {}", number("la_latency"));
  const std::uint64_t portals = number("fa_ptl_mask");
  const std::string mask = portals == 0 ? "0" : fmt::format("{:#x}", portals);  // as C has it
  return line + fmt::format(") ptl {}, msg {:x}, {}/{}, PUT {}, ACK {}, GET {}, REP {}\n", mask,
                            number("fa_msg_mask"), number(drops ? "ds_dropped" : "ls_delayed"),
                            number("fs_count"), number("fs_put"), number("fs_ack"),
                            number("fs_get"), number("fs_reply"));
}

int run_lctl_list(const Arguments&, const CommandRow& row, Session& session) {
  return ask_and_print(row, session, "show", nlohmann::json::object(), [&row](const Json& reply) {
    std::string lines = fmt::format("LNet {} rules:\n", kind_of(row));
    std::size_t count = 0;
    if (reply.contains("fault")) {
      for (const Json& rule : reply["fault"]) {
        lines += lctl_line(rule, kind_of(row) == "drop");
        ++count;
      }
    }
    return lines + fmt::format("found total {}\n", count);
  });
}

constexpr CommandRow lctl(std::string_view words, std::string_view help, const OptionList& options,
                          std::string_view operation, RunCommand run) {
  return {.verb = {.words = words,
                   .help = help,
                   .options = options,
                   .whole_only = true,
                   .operation = operation,
                   .entity = "fault"},
          .run = run};
}

constexpr std::array kLctlRows{
    lctl("net_drop_add", "lctl's fault drop add", kDropOptions, "add", run_lctl_add),
    lctl("net_drop_del", "lctl's fault drop del", kFaultDelOptions, "del", run_lctl_del),
    lctl("net_drop_reset", "lctl's fault drop reset", {}, "set", run_lctl_reset),
    lctl("net_drop_list", "lctl's fault drop show", {}, "show", run_lctl_list),
    lctl("net_delay_add", "lctl's fault delay add", kDelayOptions, "add", run_lctl_add),
    lctl("net_delay_del", "lctl's fault delay del", kFaultDelOptions, "del", run_lctl_del),
    lctl("net_delay_reset", "lctl's fault delay reset", {}, "set", run_lctl_reset),
    lctl("net_delay_list", "lctl's fault delay show", {}, "show", run_lctl_list),
};

}  // namespace

std::span<const CommandRow> lctl_commands() {
  return kLctlRows;
}

}  // namespace plnet::apps
