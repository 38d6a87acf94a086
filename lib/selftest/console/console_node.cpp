// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/console_node.hpp"

#include <algorithm>

#include "lib/selftest/console/limits.hpp"

namespace plnet::selftest {

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::kActive: return "Active";
    case NodeState::kBusy: return "Busy";
    case NodeState::kDown: return "Down";
    case NodeState::kUnknown: return "Unknown";
  }
  return "Unknown";
}

void StateCounts::add(NodeState state) {
  switch (state) {
    case NodeState::kActive: ++active; return;
    case NodeState::kBusy: ++busy; return;
    case NodeState::kDown: ++down; return;
    case NodeState::kUnknown: ++unknown; return;
  }
}

void ConsoleNode::take_reply(const SessionId& theirs, const SessionId& ours, Instant now) {
  heard = now;
  if (theirs.is_none()) {
    state = NodeState::kUnknown;
  } else {
    state = theirs == ours ? NodeState::kActive : NodeState::kBusy;
  }
}

// --- NodeTable ---

ConsoleNodePtr NodeTable::find(const lnet::ProcessId& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second;
}

ConsoleNodePtr NodeTable::find_or_make(const lnet::ProcessId& id, Instant now) const {
  if (ConsoleNodePtr found = find(id)) return found;
  auto node = std::make_shared<ConsoleNode>();
  node->id = id;
  node->heard = now;
  return node;
}

std::vector<ConsoleNodePtr> NodeTable::all() {
  std::vector<ConsoleNodePtr> nodes;
  nodes.reserve(nodes_.size());
  order_.for_each([&](const ConsoleNode& node) { nodes.push_back(find(node.id)); });
  return nodes;
}

bool NodeTable::join(const ConsoleNodePtr& node) {
  if (node->memberships == 0) {
    if (nodes_.size() >= kConsoleNodesMax) return false;
    PLNET_CHECK(nodes_.emplace(node->id, node).second, "two nodes of the same name");
    order_.push_back(*node);
  }
  ++node->memberships;
  return true;
}

void NodeTable::leave(ConsoleNode& node) {
  PLNET_CHECK(node.memberships > 0, "it is in no set");
  if (--node.memberships > 0) return;
  node.unlink();
  nodes_.erase(lnet::ProcessId(node.id));  // may destroy the node
}

// --- NodeSet ---

bool NodeSet::add(const ConsoleNodePtr& node) {
  if (contains(*node)) return true;
  if (!table_.join(node)) return false;
  members_.insert(node.get());
  nodes_.push_back(node);
  return true;
}

void NodeSet::take_all(NodeSet& other) {
  for (const ConsoleNodePtr& node : other.nodes_)
    PLNET_CHECK(add(node), "it is in the table already");
  other.clear();
}

void NodeSet::remove(std::span<const ConsoleNodePtr> nodes) {
  for (const ConsoleNodePtr& node : nodes)
    members_.erase(node.get());
  forget_left();
}

void NodeSet::keep_only(NodeStates states) {
  for (const ConsoleNodePtr& node : nodes_) {
    if ((mask_of(node->state) & states) == 0) members_.erase(node.get());
  }
  forget_left();
}

void NodeSet::clear() {
  members_.clear();
  forget_left();
}

void NodeSet::forget_left() {
  std::erase_if(nodes_, [this](const ConsoleNodePtr& node) {
    if (contains(*node)) return false;
    table_.leave(*node);
    return true;
  });
}

StateCounts NodeSet::counts() const {
  StateCounts counts;
  for (const ConsoleNodePtr& node : nodes_)
    counts.add(node->state);
  return counts;
}

std::vector<NodeInfo> NodeSet::info(NodeStates states) const {
  std::vector<NodeInfo> info;
  for (const ConsoleNodePtr& node : nodes_) {
    if ((mask_of(node->state) & states) != 0) info.push_back({node->id, node->state});
  }
  return info;
}

}  // namespace plnet::selftest
