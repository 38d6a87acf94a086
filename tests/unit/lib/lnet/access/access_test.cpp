// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet::access_test {
namespace {

NetId net(const char* text) {
  return parse_net(text).value();
}

AccessRule rule(AccessAction action, AccessUse use = AccessUse::kAll) {
  return {.action = action, .use = use};
}

AccessRule from(const char* ranges, AccessAction action = AccessAction::kDeny) {
  AccessRule made = rule(action);
  made.source = NidRangeList::parse(ranges).value();
  return made;
}

struct AccessTableOf : testing::Test {
  Qsbr qsbr{1, 1};
  Qsbr::Reader reader = qsbr.register_reader().value();
  AccessTable table{qsbr};
  const Nid source = nid("10.0.0.1@tcp");
  const Nid destination = nid("10.1.0.1@o2ib");

  AccessTableOf() { qsbr.online(reader); }

  bool forbids(AccessUse use, ShardId shard = 0) {
    if (table.view() == nullptr) return false;
    return table.view()->forbids_owner(
        shard, {.use = use, .source = source, .destination = destination, .from = net("tcp")});
  }
  bool forbids(const AccessRule& only, AccessUse use = AccessUse::kForward) {
    table.set({{only}});
    return forbids(use);
  }
};

TEST_F(AccessTableOf, AllowsEverythingThatNoRuleMatches) {
  EXPECT_EQ(table.view(), nullptr);
  EXPECT_FALSE(forbids(from("10.0.0.2@tcp")));
  EXPECT_TRUE(forbids(rule(AccessAction::kDeny)));
  table.set({});
  EXPECT_EQ(table.view(), nullptr) << "messages pay nothing";
}

TEST_F(AccessTableOf, ComparesEveryPartOfARule) {
  EXPECT_TRUE(forbids(from("10.0.0.[1-3]@tcp 10.9.9.9@o2ib")));
  EXPECT_FALSE(forbids(from("10.0.0.1@tcp1"))) << "another network";
  AccessRule to = rule(AccessAction::kDeny);
  to.destination = NidRangeList::parse("*@o2ib").value();
  EXPECT_TRUE(forbids(to));
  to.destination = NidRangeList::parse("*@o2ib1").value();
  EXPECT_FALSE(forbids(to));
  AccessRule pair = rule(AccessAction::kDeny);
  pair.from = net("tcp");
  pair.to = net("o2ib");
  EXPECT_TRUE(forbids(pair));
  pair.from = net("tcp1");
  EXPECT_FALSE(forbids(pair));
  pair.from = kNetAny;
  pair.to = net("tcp");
  EXPECT_FALSE(forbids(pair));
  EXPECT_FALSE(forbids(rule(AccessAction::kDeny, AccessUse::kConnect), AccessUse::kForward));
  EXPECT_TRUE(forbids(rule(AccessAction::kDeny, AccessUse::kConnect), AccessUse::kConnect));
}

TEST_F(AccessTableOf, TheFirstRuleThatMatchesDecidesAndIsCounted) {
  table.set({{from("10.0.0.1@tcp", AccessAction::kAllow), rule(AccessAction::kDeny)}});
  EXPECT_FALSE(forbids(AccessUse::kForward, 0));
  EXPECT_FALSE(forbids(AccessUse::kConnect, 63));
  EXPECT_EQ(table.list()[0].matched, 2U) << "of all shards together";
  EXPECT_EQ(table.list()[0].connections, 1U);
  EXPECT_EQ(table.list()[1].matched, 0U);
}

TEST_F(AccessTableOf, ARuleThatStaysGoesOnCounting) {
  const AccessRule allow = from("10.0.0.1@tcp", AccessAction::kAllow);
  table.set({{allow}});
  (void)forbids(AccessUse::kForward);
  table.set({{rule(AccessAction::kDeny, AccessUse::kConnect), allow, allow}});
  EXPECT_EQ(table.list()[1].matched, 1U);
  EXPECT_EQ(table.list()[2].matched, 0U) << "its twin began later";
}

TEST_F(AccessTableOf, KeepsOldRulesUntilReadersAreGone) {
  table.set({{rule(AccessAction::kDeny)}});
  const AccessView& seen = *table.view();
  table.set({});
  table.step();
  EXPECT_TRUE(seen.forbids_owner(0, {.use = AccessUse::kConnect,
                                     .source = source,
                                     .destination = destination,
                                     .from = net("tcp")}));
  qsbr.quiescent(reader);
  table.step();
}

// Compared with a model that lists every NID.
struct SlowRule {
  bool deny = false;
  AccessUse use = AccessUse::kAll;
  std::vector<Nid> sources;  // empty: any source
  std::vector<Nid> destinations;
  NetId from = kNetAny;
  NetId to = kNetAny;
};

bool slowly_forbids(const std::vector<SlowRule>& rules, AccessUse use, const Nid& source,
                    const Nid& destination, NetId in) {
  const auto has = [](const std::vector<Nid>& nids, const Nid& wanted) {
    if (nids.empty()) return true;
    for (const Nid& each : nids) {
      if (each == wanted) return true;
    }
    return false;
  };
  for (const SlowRule& each : rules) {
    const bool applies = (each.use == AccessUse::kAll || each.use == use) &&
                         (each.from == kNetAny || each.from == in) &&
                         (each.to == kNetAny || each.to == destination.net()) &&
                         has(each.sources, source) && has(each.destinations, destination);
    if (applies) return each.deny;
  }
  return false;
}

struct RandomRules {
  Random random{7};
  std::array<NetId, 3> nets{net("tcp"), net("tcp1"), net("o2ib")};

