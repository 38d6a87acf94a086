// SPDX-License-Identifier: BSD-3-Clause
// Tests between nodes, as a console describes, runs, watches and stops them.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest {
namespace {

using std::chrono::seconds;

// Node 1 is the client, node 2 the server.
class TestsTest : public testing::Test, public ConsoleSite {
 protected:
  explicit TestsTest(Wire wire = Wire::kStream) : ConsoleSite(wire) {}
  void begin() {
    EXPECT_EQ(make_session(1, session).status, Status::kOk);
    EXPECT_EQ(make_session(2, session).status, Status::kOk);
  }
  void expect_no_errors() {
    for (const unsigned host : {1U, 2U}) {
      const auto seen = stat(host);
      EXPECT_EQ(seen.status, Status::kOk);
      EXPECT_EQ(seen.framework.brw_errors, 0U);
      EXPECT_EQ(seen.framework.ping_errors, 0U);
      EXPECT_EQ(seen.rpc.errors, 0U);
      EXPECT_EQ(seen.rpc.dropped, 0U);
    }
  }
  void end() {
    EXPECT_EQ(remove_session(1, session).status, Status::kOk);
    EXPECT_EQ(remove_session(2, session).status, Status::kOk);
    expect_clean(1);
    expect_clean(2);
  }
};

class BrwTest : public TestsTest,
                public testing::WithParamInterface<
                    std::tuple<Wire, BulkOperation, Check, std::uint32_t, std::uint32_t>> {
 protected:
  BrwTest() : TestsTest(std::get<0>(GetParam())) {}
};

TEST_P(BrwTest, RunsToItsEnd) {
  const auto [wire, operation, check, length, v] = GetParam();
  features = v;
  begin();
  TestRequest test = brw_test(operation, check, length);
  test.loop = 3;
  test.concurrency = 2;
  EXPECT_EQ(add_test(2, test), Status::kOk);
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  EXPECT_TRUE(run_to_its_end(1));
  expect_no_errors();
  const auto seen = stat(2);
  const bool read = operation == BulkOperation::kRead;
  EXPECT_EQ(read ? seen.rpc.bulk_put : seen.rpc.bulk_got, 6U * length);
  EXPECT_EQ(read ? seen.rpc.bulk_got : seen.rpc.bulk_put, 0U);
  EXPECT_EQ(hosts[1]->server.statistics().get(RpcCount::kReceived), 6U);
  end();
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, BrwTest,
    testing::Combine(testing::Values(Wire::kStream, Wire::kRdma),
                     testing::Values(BulkOperation::kRead, BulkOperation::kWrite),
                     testing::Values(Check::kNone, Check::kSimple, Check::kFull),
                     testing::Values(8U, 4096U, 10'000U, 1U << 20), testing::Values(1U)));
INSTANTIATE_TEST_SUITE_P(Pages, BrwTest,
                         testing::Combine(testing::Values(Wire::kStream),
                                          testing::Values(BulkOperation::kRead,
                                                          BulkOperation::kWrite),
                                          testing::Values(Check::kFull),
                                          testing::Values(4096U, 1U << 20), testing::Values(0U)));

TEST_F(TestsTest, APingRunsUntilItIsStopped) {
  begin();
  TestRequest test = ping_test();
  test.loop = ~0U;
  test.concurrency = 4;
  EXPECT_EQ(add_client(1, test, {2, 1}), Status::kOk);  // another node, and itself
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 1U);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 8U);
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk) << "it runs already";
  EXPECT_EQ(stat(1).framework.active_batches, 1U);
  EXPECT_EQ(add_client(1, test, {2}), Status::kBusy);
  EXPECT_EQ(batch(1, BatchOperation::kStop).status, Status::kOk);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 0U);
  EXPECT_EQ(batch(1, BatchOperation::kStop).status, Status::kOk) << "stopped already";
  EXPECT_GT(hosts[1]->server.statistics().get(RpcCount::kReceived), 100U);
  expect_no_errors();
  batch(1, BatchOperation::kRun);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 1U) << "and runs again";
  batch(1, BatchOperation::kStop);
  settle();
  end();
}

TEST_F(TestsTest, BatchesAnswerForWhatTheyKnow) {
  begin();
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kNotFound);
  EXPECT_EQ(add_test(1, ping_test()), Status::kOk);  // as a server
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk);
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U) << "servers do not run";
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).status, Status::kOk);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 2).status, Status::kNotFound);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, ~0U).status, Status::kInvalid);
  EXPECT_EQ(batch(1, static_cast<BatchOperation>(4)).status, Status::kIo) << "no reply";
  const SessionId mine = session;
  session.stamp = 5;
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kNoSession);
  EXPECT_EQ(add_test(1, ping_test()), Status::kNotFound);
  session = mine;
  end();
}

