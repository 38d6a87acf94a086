// SPDX-License-Identifier: BSD-3-Clause
// A console's record of a test node, and sets of nodes in the order of their naming.
//
// A node costs 240 bytes with its first group, and 64 more for each other group and each side of a
// batch: 1000 clients of a test are about 0.3 MiB. During a command, another 220 bytes for its
// answer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/hash.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/selftest/srpc_wire.hpp"

namespace plnet::selftest {

// Values are those of `lst`; masks of them select nodes.
enum class NodeState : std::uint8_t {
  kActive = 1,   // has our session
  kBusy = 2,     // has another session
  kDown = 4,     // did not answer
  kUnknown = 8,  // has no session
};
using NodeStates = std::uint8_t;  // a mask
[[nodiscard]] constexpr NodeStates mask_of(NodeState state) {
  return static_cast<NodeStates>(state);
}
inline constexpr NodeStates kAllStates = 15;
inline constexpr NodeStates kInvalidStates = kAllStates & ~mask_of(NodeState::kActive);
// As `lst` prints it: Active, Busy, Down, Unknown.
[[nodiscard]] std::string_view name_of(NodeState state);

struct NodeInfo {
  lnet::ProcessId id;
  NodeState state = NodeState::kUnknown;
};

struct StateCounts {
  std::uint32_t active = 0;
  std::uint32_t busy = 0;
  std::uint32_t down = 0;
  std::uint32_t unknown = 0;

  void add(NodeState state);
  [[nodiscard]] std::uint32_t total() const { return active + busy + down + unknown; }
  friend bool operator==(const StateCounts&, const StateCounts&) = default;
};

// --- For the console only ---

struct ConsoleNode : ListNode<> {
  lnet::ProcessId id;
  NodeState state = NodeState::kUnknown;
  bool ping_under_way = false;
  std::uint32_t timeout_s = 0;    // of our session, reported by the node
  std::uint32_t memberships = 0;  // sets with this node: groups and sides of batches
  Instant heard;                  // time of the last reply, or of becoming DOWN

  // Every reply names the node's present session.
  void take_reply(const SessionId& theirs, const SessionId& ours, Instant now);
};
using ConsoleNodePtr = std::shared_ptr<ConsoleNode>;

// All nodes of a session. A node that leaves its last set is removed from the table; RPCs under way
// to it keep the object alive.
class NodeTable {
 public:
  // A new node enters the table with its first set.
  [[nodiscard]] ConsoleNodePtr find_or_make(const lnet::ProcessId& id, Instant now) const;
  [[nodiscard]] ConsoleNodePtr find(const lnet::ProcessId& id) const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // In the order of their addition.
  [[nodiscard]] std::vector<ConsoleNodePtr> all();
  template <class Visit>
  void for_each(Visit&& visit) {
    order_.for_each(visit);
  }

 private:
  friend class NodeSet;
  // Counts a set with this node, or its removal from one. False: the table is full.
  [[nodiscard]] bool join(const ConsoleNodePtr& node);
  void leave(ConsoleNode& node);

  std::unordered_map<lnet::ProcessId, ConsoleNodePtr, KeyHash<lnet::ProcessId>> nodes_;
  IntrusiveList<ConsoleNode> order_;
};

class NodeSet {
 public:
  explicit NodeSet(NodeTable& table) : table_(table) {}
  ~NodeSet() { clear(); }
  NodeSet(const NodeSet&) = delete;
  NodeSet& operator=(const NodeSet&) = delete;

  // Adds a node once; repeated calls change nothing. False: the table is full.
  [[nodiscard]] bool add(const ConsoleNodePtr& node);
  void take_all(NodeSet& other);
  void remove(std::span<const ConsoleNodePtr> nodes);
  void keep_only(NodeStates states);
  void clear();

  [[nodiscard]] bool contains(const ConsoleNode& node) const { return members_.contains(&node); }
  [[nodiscard]] const std::vector<ConsoleNodePtr>& nodes() const { return nodes_; }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] StateCounts counts() const;
  [[nodiscard]] std::vector<NodeInfo> info(NodeStates states) const;

 private:
  void forget_left();  // removes nodes that are in no set any more

  NodeTable& table_;
  std::vector<ConsoleNodePtr> nodes_;
  std::unordered_set<const ConsoleNode*> members_;
};

}  // namespace plnet::selftest
