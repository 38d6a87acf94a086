// SPDX-License-Identifier: BSD-3-Clause
// Requests of a run to a test node's own socket, for data that the wire does not carry: its
// identity, the latency of its RPCs, and the pace of its tests.
#pragma once

#include "lib/runtime/control/verb_table.hpp"
#include "lib/selftest/node.hpp"

namespace plnet::node {
class LnetAdmin;
}

namespace plnet::apps {

// The present tests, for shard 0.
class TestPlace {
 public:
  virtual ~TestPlace() = default;
  // Null while LNet is down.
  [[nodiscard]] virtual selftest::SelftestNode* tests_owner() = 0;
  // Any thread; valid as long as the node.
  [[nodiscard]] virtual const selftest::SelftestShared& records() const = 0;
};

// All outlive the table.
void add_test_verbs(runtime::VerbTable& verbs, TestPlace& place, node::LnetAdmin& lnet);

}  // namespace plnet::apps
