// SPDX-License-Identifier: BSD-3-Clause
// The requests of a kernel's console to a kernel's node, byte for byte, and this console's reading
// of the node's answers: the session of the packets in tests/data/captures (Lustre 2.17.0;
// 10.99.0.11 is the console and the client). Zeros at the end of messages are omitted.
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/vectors.hpp"
#include "tests/unit/lib/selftest/console/crowd_site.hpp"

namespace plnet::selftest::kernel_session_test {
namespace {

namespace vectors = lnet::vectors;

MessageBytes padded(std::string hex) {
  hex.resize(2 * kMessageBytes, '0');
  const vectors::Bytes bytes = vectors::from_hex(hex);
  MessageBytes message{};
  std::memcpy(message.data(), bytes.data(), message.size());
  return message;
}

constexpr const char* kMakeSession =
    "0df0b0ee010000000000000000000000000000000100000002000000000084b70b00630a000002004eda0000000000"
    "000000000078";
constexpr const char* kMakeSessionReply =
    "0df0b0ee0100000001000000000000000000000001000000000000000b00630a000002004eda00000000000064";
constexpr const char* kTestReply =
    "0df0b0ee0100000009000000000000000000000001000000000000000b00630a000002004eda";
constexpr const char* kWriteTest =
    "0df0b0ee010000000800000000000000000000000100000003000000000084b700000000000000000b00630a000002"
    "004eda00000000000002000000000000000b000000010000000100000000010000000002000300001";
constexpr const char* kReadTest =
    "0df0b0ee010000000800000000000000000000000100000006000000000084b700000000000000000b00630a000002"
    "004eda00000000000002000000000000000b000000010000000100000000010000000001000300000001";
constexpr const char* kPingTest =
    "0df0b0ee010000000800000000000000000000000100000009000000000084b700000000000000000b00630a000002"
    "004eda00000000000002000000000000000c00000001000000010000000001";
constexpr const char* kStat =
    "0df0b0ee01000000060000000000000000000000010000001a000000000084b70b00630a000002004eda";
constexpr const char* kStatReply =
    "0df0b0ee0100000007000000000000000000000001000000000000000b00630a000002004eda000000000000060a00"
    "000000000000000000000000000000000000000000000000000c0000000000000000000000003000000000000000"
    "00020000000000000000000800000000000000e9db0000cba000000000000000000000f090c239000000000051e33";
constexpr const char* kRemoveSession =
    "0df0b0ee01000000020000000000000000000000010000001f000000000084b70b00630a000002004eda";
constexpr const char* kRemoveSessionReply =
    "0df0b0ee010000000300000000000000000000000100000000000000ffffffffffffffffffffffffffffffff";

class KernelSessionTest : public testing::Test, public CrowdSite {
 protected:
  KernelSessionTest() : CrowdSite({.rpcs = 8, .lists = 2, .join_buffers = 1}, 0xda4e) {}

  // Sets node 2's next answer.
  void kernel_will_say(const char* hex) {
    crowd.node(2).instead = [message = padded(hex)](const Message&) {
      return std::optional(message);
    };
  }
  void expect_heard(const char* hex) {
    ASSERT_FALSE(crowd.node(2).heard_bytes.empty());
    const MessageBytes& ours = crowd.node(2).heard_bytes.back();
    MessageBytes theirs = padded(hex);
    std::memcpy(theirs.data() + kHeaderBytes, ours.data() + kHeaderBytes, 8);  // the reply's id
    EXPECT_EQ(vectors::to_hex(ours), vectors::to_hex(theirs));
  }
};

TEST_F(KernelSessionTest, ByteForByte) {
  (void)begin({.name = "x", .nid = lnet::from_nid64(0x0002'0000'0a63'000b)});
  EXPECT_EQ(console->session()->id.stamp, 0xda4e);
  EXPECT_TRUE(console->add_batch("b").has_value());
  EXPECT_EQ(add("clients", 1, 1).succeeded(), 1U);
  kernel_will_say(kMakeSessionReply);
  EXPECT_EQ(add("servers", 2, 2).succeeded(), 1U);
  expect_heard(kMakeSession);
  EXPECT_EQ(state("servers", 0), NodeState::kActive);

  kernel_will_say(kTestReply);
  AddTest test{.batch = "b", .from = "clients", .to = "servers"};
  test.test = BrwTest{.operation = BulkOperation::kWrite, .check = Check::kFull};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(kWriteTest);
  test.test = BrwTest{.check = Check::kFull, .length = 65536};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(kReadTest);
  test.test = PingTest{};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(kPingTest);

  kernel_will_say(kStatReply);
  const auto stat =
      of([&](WhenDone done) { return console->stat(OfGroup{"servers"}, 5, std::move(done)); });
  expect_heard(kStat);
  ASSERT_EQ(stat.succeeded(), 1U);
  const auto& seen = std::get<StatSeen>(stat.nodes[0].seen);
  EXPECT_EQ(seen.framework.running_ms, 0x0a06U);
  EXPECT_EQ(seen.framework.brw_errors, 0U);
  EXPECT_EQ(seen.rpc.received, 12U);
  EXPECT_EQ(seen.rpc.bulk_got, 0x3000U);
  EXPECT_EQ(seen.rpc.bulk_put, 0x20000U);

  kernel_will_say(kRemoveSessionReply);
  EXPECT_EQ(end().succeeded(), 2U);
  expect_heard(kRemoveSession);
  expect_clean();
}

}  // namespace
}  // namespace plnet::selftest::kernel_session_test
