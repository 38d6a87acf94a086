// SPDX-License-Identifier: BSD-3-Clause
// Requests are matched with their replies and bulk data, also on a router that sees everything
// twice.
#include <vector>

#include <gtest/gtest.h>

#include "lib/trace/pair/pair_up.hpp"
#include "tests/unit/lib/trace/capture_files.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::pair_test {
namespace {

using records::Bytes;
using records::kClient;
using records::kServer;
using records::Put;

struct Ended : ExchangeSink {
  std::vector<Exchange> all;
  void on_exchange(const Exchange& exchange) override { all.push_back(exchange); }
};

constexpr std::uint64_t kXid = 0x69f14ce4bfe80;

class TracePair : public testing::Test {
 protected:
  Paired add(const Record& record) { return pairs_.add(decode(record)); }
  Paired request(const Put& put) { return add(records::put(put, read_)); }

  const Bytes read_ = records::payload_of("ptlrpc", "request.4/real/ost-read-4m");
  const Bytes error_ = records::payload_of("ptlrpc", "request.1/real/error-reply-enotconn");
  const Bytes early_ = records::payload_of("ptlrpc", "request.1/cksum/early-reply");
  Ended ended_;
  PairUp pairs_{&ended_};
};

TEST_F(TracePair, RequestBulkAndReply) {
  EXPECT_EQ(request({.portal = 6, .match_bits = kXid, .time_ns = 1000}).role, Role::kRequest);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Bytes data(1 << 20);
    const auto paired = add(records::put({.source = kServer,
                                          .destination = kClient,
                                          .portal = 8,
                                          .match_bits = kXid + i,
                                          .time_ns = 2000},
                                         data));
    EXPECT_EQ(paired.role, Role::kBulk);
    ASSERT_NE(paired.exchange, nullptr);
  }
  const Put back{.source = kServer, .destination = kClient, .portal = 4, .match_bits = kXid};
  Put early = back;
  early.time_ns = 2500;
  EXPECT_EQ(add(records::put(early, early_)).role, Role::kEarlyReply);
  Put last = back;
  last.time_ns = 4000;
  last.offset = 224;
  const auto reply = add(records::put(last, error_));
  EXPECT_EQ(reply.role, Role::kReply);
  EXPECT_EQ(reply.latency_ns, 3000U);
  pairs_.finish();
  ASSERT_EQ(ended_.all.size(), 1U);
  const Exchange& exchange = ended_.all.front();
  EXPECT_EQ(exchange.bulk_bytes, 4U << 20U);
  EXPECT_EQ(exchange.bulk.count, 4U);
  EXPECT_EQ(exchange.early_replies, 1U);
  EXPECT_EQ(exchange.status, -107);
  EXPECT_EQ(exchange.operation, 3U);
  EXPECT_EQ(exchange.latency_ns(), 3000U);
}

TEST_F(TracePair, BothLegsOfRouter) {
  const auto via = [](Put put, Direction direction, std::uint64_t time_ns) {
    put.direction = direction;
    put.time_ns = time_ns;
    return put;
  };
  const Put out{.portal = 6, .match_bits = kXid};
  const Put back{.source = kServer, .destination = kClient, .portal = 4, .match_bits = kXid};
  request(via(out, Direction::kReceived, 100));
  request(via(out, Direction::kSent, 130));
  add(records::put(via(back, Direction::kReceived, 1130), error_));
  add(records::put(via(back, Direction::kSent, 1150), error_));
  pairs_.finish();
  ASSERT_EQ(ended_.all.size(), 1U);
  EXPECT_EQ(ended_.all[0].request.count, 2U);
  EXPECT_EQ(ended_.all[0].resends, 0U);
  EXPECT_EQ(ended_.all[0].latency_ns(), 1050U);
  EXPECT_EQ(ended_.all[0].beyond_ns(), 1000U);
}

TEST_F(TracePair, ResendIsNoSecondRequest) {
  request({.portal = 6, .match_bits = kXid, .time_ns = 1});
  request({.portal = 6, .match_bits = kXid, .time_ns = 50});
  pairs_.finish();
  ASSERT_EQ(ended_.all.size(), 1U);
  EXPECT_EQ(ended_.all[0].resends, 1U);
  EXPECT_FALSE(ended_.all[0].is_answered());
}

TEST_F(TracePair, GetAndReplyByHandle) {
  const lnet::WireHandle handle{0x11, 0x22};
  EXPECT_EQ(add(records::get({.portal = 0, .time_ns = 10, .handle = handle}, 272)).role,
            Role::kRequest);
  const auto reply = add(records::reply(
      {.source = kServer, .destination = kClient, .time_ns = 35, .handle = handle}, 48));
  EXPECT_EQ(reply.role, Role::kReply);
  EXPECT_EQ(reply.latency_ns, 25U);
  ASSERT_NE(reply.exchange, nullptr);
  EXPECT_EQ(reply.exchange->portal, 0U);
  const auto stray = add(records::reply({.handle = {7, 7}}, 48));
  EXPECT_EQ(stray.exchange, nullptr);
}

// The server of a write fetches the data: the bytes are in the REPLY.
TEST_F(TracePair, FetchedBulkCountsItsReply) {
  const Bytes write = records::payload_of("ptlrpc", "request.4/real/ost-write-resent");
  add(records::put({.portal = 6, .match_bits = kXid, .time_ns = 1}, write));
  const lnet::WireHandle handle{0x11, 0x22};
  // The match bits of a resend are those in the body.
  const auto get = add(records::get({.source = kServer,
                                     .destination = kClient,
                                     .portal = 8,
                                     .match_bits = 0x69f14ce4bff80,
                                     .handle = handle},
                                    4096));
  EXPECT_EQ(get.role, Role::kBulk);
  add(records::reply({.source = kClient, .destination = kServer, .handle = handle}, 4096));
  pairs_.finish();
  ASSERT_EQ(ended_.all.size(), 2U);
  EXPECT_EQ(ended_.all[0].bulk_bytes, 4096U);
}

TEST_F(TracePair, ForgetsOldestBeyondLimit) {
  PairUp few(&ended_, 10);
  for (std::uint64_t i = 0; i < 25; ++i)
    (void)few.add(decode(records::put({.portal = 6, .match_bits = kXid + 128 * i}, read_)));
  EXPECT_EQ(ended_.all.size(), 15U);
  few.finish();
  EXPECT_EQ(ended_.all.size(), 25U);
  for (std::size_t i = 0; i < ended_.all.size(); ++i)
    EXPECT_EQ(ended_.all[i].number, i + 1);
}

TEST_F(TracePair, SelftestOfKernels) {
  const auto file = capture_files::shared("kernel-2.17-tcp.pcap");
  if (!file) GTEST_SKIP() << "no captures of kernels beside the tree";
  capture_files::Kept kept;
  capture_files::read(*file, kept);
  for (const auto& one : kept.all)
    (void)add(one.record);
  pairs_.finish();
  std::size_t answered = 0;
  std::uint64_t bulk = 0;
  for (const Exchange& exchange : ended_.all) {
    if (exchange.kind != ExchangeKind::kSelftest) continue;
    EXPECT_TRUE(exchange.is_answered()) << exchange.operation;
    ++answered;
    bulk += exchange.bulk_bytes;
  }
  EXPECT_GT(answered, 10U);
  EXPECT_GT(bulk, 4096U);
}

}  // namespace
}  // namespace plnet::trace::pair_test
