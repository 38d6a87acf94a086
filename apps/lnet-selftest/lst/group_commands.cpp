// SPDX-License-Identifier: BSD-3-Clause
// add_group, del_group, update_group, list_group.
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/nid_words.hpp"
#include "apps/lnet-selftest/lst/shell.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::lst {
namespace {

using apps::Arguments;
using selftest::GroupInfo;
using selftest::NodeInfo;
using selftest::NodeState;
using selftest::TransactionResult;
using Names = std::vector<std::string>;

constexpr auto kUpdateOptions = std::to_array<apps::OptionRow>({
    runtime::row_makers::flag("refresh", 'f', "invite inactive nodes again"),
    runtime::row_makers::text("clean", 'c', "STATE",
                              "remove nodes that are active, busy, down, unknown or invalid"),
    runtime::row_makers::text("remove", 'r', "IDS", "remove these nodes"),
});
constexpr auto kListGroupOptions = std::to_array<apps::OptionRow>({
    runtime::row_makers::flag("active", 'a', "list nodes that have the session"),
    runtime::row_makers::flag("busy", 'b', "list nodes that have another session"),
    runtime::row_makers::flag("down", 'd', "list nodes that do not answer"),
    runtime::row_makers::flag("unknown", 'u', "list nodes that have no session"),
    runtime::row_makers::flag("all", 'l', "list all nodes"),
});

bool is_name(const Shell& shell, const std::string& name) {
  if (name.size() <= selftest::kConsoleNameMax) return true;
  complain(shell, fmt::format("Name length is limited to {}\n", selftest::kConsoleNameMax));
  return false;
}

int delete_group(const Shell& shell, const std::string& name) {
  const auto result = ask<TransactionResult>(shell, "lst del_group", {{"group", name}});
  if (!result) return local_error(shell, result.error(), "group", "Failed to delete group");
  if (status_of(*result) == kGood) {
    say(shell, "Group is deleted\n");
    return kGood;
  }
  complain(shell, "Group is deleted with some errors\n");
  if (result->rpc_errno != 0) {
    complain(shell, fmt::format("[RPC] Failed to send {} end session RPCs: {}\n",
                                result->rpcs_failed, text_of_errno(result->rpc_errno)));
  }
  if (result->framework_errno != 0) {
    complain(shell, fmt::format("[FWK] Failed to end session on {} nodes: {}\n", result->refused,
                                text_of_errno(result->framework_errno)));
  }
  return kLocalError;
}

// Adds the nodes of one word. Ends the command on failure.
int add_nodes(const Shell& shell, const std::string& group, const std::string& word,
              const Names& nodes) {
  const auto result =
      ask<TransactionResult>(shell, "lst add_nodes", {{"group", group}, {"nodes", nodes}});
  if (!result) {
    return local_error(shell, result.error(), "group", fmt::format("Failed to add nodes {}", word));
  }
  if (const int status = status_of(*result); status != kGood) {
    if (result->framework_errno == EPROTO) {
      complain(shell,
               "test nodes might have different LST features, please disable some features by "
               "setting LST_FEATURES\n");
    }
    print_failures(shell, *result, "create session");
    return status;
  }
  say(shell, fmt::format("{} are added to session\n", word));
  if (const std::uint32_t missing = shell.features & ~result->features; missing != 0) {
    say(shell, fmt::format("Warning, this session will run with compatible mode because some test "
                           "nodes might not understand these features: {:x}\n",
                           missing));
  }
  return kGood;
}

int add_group(const Shell& shell, const Arguments& arguments) {
  const std::string& name = arguments.positional.front();
  if (!is_name(shell, name)) return kLocalError;
  if (const auto made = ask(shell, "lst add_group", {{"group", name}}); !made)
    return local_error(shell, made.error(), "group", fmt::format("Failed to add group {}", name));
  bool added = false;
  int status = kGood;
  for (std::size_t i = 1; i < arguments.positional.size() && status == kGood; ++i) {
    const std::string& word = arguments.positional[i];
    const auto nodes = read_nodes(word);
    if (!nodes) {
      complain(shell, fmt::format("Ignore invalid id list {}\n  {}\n", word, nodes.error().what));
      continue;
    }
    status = add_nodes(shell, name, word, *nodes);
    added = added || status == kGood;
  }
  if (added) return status;
  complain(shell, fmt::format("No nodes added successfully, deleting group {}\n", name));
  const int deleted = delete_group(shell, name);
  if (deleted != kGood)
    complain(shell, fmt::format("Failed to delete group {}.  Group is empty.\n", name));
  return status != kGood ? status : kLocalError;
}

int del_group(const Shell& shell, const Arguments& arguments) {
  return delete_group(shell, arguments.positional.front());
}

// A mask of states; 0: not a state.
unsigned states_named(std::string_view text) {
  if (text == "active") return selftest::mask_of(NodeState::kActive);
  if (text == "busy") return selftest::mask_of(NodeState::kBusy);
  if (text == "down") return selftest::mask_of(NodeState::kDown);
  if (text == "unknown") return selftest::mask_of(NodeState::kUnknown);
  return text == "invalid" ? selftest::kInvalidStates : 0;
}

int update_group(const Shell& shell, const Arguments& arguments);
int list_group(const Shell& shell, const Arguments& arguments);

constexpr auto kGroupCommands = std::to_array<Command>({
    {.name = "add_group",
     .usage = "NAME IDS [IDS]...",
     .help = "create a group of nodes, which join the session",
     .words_min = 2,
     .words_max = kAnyWords,
     .run = add_group},
    {.name = "del_group",
     .usage = "NAME",
     .help = "delete a group; its nodes leave the session",
     .words_min = 1,
     .words_max = 1,
     .run = del_group},
    {.name = "list_group",
     .usage = "[--active] [--busy] [--down] [--unknown] [--all] [NAME]...",
     .help = "list the groups, or the nodes of some",
     .options = kListGroupOptions,
     .words_max = kAnyWords,
     .run = list_group},
    {.name = "update_group",
     .usage = "NAME --refresh | --clean STATE | --remove IDS",
     .help = "change the nodes of a group",
     .options = kUpdateOptions,
     .words_min = 1,
     .words_max = 1,
     .run = update_group},
});

int update_group(const Shell& shell, const Arguments& arguments) {
  if (arguments.options.size() != 1) return usage_error(shell, kGroupCommands.back());
  const auto failed = [&shell](const Refusal& refusal) {
    return local_error(shell, refusal, "group", "Failed to update group");
  };
  Shell::Args args{{"group", arguments.positional.front()}};
  if (arguments.has("clean")) {
    args["states"] = states_named(arguments.text("clean"));
    if (args["states"] == 0) return usage_error(shell, kGroupCommands.back());
    const auto cleaned = ask(shell, "lst clean_group", args);
    return cleaned ? kGood : failed(cleaned.error());
  }
  if (arguments.has("remove")) {
    const auto nodes = read_nodes(arguments.text("remove"));
    if (!nodes) {
      complain(shell, fmt::format("Can't get count of nodes from {}: {}\n",
                                  arguments.text("remove"), nodes.error().what));
      return kLocalError;
    }
    args["nodes"] = *nodes;
  }
  const auto result = ask<TransactionResult>(
      shell, arguments.has("remove") ? "lst remove_nodes" : "lst refresh_group", args);
  if (!result) return failed(result.error());
  print_failures(shell, *result, "Updating group");
  return status_of(*result);
}

int list_names(const Shell& shell) {
  const auto groups = ask<Names>(shell, "lst list_groups", {});
  if (!groups) return local_error(shell, groups.error(), "group", "Failed to list group");
  for (std::size_t i = 0; i < groups->size(); ++i)
    say(shell, fmt::format("{}) {}\n", i + 1, (*groups)[i]));
  say(shell, fmt::format("Total {} groups\n", groups->size()));
  return kGood;
}

// Prints a line with the counts of a group.
int list_counts(const Shell& shell, const std::string& name) {
  const auto group = ask<GroupInfo>(shell, "lst group_info", {{"group", name}});
  if (!group) return local_error(shell, group.error(), "group", "Failed to list group");
  const auto& counts = group->nodes;
  say(shell, fmt::format("\t{}\t{}\t{}\t{}\t{}\t{}\n", counts.active, counts.busy, counts.down,
                         counts.unknown, counts.total(), name));
  return kGood;
}

int list_nodes(const Shell& shell, const std::string& name, unsigned states) {
  const auto nodes = ask<std::vector<NodeInfo>>(
      shell, "lst group_nodes", {{"group", name}, {"states", selftest::kAllStates}});
  if (!nodes) return local_error(shell, nodes.error(), "group", "Failed to list group");
  say(shell, fmt::format("Group [ {} ]\n", name));
  if (nodes->empty()) {
    say(shell, fmt::format("No nodes found [ {} ]\n", name));
    return kGood;
  }
  unsigned shown = 0;
  for (const NodeInfo& node : *nodes) {
    if ((selftest::mask_of(node.state) & states) == 0) continue;
    say(shell, fmt::format("\t{}: {}\n", lnet::text_of(node.id), text_of(node.state)));
    ++shown;
  }
  say(shell, fmt::format("Total {} nodes [ {} ]\n", shown, name));
  return kGood;
}

int list_group(const Shell& shell, const Arguments& arguments) {
  if (arguments.positional.empty()) return list_names(shell);
  unsigned states = arguments.has("all") ? selftest::kAllStates : 0;
  for (const char* const state : {"active", "busy", "down", "unknown"})
    if (arguments.has(state)) states |= states_named(state);
  if (states == 0) say(shell, "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n");
  for (const std::string& name : arguments.positional) {
    const int status = states == 0 ? list_counts(shell, name) : list_nodes(shell, name, states);
    if (status != kGood) return status;
  }
  return kGood;
}

}  // namespace

std::span<const Command> group_commands() {
  return kGroupCommands;
}

}  // namespace plnet::lst
