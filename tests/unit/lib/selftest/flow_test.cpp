// SPDX-License-Identifier: BSD-3-Clause
// A kernel console's requests to a node, from the golden vectors, and the node's answers byte for
// byte.
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/vectors.hpp"
#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest::flow_test {
namespace {

namespace vectors = lnet::vectors;

std::string golden(const std::string& name) {
  static const vectors::Json all = vectors::load("selftest");
  for (const auto& vector : all) {
    if (vectors::name(vector) == "srpc_msg." + name) return vectors::hex(vector);
  }
  ADD_FAILURE() << "no vector " << name;
  return {};
}

class FlowTest : public testing::Test, public ConsoleSite {
 protected:
  FlowTest() : ConsoleSite(Wire::kStream) {}

  // The answer of node 1; empty: none.
  std::string answer_to(Service service, const std::string& request) {
    RawPeer console(nodes, 0);
    const vectors::Bytes bytes = vectors::from_hex(request);
    EXPECT_EQ(bytes.size(), kMessageBytes);
    std::memcpy(console.out().data(), bytes.data(), kMessageBytes);
    std::uint64_t reply_id = 0;
    std::memcpy(&reply_id, bytes.data() + kHeaderBytes, sizeof reply_id);
    console.listen(kRdmaPortal, reply_id, nodes.id(1));
    console.put(nodes.id(1), portal_of(service), static_cast<std::uint64_t>(service));
    settle();
    return console.heard() == 1 ? vectors::to_hex(console.in()) : std::string();
  }
  std::string answer_to(Service service, const char* vector) {
    return answer_to(service, golden(vector));
  }
  template <class Request>
  static std::string hex_of(const Request& request, std::uint32_t features = kFeaturesKnown) {
    std::array<std::byte, kMessageBytes> bytes{};
    encode(features, request, bytes);
    return vectors::to_hex(bytes);
  }
  // Posts the list of destinations of brw-client-write-full: four times node 2.
  void lay_open_list() {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto entry = list.bytes.subspan(destination_offset(i)).first<lnet::kProcessIdBytes>();
      (void)lnet::encode_process_id(nodes.id(2), entry);
    }
    laid_open_ = {list.at, 4 * kDestinationBytes};
    ASSERT_TRUE(
        nodes.shard(0)
            .attach({.portal = kRdmaPortal, .match = nodes.id(1), .match_bits = 0x6553f10000000007},
                    {.fragments = std::span(&laid_open_, 1),
                     .length = laid_open_.length,
                     .threshold = 1,
                     .options = lnet::kMdGet})
            .has_value());
  }

 private:
  Fragment laid_open_;
};

// The vector shows the position of the name. Kernels fill it in only if an existing session
// prevents the new one (lustre-release lnet/selftest/framework.c: sfw_make_session(); the captured
// session).
std::string without_name(std::string hex) {
  constexpr std::size_t kNameAt = 48;
  constexpr std::size_t kNameBytes = 32;
  return hex.replace(2 * kNameAt, 2 * kNameBytes, 2 * kNameBytes, '0');
}