TEST_F(TestsTest, AForcedStopDoesNotWaitForAnswers) {
  begin();
  hosts[1]->server.close();  // requests wait in its portal
  settle();
  TestRequest test = brw_test(BulkOperation::kWrite, Check::kNone, 4096);
  test.concurrency = 3;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 3U);
  batch(1, BatchOperation::kStop);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 3U) << "what is under way may end";
  batch(1, BatchOperation::kStop, 0, 1);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 0U);
  EXPECT_EQ(stat(1).framework.brw_errors, 0U) << "it was told to";
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  expect_clean(1);
}

TEST_F(TestsTest, ASilentServerIsAnErrorAfterItsTime) {
  begin();
  hosts[1]->server.close();
  settle();
  EXPECT_EQ(add_client(1, ping_test(), {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  pass(seconds(66));
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  const auto seen = stat(1);
  EXPECT_EQ(seen.framework.ping_errors, 1U);
  EXPECT_EQ(seen.rpc.expired, 1U);
}

TEST_F(TestsTest, ASessionThatGoesTakesItsTestsAlong) {
  begin();
  for (const auto operation : {BulkOperation::kRead, BulkOperation::kWrite}) {
    TestRequest test = brw_test(operation, Check::kFull, 100'000);
    test.loop = ~0U;
    test.concurrency = 4;
    EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  }
  batch(1, BatchOperation::kRun);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 2U);
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  EXPECT_EQ(remove_session(2, session).status, Status::kOk);
  pass(seconds(160));  // what was pulled when the client went
  expect_clean(1);
  expect_clean(2);
}

TEST_F(TestsTest, ASessionThatExpiresDoesSo) {
  begin();
  TestRequest test = ping_test();
  test.loop = ~0U;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  pass(seconds(102));
  EXPECT_EQ(hosts[0]->node.framework().session(), nullptr);
  const auto before = hosts[1]->server.statistics().get(RpcCount::kReceived);
  settle();
  EXPECT_EQ(hosts[1]->server.statistics().get(RpcCount::kReceived), before);
  expect_clean(1);
}

TEST_F(TestsTest, NoMoreThanThereIsRoomFor) {
  begin();
  TestRequest test = ping_test();
  test.concurrency = kUnits + 1;
  EXPECT_EQ(add_client(1, test, {2}), Status::kNoMemory);
  TestRequest large = brw_test(BulkOperation::kRead, Check::kNone, 1U << 20);
  large.concurrency = 5;
  EXPECT_EQ(add_client(1, large, {2}), Status::kNoMemory) << "4 MiB for sinks";
  large.concurrency = 4;
  EXPECT_EQ(add_client(1, large, {2}), Status::kOk);
  TestRequest server = ping_test();
  for (unsigned i = 1; i < 8; ++i)
    EXPECT_EQ(add_test(1, server), Status::kOk);
  EXPECT_EQ(add_test(1, server), Status::kNoMemory) << "as many tests";
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(remove_session(1, session).status, Status::kOk);
    settle();
    EXPECT_EQ(make_session(1, session).status, Status::kOk);
    test.concurrency = kUnits;
    EXPECT_EQ(add_client(1, test, {2}), Status::kOk) << "all is there again";
  }
  for (server.batch = 10; server.batch < 13; ++server.batch)
    EXPECT_EQ(add_test(1, server), Status::kOk);
  EXPECT_EQ(add_test(1, server), Status::kNoMemory) << "as many batches";
  end();
}

// --- What nobody should send ---

TEST_F(TestsTest, TestsThatNoNodeCouldRunAreRefused) {
  begin();
  const TestRequest good = brw_test(BulkOperation::kRead, Check::kNone, 4096);
  using Change = std::function<void(TestRequest&, BulkParametersV1&)>;
  const std::vector<std::pair<std::string, Change>> bad = {
      {"no loop", [](auto& test, auto&) { test.loop = 0; }},
      {"no concurrency", [](auto& test, auto&) { test.concurrency = 0; }},
      {"too much concurrency", [](auto& test, auto&) { test.concurrency = 1025; }},
      {"no session", [](auto& test, auto&) { test.session = {}; }},
      {"a framework service", [](auto& test, auto&) { test.service = Service::kDebug; }},
      {"no length", [](auto&, auto& bulk) { bulk.length = 0; }},
      {"over a MiB", [](auto&, auto& bulk) { bulk.length = (1U << 20) + 8; }},
      {"all there is", [](auto&, auto& bulk) { bulk.length = ~7U; }},
      {"half a word", [](auto&, auto& bulk) { bulk.length = 4092; }},
      {"at half a word", [](auto&, auto& bulk) { bulk.offset = 4; }},
      {"beyond its pages", [](auto&, auto& bulk) { bulk.offset = 8; }},
      {"no operation", [](auto&, auto& bulk) { bulk.operation = 3; }},
      {"no check", [](auto&, auto& bulk) { bulk.check = 0; }},
      {"unknown check", [](auto&, auto& bulk) { bulk.check = 5; }},
  };
  for (const auto& [what, change] : bad) {
    TestRequest test = good;
    auto bulk = std::get<BulkParametersV1>(test.parameters);
    change(test, bulk);
    test.parameters = bulk;
    EXPECT_EQ(add_client(1, test, {2}), Status::kInvalid) << what;
  }
  TestRequest lonely = good;
  lonely.is_client = 1;
  EXPECT_EQ(add_test(1, lonely), Status::kInvalid) << "no destination";
  lonely.destinations = 1024;
  EXPECT_EQ(add_test(1, lonely), Status::kInvalid) << "a list with holes";
  lonely.destinations = 342;
  EXPECT_EQ(add_test(1, lonely), Status::kInvalid);
  lonely.destinations = ~0U;
  EXPECT_EQ(add_test(1, lonely), Status::kInvalid);
  TestRequest unknown = good;
  unknown.service = static_cast<Service>(13);
  EXPECT_EQ(add_test(1, unknown), Status::kNotFound);
  TestRequest offset = good;
  std::get<BulkParametersV1>(offset.parameters) = {1, 1, 4000, 96};
  EXPECT_EQ(add_client(1, offset, {2}), Status::kOk) << "this one is good";
  EXPECT_TRUE(run_to_its_end(1));
  expect_no_errors();
  end();
}

TEST_F(TestsTest, ADestinationIsOneProcess) {
  begin();
  TestRequest test = ping_test();
  test.is_client = 1;
  test.destinations = 1;
  list_bytes = kDestinationBytes;
  for (const lnet::ProcessId& bad :
       {lnet::ProcessId{lnet::Nid::any(), 12345}, lnet::ProcessId{nodes.nid(2), lnet::kPidAny}}) {
    (void)lnet::encode_process_id(bad, list.bytes.first<lnet::kProcessIdBytes>());
    const auto reply = call<TestReply>(1, Service::kTest, test, BulkUse::kSource);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, Status::kInvalid);
  }
  end();
}

// From here on field by field in the console's byte order, the other one.
class SwappedWriter {
 public:
  explicit SwappedWriter(std::byte* at) : at_(at) {}
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (write(fields), ...);
  }

 private:
  template <class T>
  void write(const T& field) {
    if constexpr (std::is_same_v<T, TestParameters>) {
      write(std::get<BulkParametersV1>(field));
    } else if constexpr (Composite<T>) {
      T::each(field, *this);
    } else {
      std::memcpy(at_, &field, sizeof field);
      std::reverse(at_, at_ + sizeof field);
      at_ += sizeof field;
    }
  }
  std::byte* at_;
};

