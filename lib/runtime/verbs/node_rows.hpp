// SPDX-License-Identifier: BSD-3-Clause
// The verbs that only plnet has: for pollers, configuration and counters.
#pragma once

#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::runtime::verb_rows {

using namespace row_makers;

inline constexpr OptionList kTokens{
    number("in-flight", 0, "N", "tokens under way between each ordered pair of shards"),
    number("work-nsec", 0, "N", "pretended work for each token, in nanoseconds")};

inline constexpr std::array kNodeRows{
    show("cpt show", "cpt", "CPTs and shards of the running node", {level()}),
    VerbRow{.words = "debugfs",
            .help = "print the files that a kernel has in /sys/kernel/debug/lnet; without FILE: "
                    "their names",
            .options = {local(text("dir", 'd', "DIR",
                                   "write the files, or all there are, into this directory "
                                   "instead"))},
            .positional = {.usage = "[FILE …]", .max = 16},
            .args = {required(arg("file"))},
            .access = VerbAccess::kReads,
            .whole_only = true,  // `debug` is another command
            .entity = "debugfs"},
    show("exchange show", "exchange", "tokens between shards and the cost of a hop", {level()}),
    set("exchange start", "exchange", "let shards pass tokens to one another", kTokens),
    set("exchange stop", "exchange", "stop passing tokens"),
    set("exchange set", "exchange", "change how many tokens and how much work", kTokens),
    VerbRow{.words = "set",
            .help = "set a variable: those of `global show`, routing, tiny_buffers, …, idle, "
                    "log_level",
            .positional = {.usage = "VARIABLE VALUE", .min = 2, .max = 2},
            .args = {required(arg("variable")), required(arg("value", OptionKind::kAny))},
            .answer = VerbAnswer::kNothing,
            .operation = "set",
            .entity = "variable"},
    VerbRow{
        .words = "import",
        .help = "apply a configuration file, or standard input",
        .options = {local(flag("add", 'a', "add (the default)")),
                    local(flag("del", 'd', "delete the objects that it names")),
                    local(flag("show", 's', "show the present state of the objects that it names")),
                    local(flag("exec", 'e', "ping and discover")),
                    local(flag("old-api", 'o', "for the kernel's tool; has no effect")),
                    flag("options", 0, "the file has options of kernel modules (modprobe.d)"),
                    flag("plan", 0, "check it and print the changes it would make")},
        .positional = {.usage = "[FILE]", .max = 1},
        .args = {required(arg("text")), arg("name"), arg("action")},
        .operation = "add",
        .entity = "import"},
    show("export", "export", "print the configuration, or write it to a file",
         {flag("backup", 'b', "only the keys that an import needs")},
         {.usage = "[FILE]", .max = 1}),
    show("counters show", "counters", "counters of the pollers and of all that they poll",
         {level()}),
    set("counters reset", "counters", "reset high-water marks and histograms"),
    show("log show", "log", "the log level, and the count of lines left out"),
    set("log set", "log", "set the log level: error, warning, info or debug", {},
        {"LEVEL", "level", 1, 1}),
    as_text(show("metrics show", "metrics", "all counters as Prometheus gets them")),
    show("top", "top",
         "the load by sender, the heaviest first; and the times of next hops "
         "(--by hop)",
         {text("by", 'b', "WHAT", "nid (of the sender), net, portal, or hop (nid)"),
          number("rows", 'r', "N", "at most N rows, 1 to 256 (10)"),
          local(number("interval", 'i', "SECONDS", "repeat after this time, until interrupted")),
          local(number("count", 'c', "N",
                       "print it N times, every second without --interval; on a terminal, without "
                       "it: a screen that renews itself"))}),
    show("capture show", "capture", "captures of lnetdump that are under way"),
    show("status", "status", "the node on one screen"),
};

}  // namespace plnet::runtime::verb_rows

namespace plnet::runtime {

inline constexpr VerbRows kNodeVerbs{verb_rows::kNodeRows};

}  // namespace plnet::runtime
