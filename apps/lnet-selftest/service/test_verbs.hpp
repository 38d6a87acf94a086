// SPDX-License-Identifier: BSD-3-Clause
// What a run asks a test node on its own socket, because the wire has no words for it: who it is,
// how long its RPCs took, and at which pace its tests are to begin them.
#pragma once

#include "lib/runtime/control/verb_table.hpp"
#include "lib/selftest/node.hpp"

namespace plnet::node {
class LnetAdmin;
}

namespace plnet::apps {

// The tests of now, which shard 0 may look at.
class TestPlace {
 public:
  virtual ~TestPlace() = default;
  // Null while LNet is down.
  [[nodiscard]] virtual selftest::SelftestNode* tests_owner() = 0;
  // Any thread; what it says lives as long as the node.
  [[nodiscard]] virtual const selftest::SelftestShared& records() const = 0;
};

// All outlive the table.
void add_test_verbs(runtime::VerbTable& verbs, TestPlace& place, node::LnetAdmin& lnet);

}  // namespace plnet::apps
