// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/distribution.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/console/test_spec.hpp"

namespace plnet::selftest::distribution_test {
namespace {

using Row = std::vector<std::uint32_t>;

std::vector<Row> table(const Distribution& distribution) {
  std::vector<Row> rows;
  for (std::uint32_t client = 0; client < distribution.clients; ++client) {
    Row& row = rows.emplace_back();
    for (std::uint32_t nth = 0; nth < distribution.span; ++nth)
      row.push_back(distribution.server_of(client, nth));
  }
  return rows;
}

TEST(Distribution, OneToOne) {
  EXPECT_EQ(table({.clients = 3, .servers = 3}), (std::vector<Row>{{0}, {1}, {2}}));
  EXPECT_EQ(table({.clients = 3, .servers = 2}), (std::vector<Row>{{0}, {1}, {0}}));
  EXPECT_EQ(table({.clients = 1, .servers = 4}), (std::vector<Row>{{0}}));
}

TEST(Distribution, ClientsShareServers) {
  EXPECT_EQ(table({.clients = 6, .servers = 4, .distribute = 2, .span = 2}),
            (std::vector<Row>{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {0, 1}, {0, 1}}));
  EXPECT_EQ(table({.clients = 4, .servers = 1, .distribute = 4, .span = 1}),
            (std::vector<Row>{{0}, {0}, {0}, {0}}));
}

TEST(Distribution, WrapsInTheMiddle) {
  EXPECT_EQ(table({.clients = 4, .servers = 3, .distribute = 1, .span = 2}),
            (std::vector<Row>{{0, 1}, {2, 0}, {1, 2}, {0, 1}}));
  EXPECT_EQ(table({.clients = 2, .servers = 3, .distribute = 1, .span = 3}),
            (std::vector<Row>{{0, 1, 2}, {0, 1, 2}}));
}

// Distributes servers one by one, cyclically.
std::vector<Row> dealt(const Distribution& distribution) {
  std::vector<Row> rows;
  std::uint32_t top = 0;
  while (rows.size() < distribution.clients) {
    Row hand;
    for (std::uint32_t nth = 0; nth < distribution.span; ++nth, ++top)
      hand.push_back(top % distribution.servers);
    for (std::uint32_t i = 0; i < distribution.distribute && rows.size() < distribution.clients;
         ++i)
      rows.push_back(hand);
  }
  return rows;
}

TEST(Distribution, AsIfDealt) {
  for (std::uint32_t clients = 1; clients <= 9; ++clients) {
    for (std::uint32_t servers = 1; servers <= 7; ++servers) {
      for (std::uint32_t distribute = 1; distribute <= 10; ++distribute) {
        for (std::uint32_t span = 1; span <= servers; ++span) {
          const Distribution one{clients, servers, distribute, span};
          ASSERT_TRUE(one.possible());
          ASSERT_EQ(table(one), dealt(one))
              << clients << " " << servers << " " << distribute << ":" << span;
        }
      }
    }
  }
}

TEST(Distribution, ImpossibleDistributions) {
  EXPECT_FALSE((Distribution{.clients = 1, .servers = 1, .span = 2}).possible());
  EXPECT_FALSE((Distribution{.clients = 1, .servers = 1, .distribute = 0}).possible());
  EXPECT_FALSE((Distribution{.clients = 1, .servers = 1, .span = 0}).possible());
  EXPECT_FALSE((Distribution{.clients = 0, .servers = 1}).possible());
  EXPECT_FALSE((Distribution{.clients = 1, .servers = 0}).possible());
  EXPECT_TRUE((Distribution{.clients = 1, .servers = 400, .span = 341}).possible());
  EXPECT_FALSE((Distribution{.clients = 1, .servers = 400, .span = 342}).possible());
}

TEST(Distribution, BuffersOfServers) {
  EXPECT_EQ((Distribution{.clients = 1, .servers = 1}).server_loop(8), 8U);
  EXPECT_EQ((Distribution{.clients = 10, .servers = 2}).server_loop(8), 5U * 8);
  EXPECT_EQ((Distribution{10, 4, 3, 2}).server_loop(2), 2U * 3 * 2);
  EXPECT_EQ((Distribution{1, 1, kConsoleNodesMax, 1}).server_loop(1024), kConsoleNodesMax * 1024);
  // Enough for the busiest server.
  for (std::uint32_t clients = 1; clients <= 12; ++clients) {
    for (std::uint32_t servers = 1; servers <= 6; ++servers) {
      for (std::uint32_t distribute = 1; distribute <= 4; ++distribute) {
        std::vector<std::uint32_t> load(servers);
        const Distribution one{clients, servers, distribute, 1};
        for (const Row& row : table(one))
          ++load[row[0]];
        for (const std::uint32_t requests : load)
          EXPECT_LE(requests, one.server_loop(1));
      }
    }
  }
}

TEST(Distribution, TheListOnTheWire) {
  std::vector<lnet::ProcessId> servers;
  for (std::uint32_t i = 0; i < 341; ++i)
    servers.push_back({.nid = lnet::Nid::of(lnet::NetType::kTcp, 1, i)});
  std::vector<std::byte> page(kListPageBytes, std::byte{0xff});
  const Distribution all{.clients = 2, .servers = 341, .span = 341};
  EXPECT_EQ(write_destinations(all, 1, servers, kFeaturesKnown, page), 341U * 12);
  for (std::uint32_t i = 0; i < 341; ++i) {
    const std::span<const std::byte> entry(page.data() + std::size_t{12} * i, 12);
    EXPECT_EQ(lnet::decode_process_id(entry.first<12>()), servers[i]);
  }
  EXPECT_EQ(page[4092], std::byte{0}) << "nothing of others behind it";
  const Distribution one{.clients = 2, .servers = 341, .span = 2};
  EXPECT_EQ(write_destinations(one, 1, servers, kFeaturesKnown, page), 24U);
  EXPECT_EQ(lnet::decode_process_id(std::span<const std::byte>(page).first<12>()), servers[2]);
  EXPECT_EQ(write_destinations(one, 1, servers, 0, page), kListPageBytes);
  EXPECT_EQ(page[24], std::byte{0});
}

// --- Descriptions of tests ---

AddTest brw(const BrwTest& test) {
  return {.batch = "b", .from = "f", .to = "t", .test = test};
}
bool can_be(const AddTest& test, std::uint32_t features = kFeaturesKnown) {
  const auto judged = judge(test, features);
  if (!judged) {
    EXPECT_EQ(judged.error().code, Refusal::kInvalid);
    EXPECT_FALSE(judged.error().why.empty());
  }
  return judged.has_value();
}

TEST(TestSpec, Sizes) {
  for (const std::uint32_t length : {8U, 16U, 4096U, 4104U, 1U << 20})
    EXPECT_TRUE(can_be(brw({.length = length}))) << length;
  for (const std::uint32_t length : {0U, 1U, 4U, 12U, 4095U, (1U << 20) + 8, 0xffff'fff8U})
    EXPECT_FALSE(can_be(brw({.length = length}))) << length;
}

TEST(TestSpec, Offsets) {
  for (const std::uint32_t BrwTest::* const offset :
       {&BrwTest::client_offset, &BrwTest::server_offset}) {
    const auto with = [&](std::uint32_t at, std::uint32_t length) {
      BrwTest test{.length = length};
      test.*const_cast<std::uint32_t BrwTest::*>(offset) = at;
      return brw(test);
    };
    EXPECT_TRUE(can_be(with(0, 1U << 20)));
    EXPECT_TRUE(can_be(with(8, 4088)));
    EXPECT_TRUE(can_be(with(4088, 8)));
    EXPECT_FALSE(can_be(with(8, 4096))) << "another page than the length needs";
    EXPECT_FALSE(can_be(with(4, 8)));
    EXPECT_FALSE(can_be(with(4096, 8)));
    EXPECT_FALSE(can_be(with(0xffff'fff8, 8)));
    EXPECT_FALSE(can_be(with(8, 8), 0)) << "there is no field for it";
  }
}

TEST(TestSpec, OperationAndCheck) {
  EXPECT_TRUE(can_be(brw({.operation = BulkOperation::kWrite, .check = Check::kFull})));
  EXPECT_FALSE(can_be(brw({.operation = static_cast<BulkOperation>(0)})));
  EXPECT_FALSE(can_be(brw({.operation = static_cast<BulkOperation>(3)})));
  EXPECT_FALSE(can_be(brw({.check = static_cast<Check>(0)})));
  EXPECT_FALSE(can_be(brw({.check = static_cast<Check>(5)})));
  AddTest discard = brw({.check = Check::kDiscard});
  EXPECT_FALSE(can_be(discard));
  discard.nodes_know_discard = true;
  EXPECT_TRUE(can_be(discard));
}

TEST(TestSpec, Numbers) {
  const auto with = [](auto AddTest::* field, auto value) {
    AddTest test{.test = PingTest{}};
    test.*field = value;
    return test;
  };
  EXPECT_FALSE(can_be(with(&AddTest::loop, 0)));
  EXPECT_TRUE(can_be(with(&AddTest::loop, -7)));
  EXPECT_FALSE(can_be(with(&AddTest::concurrency, 0U)));
  EXPECT_TRUE(can_be(with(&AddTest::concurrency, 1024U)));
  EXPECT_FALSE(can_be(with(&AddTest::concurrency, 1025U)));
  EXPECT_FALSE(can_be(with(&AddTest::distribute, 0U)));
  EXPECT_FALSE(can_be(with(&AddTest::distribute, 0xffff'ffffU)));
  EXPECT_FALSE(can_be(with(&AddTest::span, 0U)));
  EXPECT_TRUE(can_be(with(&AddTest::span, 341U)));
  EXPECT_FALSE(can_be(with(&AddTest::span, 342U)));
}

TEST(TestSpec, Parameters) {
  const AddTest test = brw({.operation = BulkOperation::kWrite,
                            .check = Check::kFull,
                            .length = 4104,
                            .client_offset = 8,
                            .server_offset = 16});
  EXPECT_EQ(parameters_of(test, 1, true), TestParameters(BulkParametersV1{2, 3, 4104, 8}));
  EXPECT_EQ(parameters_of(test, 1, false), TestParameters(BulkParametersV1{2, 3, 4104, 16}));
  EXPECT_EQ(parameters_of(test, 0, true), TestParameters(BulkParametersV0{2, 2, 3}));
  EXPECT_EQ(parameters_of({.test = PingTest{}}, 1, true), TestParameters(PingParameters{}));
}

}  // namespace
}  // namespace plnet::selftest::distribution_test