  NetId some_net() { return nets[random.below(nets.size())]; }
  Nid some_nid() {
    const NetId on = some_net();
    return Nid::of(type_of_net(on), number_of_net(on),
                   0x0a000000U + static_cast<std::uint32_t>(random.below(6)));
  }
  // The same set as text and as a list.
  std::optional<NidRangeList> some_range(std::vector<Nid>& spelled) {
    if (random.below(3) == 0) return std::nullopt;
    const NetId on = some_net();
    const auto low = static_cast<std::uint32_t>(random.below(6));
    const auto high = low + static_cast<std::uint32_t>(random.below(6 - low));
    for (std::uint32_t last = low; last <= high; ++last)
      spelled.push_back(Nid::of(type_of_net(on), number_of_net(on), 0x0a000000U + last));
    const std::string text =
        "10.0.0.[" + std::to_string(low) + "-" + std::to_string(high) + "]@" + text_of_net(on);
    return NidRangeList::parse(text).value();
  }
};

TEST_F(AccessTableOf, AgreesWithAModelThatSpellsEverythingOut) {
  RandomRules make;
  for (int round = 0; round < 300; ++round) {
    std::vector<AccessRule> rules;
    std::vector<SlowRule> slow;
    for (std::uint64_t left = make.random.below(6); left > 0; --left) {
      SlowRule& spelled = slow.emplace_back();
      AccessRule& each = rules.emplace_back();
      spelled.deny = make.random.below(2) == 0;
      each.action = spelled.deny ? AccessAction::kDeny : AccessAction::kAllow;
      each.use = spelled.use = static_cast<AccessUse>(make.random.below(3));
      each.source = make.some_range(spelled.sources);
      each.destination = make.some_range(spelled.destinations);
      if (make.random.below(3) == 0) each.from = spelled.from = make.some_net();
      if (make.random.below(3) == 0) each.to = spelled.to = make.some_net();
    }
    table.set(rules);
    for (int ask = 0; ask < 40; ++ask) {
      const Nid a = make.some_nid();
      const Nid b = make.some_nid();
      const NetId in = make.some_net();
      const AccessUse use = make.random.below(2) == 0 ? AccessUse::kConnect : AccessUse::kForward;
      const bool fast =
          table.view() != nullptr &&
          table.view()->forbids_owner(0, {.use = use, .source = a, .destination = b, .from = in});
      ASSERT_EQ(fast, slowly_forbids(slow, use, a, b, in)) << round;
    }
    qsbr.quiescent(reader);
    table.step();
  }
}

}  // namespace
}  // namespace plnet::lnet::access_test