TEST_F(TestsTest, AConsoleOfTheOtherByteOrderIsUnderstood) {
  begin();
  RawPeer console(nodes, 0);
  (void)lnet::encode_process_id(nodes.id(2), list.bytes.first<lnet::kProcessIdBytes>());
  std::reverse(list.bytes.begin(), list.bytes.begin() + 8);
  std::reverse(list.bytes.begin() + 8, list.bytes.begin() + 12);
  const Fragment laid_open{list.at, kDestinationBytes};
  const auto attached =
      nodes.shard(0).attach({.portal = kRdmaPortal, .match = nodes.id(1), .match_bits = 8},
                            {.fragments = std::span(&laid_open, 1),
                             .length = kDestinationBytes,
                             .threshold = 1,
                             .options = lnet::kMdGet});
  ASSERT_TRUE(attached.has_value());
  console.listen(kRdmaPortal, 7, nodes.id(1));
  TestRequest test = brw_test(BulkOperation::kWrite, Check::kFull, 4096);
  test.reply_id = 7;
  test.bulk_id = 8;
  test.is_client = 1;
  test.destinations = 1;
  const Header header{.type = MessageType::kTestRequest, .features = features};
  Header::each(header, SwappedWriter(console.out().data()));
  TestRequest::each(test, SwappedWriter(console.out().data() + kHeaderBytes));
  console.put(nodes.id(1), kFrameworkPortal, static_cast<std::uint64_t>(Service::kTest));
  settle();
  ASSERT_EQ(console.heard(), 1U);
  const auto reply = decode_message(console.in());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(std::get<TestReply>(reply->body).status, Status::kOk);
  EXPECT_TRUE(run_to_its_end(1));
  EXPECT_EQ(stat(2).rpc.bulk_got, 4096U);
  expect_no_errors();
  end();
}

