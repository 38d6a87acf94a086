// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/console_calls.hpp"

#include <cerrno>
#include <limits>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lst {

using runtime::VerbAccess;
using enum runtime::OptionKind;
using selftest::Console;
using selftest::WhenDone;

std::uint32_t number_of(const CallArgs& args, const char* name) {
  const auto found = args.find(name);
  if (found == args.end()) return 0;
  const auto number = found->get<std::int64_t>();
  // Values out of range are replaced by the largest, which is refused as well.
  return std::in_range<std::uint32_t>(number) ? static_cast<std::uint32_t>(number)
                                              : std::numeric_limits<std::uint32_t>::max();
}

std::string text_of(const CallArgs& args, const char* name) {
  return args.value(name, std::string());
}

std::expected<CallNodes, Refusal> nodes_of(const CallArgs& args) {
  CallNodes nodes;
  for (const auto& each : args.value("nodes", std::vector<std::string>())) {
    const auto id = lnet::parse_process_id(each);
    if (!id) return std::unexpected(Refusal{EINVAL, id.error().what});
    nodes.push_back(*id);
  }
  return nodes;
}

Refusal refusal_of(const selftest::Refused& refused) {
  const bool says_more = refused.why != selftest::text_of(refused.code);
  return {selftest::errno_of(refused.code), says_more ? std::string(refused.why) : std::string()};
}

selftest::NewSession new_session_of(const CallArgs& args, const lnet::Nid& nid) {
  return {.name = text_of(args, "name"),
          .key = number_of(args, "key"),
          .features = number_of(args, "features"),
          .timeout_s = number_of(args, "timeout"),
          .force = args.value("force", false),
          .nid = nid};
}

namespace {

using Args = CallArgs;
using Nodes = CallNodes;

selftest::PingTarget ping_target(const Args& args, const Nodes& nodes) {
  const std::string kind = text_of(args, "target");
  if (kind == "group") return selftest::OfGroup{text_of(args, "name")};
  if (kind == "batch")
    return selftest::OfBatch{text_of(args, "name"), args.value("servers", false)};
  if (kind == "nodes") return nodes;
  return selftest::WholeSession{};
}

std::vector<ConsoleCall> session_and_group_calls() {
  return {
      {console_row("lst end_session", "end the session on all nodes", VerbAccess::kChanges,
                   {kKeyArg}),
       [](Console& console, const Args&, const Nodes&, WhenDone when_done) {
         return console.end_session(std::move(when_done));
       }},
      {console_row("lst add_nodes", "add nodes to a group", VerbAccess::kChanges,
                   {must_have("group"), must_have("nodes", kList), kKeyArg}),
       [](Console& console, const Args& args, const Nodes& nodes, WhenDone when_done) {
         return console.add_nodes(text_of(args, "group"), nodes, std::move(when_done));
       }},
      {console_row("lst refresh_group", "invite inactive nodes of a group again",
                   VerbAccess::kChanges, {must_have("group"), kKeyArg}),
       [](Console& console, const Args& args, const Nodes&, WhenDone when_done) {
         return console.refresh_group(text_of(args, "group"), std::move(when_done));
       }},
      {console_row("lst remove_nodes", "remove nodes from a group", VerbAccess::kChanges,
                   {must_have("group"), must_have("nodes", kList), kKeyArg}),
       [](Console& console, const Args& args, const Nodes& nodes, WhenDone when_done) {
         return console.remove_nodes(text_of(args, "group"), nodes, std::move(when_done));
       }},
      {console_row("lst del_group", "delete a group", VerbAccess::kChanges,
                   {must_have("group"), kKeyArg}),
       [](Console& console, const Args& args, const Nodes&, WhenDone when_done) {
         return console.del_group(text_of(args, "group"), std::move(when_done));
       }},
  };
}

std::vector<ConsoleCall> batch_and_node_calls() {
  return {
      {console_row("lst run", "run a batch", VerbAccess::kChanges,
                   {must_have("batch"), must_have("timeout", kNumber), kKeyArg}),
       [](Console& console, const Args& args, const Nodes&, WhenDone when_done) {
         return console.run(text_of(args, "batch"), number_of(args, "timeout"),
                            std::move(when_done));
       }},
      {console_row("lst stop", "stop a batch", VerbAccess::kChanges,
                   {must_have("batch"), must_have("force", kFlag), kKeyArg}),
       [](Console& console, const Args& args, const Nodes&, WhenDone when_done) {
         return console.stop(text_of(args, "batch"), args.value("force", false),
                             std::move(when_done));
       }},
      {console_row("lst query", "show whether a batch runs", VerbAccess::kReads,
                   {must_have("batch"), must_have("test", kNumber), must_have("servers", kFlag),
                    must_have("timeout", kNumber), kKeyArg}),
       [](Console& console, const Args& args, const Nodes&, WhenDone when_done) {
         return console.query(text_of(args, "batch"), number_of(args, "test"),
                              args.value("servers", false), number_of(args, "timeout"),
                              std::move(when_done));
       }},
      {console_row("lst ping", "show the sessions of nodes", VerbAccess::kReads,
                   {must_have("target"),
                    must_have("name"),
                    must_have("servers", kFlag),
                    {.name = "nodes", .kind = kList},
                    must_have("timeout", kNumber),
                    kKeyArg}),
       [](Console& console, const Args& args, const Nodes& nodes, WhenDone when_done) {
         return console.ping(ping_target(args, nodes), number_of(args, "timeout"),
                             std::move(when_done));
       }},
      {console_row("lst stat", "show the counters of nodes", VerbAccess::kReads,
                   {{.name = "group"},
                    {.name = "nodes", .kind = kList},
                    must_have("timeout", kNumber),
                    kKeyArg}),
       [](Console& console, const Args& args, const Nodes& nodes, WhenDone when_done) {
         const bool by_group = args.contains("group");
         return console.stat(by_group
                                 ? selftest::StatTarget(selftest::OfGroup{text_of(args, "group")})
                                 : selftest::StatTarget(nodes),
                             number_of(args, "timeout"), std::move(when_done));
       }},
  };
}

}  // namespace

std::vector<ConsoleCall> console_calls() {
  std::vector<ConsoleCall> all = session_and_group_calls();
  const std::vector<ConsoleCall> more = batch_and_node_calls();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace plnet::lst
