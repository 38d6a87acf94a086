// SPDX-License-Identifier: BSD-3-Clause
// The console's state of a session: its nodes, named groups, batches and their tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lib/selftest/console/console_node.hpp"
#include "lib/selftest/console/distribution.hpp"
#include "lib/selftest/console/test_spec.hpp"
#include "lib/selftest/console/transaction.hpp"

namespace plnet::selftest {

struct ConsoleGroup {
  ConsoleGroup(std::string_view text, NodeTable& table)
      : name(text), nodes(table), arrivals(table) {}

  const std::string name;
  NodeSet nodes;
  NodeSet arrivals;         // got MAKE_SESSION; they enter the group when all have answered
  std::uint32_t tests = 0;  // tests that use it
  bool changing = false;    // by a command under way

  [[nodiscard]] bool busy() const { return tests > 0 || changing; }
  [[nodiscard]] bool has_active() const { return nodes.counts().active > 0; }
  [[nodiscard]] bool all_active() const { return nodes.counts().active == nodes.size(); }
};

struct ConsoleTest {
  AddTest spec;
  ConsoleGroup* from = nullptr;
  ConsoleGroup* to = nullptr;
  bool clients_asked = false;  // the servers have accepted the test
  // Nodes that did not accept the test; few, if any.
  std::unordered_set<const ConsoleNode*> not_servers;
  std::unordered_set<const ConsoleNode*> not_clients;

  [[nodiscard]] bool has_server(const ConsoleNode& node) const {
    return to->nodes.contains(node) && !not_servers.contains(&node);
  }
  [[nodiscard]] bool has_client(const ConsoleNode& node) const {
    return clients_asked && from->nodes.contains(node) && !not_clients.contains(&node);
  }
  [[nodiscard]] Distribution distribution() const {
    return {.clients = from->nodes.size(),
            .servers = to->nodes.size(),
            .distribute = spec.distribute,
            .span = spec.span};
  }
};

// No node has as many parts.
inline constexpr std::uint32_t kNoPart = 0x7fff'ffff;

struct ConsoleBatch {
  ConsoleBatch(std::string_view text, std::uint64_t number, NodeTable& table)
      : name(text), id(number), clients(table), servers(table) {}

  const std::string name;
  const std::uint64_t id;
  BatchState state = BatchState::kIdle;
  bool changing = false;   // by a command under way
  bool may_run = false;    // clients got a run, and not all have reported their end
  std::uint64_t runs = 0;  // number of runs sent
  NodeSet clients;
  NodeSet servers;
  std::vector<std::unique_ptr<ConsoleTest>> tests;

  // A node's number of its part as client in test `number`, both counted from 1. Nodes number the
  // parts that they accepted, in order, including parts as server. kNoPart if the node has none in
  // that test.
  [[nodiscard]] std::uint32_t number_on(const ConsoleNode& node, std::uint32_t number) const;
};

struct ConsoleSession {
  SessionId id;
  Name wire_name{};
  std::string name;
  std::uint32_t key = 0;
  std::uint32_t timeout_s = 0;
  bool force = false;
  bool ending = false;
  FeatureAgreement features;
  NodeTable nodes;  // declared before all members that hold nodes
  std::vector<std::unique_ptr<ConsoleGroup>> groups;
  std::vector<std::unique_ptr<ConsoleBatch>> batches;
  std::size_t tests = 0;

  // Null: no such name.
  [[nodiscard]] ConsoleGroup* group(std::string_view wanted) const;
  [[nodiscard]] ConsoleBatch* batch(std::string_view wanted) const;
  // No group of this name exists.
  [[nodiscard]] Answer<ConsoleGroup*> make_group(std::string_view wanted);
  void forget(const ConsoleGroup& group);
  [[nodiscard]] Answer<ConsoleBatch*> make_batch(std::string_view wanted, std::uint64_t number);
};

// Neither empty nor longer than the field on the wire.
[[nodiscard]] Answer<void> judge_name(std::string_view name);

}  // namespace plnet::selftest
