// SPDX-License-Identifier: BSD-3-Clause
// Rules that drop and delay messages, as lnetctl 2.17 and as lctl call them.
// Checked against lustre-release lnet/utils/lnetctl.c: jt_fault_add(), jt_fault_del_common();
// lustre/utils/portals.c: fault_simul_rule_add(), fault_simul_rule_list().
#include <array>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/row_makers.hpp"

namespace plnet::apps {
namespace {

using namespace row_makers;

constexpr OptionRow kSource = text("source", 's', "NID", "whence: a NID, * or *@NET");
constexpr OptionRow kDest = text("dest", 'd', "NID", "whither");
constexpr OptionRow kRate = number("rate", 'r', "N", "one in so many that match; or");
constexpr OptionRow kInterval = number("interval", 'i', "SECONDS", "one in so many seconds");
constexpr OptionRow kPortal = texts("portal", 'p', "N", "only PUTs and GETs for these portals");
constexpr OptionRow kMessage = texts("message", 'm', "TYPE", "only PUT, ACK, GET or REPLY");
constexpr OptionRow kLocal =
    text("local_nid", 'o', "NID", "only what this NI of ours receives; of silent drops");
constexpr OptionRow kRuleType =
    text("rule_type", 't', "TYPE", "for the kernel's tool; what the command says already");

constexpr std::array kDropOptions{
    kSource,
    kDest,
    kRate,
    kInterval,
    kPortal,
    kMessage,
    texts("health_error", 'e', "ERROR",
          "instead of a silent drop sending fails so: local_timeout, …, or random"),
    kLocal,
    flag("random", 'n', "about every other one; needs --interval"),
    flag("drop_all", 'x', "every one that matches"),
    kRuleType};
constexpr std::array kDelayOptions{
    kSource, kDest,    kRate,  kInterval, number("latency", 'l', "SECONDS", "how long they wait"),
    kPortal, kMessage, kLocal, kRuleType};
constexpr std::array kDelOptions{kSource, kDest, flag("all", 'a', "all rules of this kind")};

// The kind that a row is about: its words say it.
std::string_view kind_of(const CommandRow& row) {
  return row.words.contains("drop") ? "drop" : "delay";
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

constexpr CommandRow lctl(std::string_view words, std::string_view help,
                          std::span<const OptionRow> options, std::string_view operation,
                          RunCommand run) {
  CommandRow row;
  row.words = words;
  row.help = help;
  row.options = options;
  row.operation = operation;
  row.entity = "fault";
  row.run = run;
  row.whole_only = true;
  return row;
}
constexpr CommandRow del(std::string_view words, std::string_view help) {
  CommandRow row = change(words, help, kDelOptions, "del", "fault");
  row.print = nullptr;  // how many there were
  return row;
}

constexpr std::array kRows{
    change("fault drop add", "drop messages on purpose", kDropOptions, "add", "fault"),
    del("fault drop del", "delete drop rules"),
    change("fault drop reset", "drop rules count anew", {}, "set", "fault"),
    show("fault drop show", "drop rules and what they did", {}, "fault"),
    change("fault delay add", "delay messages on purpose", kDelayOptions, "add", "fault"),
    del("fault delay del", "delete delay rules"),
    change("fault delay reset", "delay rules count anew", {}, "set", "fault"),
    show("fault delay show", "delay rules and what they did", {}, "fault"),
    lctl("net_drop_add", "lctl's fault drop add", kDropOptions, "add", run_lctl_add),
    lctl("net_drop_del", "lctl's fault drop del", kDelOptions, "del", run_lctl_del),
    lctl("net_drop_reset", "lctl's fault drop reset", {}, "set", run_lctl_reset),
    lctl("net_drop_list", "lctl's fault drop show", {}, "show", run_lctl_list),
    lctl("net_delay_add", "lctl's fault delay add", kDelayOptions, "add", run_lctl_add),
    lctl("net_delay_del", "lctl's fault delay del", kDelOptions, "del", run_lctl_del),
    lctl("net_delay_reset", "lctl's fault delay reset", {}, "set", run_lctl_reset),
    lctl("net_delay_list", "lctl's fault delay show", {}, "show", run_lctl_list),
};

}  // namespace

std::span<const CommandRow> fault_commands() {
  return kRows;
}

}  // namespace plnet::apps
