// SPDX-License-Identifier: BSD-3-Clause
// Commands about groups, and queries of nodes.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "lib/selftest/console/console.hpp"

namespace plnet::selftest {

namespace {

// As in the kernel: at least kTransactionTimeoutMin, at most the timeout of a transaction.
Duration clamped(std::uint32_t timeout_s) {
  return std::clamp<Duration>(std::chrono::seconds(timeout_s), kTransactionTimeoutMin,
                              kTransactionTimeout);
}

Answer<void> judge_ids(std::span<const lnet::ProcessId> ids) {
  if (ids.empty()) return refuse(Refusal::kInvalid, "no node is named");
  if (!std::all_of(ids.begin(), ids.end(), can_be_asked))
    return refuse(Refusal::kInvalid, "a node is not a wildcard");
  if (ids.size() > kConsoleNodesMax) return refuse(Refusal::kTooMany);
  return {};
}

}  // namespace

// --- Groups ---

Answer<void> Console::add_group(std::string_view name) {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  const auto made = (*session)->make_group(name);
  if (!made) return std::unexpected(made.error());
  return {};
}

Answer<TransactionId> Console::add_nodes(std::string_view name,
                                         std::span<const lnet::ProcessId> nodes,
                                         WhenDone when_done) {
  const auto group = change_group(name);
  if (!group) return std::unexpected(group.error());
  if (const auto judged = judge_ids(nodes); !judged) return std::unexpected(judged.error());
  NodeSet& arrivals = (*group)->arrivals;
  for (const lnet::ProcessId& id : nodes) {
    const ConsoleNodePtr node = session_->nodes.find_or_make(id, now_);
    if ((*group)->nodes.contains(*node)) continue;
    if (arrivals.add(node)) continue;
    arrivals.clear();
    return refuse(Refusal::kTooMany);
  }
  return invite(**group, arrivals.nodes(), std::move(when_done));
}

Answer<TransactionId> Console::refresh_group(std::string_view name, WhenDone when_done) {
  const auto group = change_group(name);
  if (!group) return std::unexpected(group.error());
  return invite(**group, (*group)->nodes.nodes(), std::move(when_done));
}

TransactionId Console::invite(ConsoleGroup& group, const Nodes& nodes, WhenDone when_done) {
  Nodes strangers = nodes;
  std::erase_if(strangers, [](const auto& node) { return node->state == NodeState::kActive; });
  auto invitation =
      std::make_unique<Transaction>(TransactionKind::kMakeSession, std::move(strangers),
                                    MakeSessionRequest{.session = session_->id,
                                                       .force = session_->force ? 1U : 0U,
                                                       .name = name_from(session_->name)},
                                    session_->features);
  group.changing = true;
  invitation->settle = [&group](const TransactionResult& /*result*/) {
    group.nodes.take_all(group.arrivals);
    group.changing = false;
    return nullptr;
  };
  invitation->when_done = std::move(when_done);
  return runner_.start(std::move(invitation));
}

Answer<TransactionId> Console::remove_nodes(std::string_view name,
                                            std::span<const lnet::ProcessId> nodes,
                                            WhenDone when_done) {
  const auto group = change_group(name);
  if (!group) return std::unexpected(group.error());
  if (const auto judged = judge_ids(nodes); !judged) return std::unexpected(judged.error());
  Nodes members;
  std::unordered_set<const ConsoleNode*> named;
  for (const lnet::ProcessId& id : nodes) {
    const ConsoleNodePtr node = session_->nodes.find(id);
    if (node == nullptr || !(*group)->nodes.contains(*node)) continue;
    if (named.insert(node.get()).second) members.push_back(node);
  }
  return dismiss(**group, members, false, std::move(when_done));
}

Answer<TransactionId> Console::del_group(std::string_view name, WhenDone when_done) {
  const auto group = change_group(name);
  if (!group) return std::unexpected(group.error());
  return dismiss(**group, (*group)->nodes.nodes(), true, std::move(when_done));
}

// Nodes leave even without an answer: their view of the session cannot be changed then.
TransactionId Console::dismiss(ConsoleGroup& group, const Nodes& nodes, bool whole_group,
                               WhenDone when_done) {
  Nodes ours = nodes;
  std::erase_if(ours, [](const auto& node) {
    return node->state != NodeState::kActive || node->memberships > 1;
  });
  auto dismissal = std::make_unique<Transaction>(TransactionKind::kRemoveSession, std::move(ours),
                                                 RemoveSessionRequest{.session = session_->id},
                                                 session_->features);
  group.changing = true;
  dismissal->settle = [this, &group, nodes, whole_group](const TransactionResult& /*result*/) {
    group.nodes.remove(nodes);
    group.changing = false;
    if (whole_group || group.nodes.empty()) session_->forget(group);
    return nullptr;
  };
  dismissal->when_done = std::move(when_done);
  return runner_.start(std::move(dismissal));
}

Answer<void> Console::clean_group(std::string_view name, NodeStates states) {
  if (states == 0 || (states & ~kAllStates) != 0)
    return refuse(Refusal::kInvalid, "no such state of nodes");
  const auto group = change_group(name);
  if (!group) return std::unexpected(group.error());
  (*group)->nodes.keep_only(static_cast<NodeStates>(kAllStates & ~states));
  if ((*group)->nodes.empty()) session_->forget(**group);
  return {};
}

Answer<std::vector<std::string>> Console::list_groups() {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  std::vector<std::string> names;
  for (const auto& group : (*session)->groups)
    names.push_back(group->name);
  return names;
}

Answer<GroupInfo> Console::group_info(std::string_view name) {
  const auto group = use_group(name);
  if (!group) return std::unexpected(group.error());
  return GroupInfo{.name = (*group)->name, .nodes = (*group)->nodes.counts()};
}

Answer<std::vector<NodeInfo>> Console::group_nodes(std::string_view name, NodeStates states) {
  const auto group = use_group(name);
  if (!group) return std::unexpected(group.error());
  return (*group)->nodes.info(states);
}

// --- Queries of nodes ---

Answer<Console::Nodes> Console::nodes_of(const PingTarget& target) {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  if (std::holds_alternative<WholeSession>(target)) return (*session)->nodes.all();
  if (const auto* const wanted = std::get_if<OfGroup>(&target)) {
    const auto group = use_group(wanted->name);
    if (!group) return std::unexpected(group.error());
    return (*group)->nodes.nodes();
  }
  if (const auto* const wanted = std::get_if<OfBatch>(&target)) {
    const auto batch = use_batch(wanted->name);
    if (!batch) return std::unexpected(batch.error());
    return wanted->servers ? (*batch)->servers.nodes() : (*batch)->clients.nodes();
  }
  const auto& ids = std::get<OfNodes>(target);
  if (const auto judged = judge_ids(ids); !judged) return std::unexpected(judged.error());
  Nodes nodes;
  std::unordered_set<lnet::ProcessId, KeyHash<lnet::ProcessId>> seen;
  for (const lnet::ProcessId& id : ids) {
    if (seen.insert(id).second) nodes.push_back((*session)->nodes.find_or_make(id, now_));
  }
  return nodes;
}

Answer<TransactionId> Console::ping(const PingTarget& target, std::uint32_t timeout_s,
                                    WhenDone when_done) {
  auto nodes = nodes_of(target);
  if (!nodes) return std::unexpected(nodes.error());
  if (const auto room = judge_room(); !room) return std::unexpected(room.error());
  auto question =
      std::make_unique<Transaction>(TransactionKind::kPing, std::move(*nodes),
                                    DebugRequest{.session = session_->id}, session_->features);
  question->timeout = clamped(timeout_s);
  question->when_done = std::move(when_done);
  return runner_.start(std::move(question));
}

Answer<TransactionId> Console::stat(const StatTarget& target, std::uint32_t timeout_s,
                                    WhenDone when_done) {
  auto nodes = std::visit([this](const auto& wanted) { return nodes_of(wanted); }, target);
  if (!nodes) return std::unexpected(nodes.error());
  if (std::any_of(nodes->begin(), nodes->end(),
                  [](const auto& node) { return node->memberships == 0; }))
    return refuse(Refusal::kNotFound, "a node is not in the session");
  if (const auto room = judge_room(); !room) return std::unexpected(room.error());
  auto question =
      std::make_unique<Transaction>(TransactionKind::kStat, std::move(*nodes),
                                    StatRequest{.session = session_->id}, session_->features);
  question->timeout = clamped(timeout_s);
  question->when_done = std::move(when_done);
  return runner_.start(std::move(question));
}

}  // namespace plnet::selftest
