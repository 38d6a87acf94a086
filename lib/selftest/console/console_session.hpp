// SPDX-License-Identifier: BSD-3-Clause
// What a console keeps of a session: its nodes, named groups of them, batches and their tests.
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
  NodeSet arrivals;         // asked for a session; in the group when all have answered
  std::uint32_t tests = 0;  // that use it
  bool changing = false;    // by a command that is under way

  [[nodiscard]] bool busy() const { return tests > 0 || changing; }
  [[nodiscard]] bool has_active() const { return nodes.counts().active > 0; }
  [[nodiscard]] bool all_active() const { return nodes.counts().active == nodes.size(); }
};

struct ConsoleTest {
  AddTest spec;
  ConsoleGroup* from = nullptr;
  ConsoleGroup* to = nullptr;
  bool clients_asked = false;  // the servers had agreed
  // Of those that were asked; few, if any.
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

// No node has so many.
inline constexpr std::uint32_t kNoPart = 0x7fff'ffff;

struct ConsoleBatch {
  ConsoleBatch(std::string_view text, std::uint64_t number, NodeTable& table)
      : name(text), id(number), clients(table), servers(table) {}

  const std::string name;
  const std::uint64_t id;
  BatchState state = BatchState::kIdle;
  bool changing = false;   // a command that changes it is under way
  bool may_run = false;    // clients were told to, and have not all said that they have ended
  std::uint64_t runs = 0;  // how often they were told
  NodeSet clients;
  NodeSet servers;
  std::vector<std::unique_ptr<ConsoleTest>> tests;

  // What a node calls the part as client in test `number`, both counted from 1: nodes number what
  // they have taken, in the order in which they were told, parts as server as well. kNoPart if it
  // has none in that test.
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
  NodeTable nodes;  // above all that holds nodes
  std::vector<std::unique_ptr<ConsoleGroup>> groups;
  std::vector<std::unique_ptr<ConsoleBatch>> batches;
  std::size_t tests = 0;

  // Null: no such name.
  [[nodiscard]] ConsoleGroup* group(std::string_view wanted) const;
  [[nodiscard]] ConsoleBatch* batch(std::string_view wanted) const;
  // The group must not be there yet.
  [[nodiscard]] Answer<ConsoleGroup*> make_group(std::string_view wanted);
  void forget(const ConsoleGroup& group);
  [[nodiscard]] Answer<ConsoleBatch*> make_batch(std::string_view wanted, std::uint64_t number);
};

// Neither empty nor longer than the wire has room for.
[[nodiscard]] Answer<void> judge_name(std::string_view name);

}  // namespace plnet::selftest