TEST_F(TestsTest, PagesThatNoNodeCouldSendAreRefused) {
  features = 0;
  begin();
  TestRequest test = brw_test(BulkOperation::kRead, Check::kNone, 0);
  EXPECT_EQ(add_client(1, test, {2}), Status::kInvalid);
  for (const std::uint32_t pages : {257U, 0x10'0001U, ~0U}) {
    std::get<BulkParametersV0>(test.parameters).pages = pages;
    EXPECT_EQ(add_client(1, test, {2}), Status::kInvalid);
  }
  end();
}

TEST_F(TestsTest, BadBulkRequestsGetAnError) {
  const BrwRequest good{.operation = BulkOperation::kRead, .length = 4096, .check = Check::kNone};
  const auto answer_to = [&](const BrwRequest& request, std::uint32_t with_features = 1) {
    features = with_features;
    list_bytes = kListPageBytes;
    return call<BrwReply>(2, Service::kBrw, request, BulkUse::kSink)
        .value_or(BrwReply{Status::kIo})
        .status;
  };
  EXPECT_EQ(answer_to(good), Status::kOk);
  for (const std::uint32_t operation : {0U, 3U, ~0U}) {
    BrwRequest bad = good;
    bad.operation = static_cast<BulkOperation>(operation);
    EXPECT_EQ(answer_to(bad), Status::kInvalid);
  }
  for (const std::uint32_t check : {0U, 5U, ~0U}) {
    BrwRequest bad = good;
    bad.check = static_cast<Check>(check);
    EXPECT_EQ(answer_to(bad), Status::kInvalid);
  }
  for (const std::uint32_t length : {0U, 4U, 4095U, (1U << 20) + 8, ~0U}) {
    BrwRequest bad = good;
    bad.length = length;
    EXPECT_EQ(answer_to(bad), Status::kInvalid);
  }
  EXPECT_EQ(answer_to(good, 2), Status::kProtocol);
  BrwRequest bytes = good;
  bytes.length = 8;
  EXPECT_EQ(answer_to(bytes, 0), Status::kInvalid) << "only whole pages without the feature";
  EXPECT_EQ(answer_to(bytes, 1), Status::kOk);
  EXPECT_EQ(hosts[1]->server.statistics().get(RpcCount::kDropped), 0U);
  expect_clean(2);
}

TEST_F(TestsTest, BadPingsGetAnErrorOrNothing) {
  const auto answer_to = [&](std::uint32_t magic, std::uint32_t with_features) {
    features = with_features;
    return call<PingReply>(2, Service::kPing, PingRequest{.magic = magic, .sequence = 5});
  };
  EXPECT_EQ(answer_to(kPingMagic, 1)->sequence, 5U);
  EXPECT_EQ(answer_to(kPingMagic, 4)->status, Status::kProtocol);
  EXPECT_EQ(answer_to(1, 1), std::nullopt);
}

TEST_F(TestsTest, WrongDataIsFoundByWhoeverLooks) {
  begin();
  // As a writer whose data is not what it says.
  std::memset(list.bytes.data(), 0, list.bytes.size());
  list_bytes = kListPageBytes;
  const auto reply = call<BrwReply>(
      2, Service::kBrw,
      BrwRequest{.operation = BulkOperation::kWrite, .length = 4096, .check = Check::kSimple},
      BulkUse::kSource);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, Status::kBadMessage);
  // And as a reader of a server like that: the source of node 2 is spoiled.
  TestRequest test = brw_test(BulkOperation::kRead, Check::kFull, 65'536);
  test.loop = 4;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  const Fragment source = hosts[1]->shared.source.first(1U << 20);
  nodes.arenas().bytes(source)[40'000] ^= std::byte{1};
  EXPECT_TRUE(run_to_its_end(1));
  EXPECT_EQ(stat(1).framework.brw_errors, 1U) << "the first one stops it";
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  EXPECT_EQ(make_session(1, session).status, Status::kOk);
  test.stop_on_error = 0;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  EXPECT_TRUE(run_to_its_end(1));
  EXPECT_EQ(stat(1).framework.brw_errors, 4U);
  end();
}

TEST_F(TestsTest, AListThatNeverComesIsNoTest) {
  begin();
  TestRequest test = ping_test();
  test.is_client = 1;
  test.destinations = 1;
  EXPECT_EQ(add_test(1, test), Status::kIo) << "no bulk data was laid open";
  pass(seconds(160));
  EXPECT_EQ(make_session(1, session).status, Status::kOk);
  expect_clean(1);
}

}  // namespace
}  // namespace plnet::selftest
