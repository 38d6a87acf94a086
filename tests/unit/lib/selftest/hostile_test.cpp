// SPDX-License-Identifier: BSD-3-Clause
// Invalid requests, some of which crash kernel nodes: a node answers with an error or not at all,
// and keeps working.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/tests_fixture.hpp"

namespace plnet::selftest::hostile_test {
namespace {

using std::chrono::seconds;

class HostileTest : public TestsTest {};

TEST_F(HostileTest, TestsThatNoNodeCouldRunAreRefused) {
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

TEST_F(HostileTest, ADestinationIsOneProcess) {
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

// Fields that follow are in the console's byte order, the other one.
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

TEST_F(HostileTest, AConsoleOfTheOtherByteOrderIsUnderstood) {
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

TEST_F(HostileTest, PagesThatNoNodeCouldSendAreRefused) {
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

TEST_F(HostileTest, BadBulkRequestsGetAnError) {
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
  EXPECT_EQ(features_told, kFeaturesKnown) << "so that the client can ask for less";
  BrwRequest bytes = good;
  bytes.length = 8;
  EXPECT_EQ(answer_to(bytes, 0), Status::kInvalid) << "only whole pages without the feature";
  EXPECT_EQ(answer_to(bytes, 1), Status::kOk);
  EXPECT_EQ(hosts[1]->server.statistics().get(RpcCount::kDropped), 0U);
  expect_clean(2);
}

TEST_F(HostileTest, WritesOfNothingDoNotKeepOthersOutForLong) {
  RawPeer liar(nodes, 1);
  for (std::uint64_t i = 0; i < 2; ++i) {  // as many as there are sinks
    encode(features,
           BrwRequest{.reply_id = 70 + i,
                      .bulk_id = 80 + i,
                      .operation = BulkOperation::kWrite,
                      .length = 4096,
                      .check = Check::kNone},
           liar.out());
    liar.put(nodes.id(2), kTestPortal, static_cast<std::uint64_t>(Service::kBrw));
    settle();
  }
  pass(seconds(30));
  list_bytes = kListPageBytes;
  const auto reply = call<BrwReply>(
      2, Service::kBrw,
      BrwRequest{.operation = BulkOperation::kWrite, .length = 4096, .check = Check::kNone},
      BulkUse::kSource);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, Status::kOk);
  expect_clean(2);
}

TEST_F(HostileTest, BadPingsGetAnErrorOrNothing) {
  const auto answer_to = [&](std::uint32_t magic, std::uint32_t with_features) {
    features = with_features;
    return call<PingReply>(2, Service::kPing, PingRequest{.magic = magic, .sequence = 5});
  };
  EXPECT_EQ(answer_to(kPingMagic, 1)->sequence, 5U);
  EXPECT_EQ(features_told, 1U);
  EXPECT_EQ(answer_to(kPingMagic, 4)->status, Status::kProtocol);
  EXPECT_EQ(features_told, kFeaturesKnown);
  EXPECT_EQ(answer_to(kPingMagic, 0)->status, Status::kOk);
  EXPECT_EQ(features_told, 0U) << "as it was asked";
  EXPECT_EQ(answer_to(1, 1), std::nullopt);
}

TEST_F(HostileTest, WrongDataIsDetectedByTheChecker) {
  begin();
  // A writer whose data does not match its pattern.
  std::memset(list.bytes.data(), 0, list.bytes.size());
  list_bytes = kListPageBytes;
  const auto reply = call<BrwReply>(
      2, Service::kBrw,
      BrwRequest{.operation = BulkOperation::kWrite, .length = 4096, .check = Check::kSimple},
      BulkUse::kSource);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, Status::kBadMessage);
  // A reader from such a server: the source of node 2 is corrupted.
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

TEST_F(HostileTest, AListThatNeverComesIsNoTest) {
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
}  // namespace plnet::selftest::hostile_test