TEST_F(FlowTest, ASessionFromItsBeginningToItsEnd) {
  EXPECT_EQ(answer_to(Service::kDebug, "DEBUG_REQ/real/debug"), golden("DEBUG_REPLY/real/esrch"));
  EXPECT_EQ(answer_to(Service::kMakeSession, "MAKE_SESSION_REQ/real/bulk-force0"),
            without_name(golden("MAKE_SESSION_REPLY/real/ok")));
  EXPECT_EQ(answer_to(Service::kDebug, "DEBUG_REQ/real/debug"), golden("DEBUG_REPLY/real/ok"));
  EXPECT_EQ(answer_to(Service::kBatch, "BATCH_REQ/real/query-batch"),
            golden("BATCH_REPLY/real/enoent"));
  EXPECT_EQ(answer_to(Service::kTest, "TEST_REQ.bulk_v1/real/brw-server"),
            golden("TEST_REPLY/real/ok"));
  lay_open_list();
  EXPECT_EQ(answer_to(Service::kTest, "TEST_REQ.bulk_v1/real/brw-client-write-full"),
            golden("TEST_REPLY/real/ok"));
  hosts[1]->server.close();  // keeps it active for the following query
  settle();
  const std::string run = answer_to(Service::kBatch, "BATCH_REQ/real/run");
  EXPECT_EQ(answer_to(Service::kBatch, "BATCH_REQ/real/query-batch"),
            golden("BATCH_REPLY/real/active-1"));
  EXPECT_EQ(answer_to(Service::kBatch, "BATCH_REQ/real/stop-force"), run);
  // Until the network releases undeliverable messages.
  for (int i = 0; i < 3; ++i) {
    pass(std::chrono::seconds(60));
    EXPECT_EQ(answer_to(Service::kDebug, "DEBUG_REQ/real/debug"), golden("DEBUG_REPLY/real/ok"));
  }
  EXPECT_EQ(answer_to(Service::kBatch, "BATCH_REQ/real/query-batch"), run) << "nothing is active";
  EXPECT_EQ(answer_to(Service::kBatch, "BATCH_REQ/real/query-test-2"), run);
  EXPECT_EQ(answer_to(Service::kRemoveSession, "REMOVE_SESSION_REQ/real/end"),
            golden("REMOVE_SESSION_REPLY/real/ok"));
  EXPECT_EQ(answer_to(Service::kRemoveSession, "REMOVE_SESSION_REQ/real/end"),
            golden("REMOVE_SESSION_REPLY/real/esrch"));
  expect_clean(1);
}

// A name without termination does not make other consoles read beyond it.
TEST_F(FlowTest, ANameWithoutAnEndGetsOne) {
  constexpr std::size_t kLetters = std::tuple_size_v<Name> - 1;
  const SessionId others{.nid = 0x0002'0000'c0a8'0114, .stamp = 0x18c'0000'0001};
  std::string request =
      hex_of(MakeSessionRequest{.session = others, .name = name_from(std::string(kLetters, 'x'))});
  std::string letters;
  for (std::size_t i = 0; i < kLetters; ++i)
    letters += "78";
  const std::size_t at = request.find(letters + "00");
  ASSERT_NE(at, std::string::npos);
  request.replace(at + letters.size(), 2, "78");
  (void)answer_to(Service::kMakeSession, request);
  const std::string busy = answer_to(Service::kMakeSession, "MAKE_SESSION_REQ/real/bulk-force0");
  EXPECT_TRUE(busy.contains(letters)) << busy;
  EXPECT_FALSE(busy.contains(letters + "78")) << busy;
}

TEST_F(FlowTest, Refusals) {
  EXPECT_EQ(answer_to(Service::kMakeSession, hex_of(MakeSessionRequest{.session = session}, 3)),
            golden("MAKE_SESSION_REPLY/real/eproto"));
  (void)answer_to(
      Service::kMakeSession,
      hex_of(MakeSessionRequest{.session = {.nid = 0x0002'0000'c0a8'0114, .stamp = 0x18c'0000'0001},
                                .name = name_from("other")}));
  EXPECT_EQ(answer_to(Service::kMakeSession, "MAKE_SESSION_REQ/real/bulk-force0"),
            golden("MAKE_SESSION_REPLY/real/ebusy"));
  EXPECT_NE(answer_to(Service::kMakeSession, "MAKE_SESSION_REQ/real/name31-force1"), "");
  const vectors::Bytes bytes = vectors::from_hex(golden("TEST_REQ.bulk_v1/real/brw-client"));
  const auto message = decode_message(bytes);
  ASSERT_TRUE(message.has_value());
  auto test = std::get<TestRequest>(message->body);
  test.loop = 0;
  EXPECT_EQ(answer_to(Service::kTest, hex_of(test)), golden("TEST_REPLY/real/einval"));
}

TEST_F(FlowTest, TestServices) {
  EXPECT_EQ(answer_to(Service::kPing, "PING_REQ/real/seq-41"), golden("PING_REPLY/real/seq-41"));
  EXPECT_EQ(answer_to(Service::kBrw, hex_of(BrwRequest{.reply_id = 3})),
            golden("BRW_REPLY/real/einval"));
}

}  // namespace
}  // namespace plnet::selftest::flow_test
