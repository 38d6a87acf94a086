// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/lnet_documents.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "tests/mocks/fake_lnet_control.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::lnet_documents_test {
namespace {

class LnetDocuments : public testing::Test {
 protected:
  [[nodiscard]] static NamedItems named(std::string_view text) {
    const auto items = read_named(text, "test.yaml");
    EXPECT_TRUE(items.has_value());
    return items.value_or(NamedItems{});
  }
  [[nodiscard]] VerbToken keep() {
    return VerbToken([this](const VerbReply& given) { reply = given; });
  }

  lnet::FakeLnetControl control;
  std::optional<VerbReply> reply;
};

// Nodes with even numbers of the fake do not answer.
TEST_F(LnetDocuments, ANodeThatDoesNotAnswerKeepsNoOtherFromBeingAsked) {
  exec_named(control,
             named("ping:\n    - primary nid: 10.0.0.2@tcp\n    - primary nid: 10.0.0.1@tcp\n"
                   "discover:\n    - primary nid: 10.0.0.4@tcp\n    - primary nid: 10.0.0.3@tcp\n"),
             keep());
  ASSERT_TRUE(reply && *reply);
  const Json& document = **reply;
  ASSERT_EQ(document["ping"].size(), 1U);
  EXPECT_EQ(document["ping"][0]["primary nid"], "10.0.0.1@tcp");
  ASSERT_EQ(document["discover"].size(), 1U);
  ASSERT_EQ(document["manage"].size(), 2U);
  EXPECT_EQ(document["manage"][0]["ping"]["descr"],
            "failed to ping 10.0.0.2@tcp: Input/output error");
  EXPECT_EQ(document["manage"][1]["discover"]["errno"], -EIO);
}

TEST_F(LnetDocuments, SilenceOfAllNodesIsTheError) {
  exec_named(control,
             named("ping:\n    - primary nid: 10.0.0.2@tcp\n    - primary nid: 10.0.0.4@tcp\n"),
             keep());
  ASSERT_TRUE(reply && !*reply);
  EXPECT_EQ(reply->error().faults.size(), 2U);
}

TEST_F(LnetDocuments, ANetworkThatIsNotThereKeepsNoOtherFromBeingShown) {
  control.node.nets.push_back({.net = *lnet::parse_net("tcp1")});
  show_named(control, named("net:\n    - net type: tcp7\n    - net type: tcp1\n"), keep());
  ASSERT_TRUE(reply && *reply);
  const Json& document = **reply;
  ASSERT_EQ(document["net"].size(), 1U);
  EXPECT_EQ(document["net"][0]["net type"], "tcp1");
  ASSERT_EQ(document["show"].size(), 1U);
  EXPECT_TRUE(document["show"][0].contains("net"));
}

}  // namespace
}  // namespace plnet::runtime::lnet_documents_test
