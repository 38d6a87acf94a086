// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/rates.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace plnet::lst::rates_test {
namespace {

using selftest::NodeResult;
using selftest::StatSeen;
using selftest::TransactionResult;

lnet::ProcessId node(unsigned number) {
  return {lnet::Nid::of(lnet::NetType::kTcp, 0, number), lnet::kLustrePid};
}

struct Counted {
  std::uint32_t ms = 0;
  std::uint32_t received = 0;
  std::uint32_t sent = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
};

TransactionResult sample(const std::vector<Counted>& nodes) {
  TransactionResult result;
  for (const Counted& each : nodes) {
    StatSeen seen;
    seen.framework.running_ms = each.ms;
    seen.lnet.receive_count = each.received;
    seen.lnet.send_count = each.sent;
    seen.lnet.receive_length = each.received_bytes;
    seen.lnet.send_length = each.sent_bytes;
    result.nodes.push_back(
        {.id = node(static_cast<unsigned>(result.nodes.size()) + 1), .seen = seen});
  }
  return result;
}

constexpr std::uint64_t kMib = 1U << 20;

TEST(Rates, AverageLeastMostOfTheNodes) {
  const auto rates = rates_between(
      sample({{1000, 0, 0, 0, 0}, {500, 100, 100, 0, 0}}),
      sample({{3000, 200, 20, 4 * kMib, 2 * kMib}, {1500, 400, 130, kMib, 0}}), false);
  EXPECT_EQ(rates.nodes, 2U);
  EXPECT_FLOAT_EQ(rates.received.average, 200);
  EXPECT_FLOAT_EQ(rates.received.least, 100);
  EXPECT_FLOAT_EQ(rates.received.most, 300);
  EXPECT_FLOAT_EQ(rates.sent.average, 20);
  EXPECT_FLOAT_EQ(rates.received_bytes.average, 1.5);
  EXPECT_FLOAT_EQ(rates.sent_bytes.most, 1);
  EXPECT_FLOAT_EQ(rates.sent_bytes.average, 0.5);
}

TEST(Rates, ALeastOfNothingGivesWay) {
  const auto rates =
      rates_between(sample({{0}, {0}, {0}}), sample({{1000, 0}, {1000, 50}, {1000, 70}}), false);
  EXPECT_FLOAT_EQ(rates.received.least, 50);
}

TEST(Rates, CountersWrap) {
  const auto rates = rates_between(sample({{4294967000U, 4294967290U, 0, ~0ULL - 999'999, 0}}),
                                   sample({{704, 4, 0, 0, 0}}), true);
  EXPECT_FLOAT_EQ(rates.received.average, 10);
  EXPECT_FLOAT_EQ(rates.received_bytes.average, 1);
}

TEST(Rates, FailuresAndOtherNodes) {
  auto before = sample({{0}, {0}, {0}, {0}});
  auto after = sample({{1000, 1}, {1000, 2}, {1000, 3}, {0, 4}});
  before.nodes[1].rpc_errno = ETIMEDOUT;
  after.nodes[2].refused = true;
  auto rates = rates_between(before, after, false);
  EXPECT_EQ(rates.nodes, 1U);
  EXPECT_EQ(rates.failed, 3U);  // including one whose pollers have not turned
  EXPECT_FALSE(rates.changed);

  after = sample({{1000, 1}, {1000, 2}});
  after.nodes[1].id = node(9);
  rates = rates_between(before, after, false);
  EXPECT_EQ(rates.nodes, 1U);
  EXPECT_TRUE(rates.changed);
  EXPECT_TRUE(rates_between(sample({{0}}), sample({{1000}, {1000}}), false).changed);
}

TEST(Rates, AsLstPrintsThem) {
  const auto rates =
      rates_between(sample({{0}}), sample({{1000, 1234, 2, 3 * kMib, kMib / 2}}), false);
  EXPECT_EQ(text_of_rates(rates, {}, "s"),
            "[LNet Rates of s]\n"
            "[R] Avg: 1234     RPC/s Min: 1234     RPC/s Max: 1234     RPC/s\n"
            "[W] Avg: 2        RPC/s Min: 2        RPC/s Max: 2        RPC/s\n"
            "[LNet Bandwidth of s]\n"
            "[R] Avg: 3.00     MiB/s Min: 3.00     MiB/s Max: 3.00     MiB/s \n"
            "[W] Avg: 0.50     MiB/s Min: 0.50     MiB/s Max: 0.50     MiB/s \n");
  EXPECT_EQ(
      text_of_rates(rates, {.rates = false, .sent = false, .least = false, .decimal = true}, "s"),
      "[LNet Bandwidth of s]\n[R] Avg: 3.00     MB/s  Max: 3.00     MB/s  \n");
  EXPECT_EQ(
      text_of_rates(rates, {.bandwidth = false, .received = false, .average = false, .most = false},
                    "s"),
      "[LNet Rates of s]\n[W] Min: 2        RPC/s \n");
  EXPECT_EQ(text_of_rates({}, {}, "s"), "");
}

}  // namespace
}  // namespace plnet::lst::rates_test
