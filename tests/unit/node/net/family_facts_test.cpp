// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/family_facts.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "lib/runtime/control/verb_table.hpp"
#include "node/net/families.hpp"

namespace plnet::node::family_facts_test {
namespace {

class NoNode final : public FamilyAccess {
 public:
  LnetDesk& desk() override { std::abort(); }
  FamilyHost* host_of(std::string_view /*family*/) override { return nullptr; }
};

TEST(FamilyFacts, EachRowOfTheTableHasAHandler) {
  NoNode access;
  runtime::VerbTable table;
  for (const NetworkFamily* const family : network_families())
    family->add_verbs(table, access);
  for (const runtime::VerbRows& rows : family_verbs()) {
    for (const runtime::VerbRow& row : rows)
      EXPECT_NE(table.find(row.words), nullptr) << row.words;
  }
}

}  // namespace
}  // namespace plnet::node::family_facts_test
