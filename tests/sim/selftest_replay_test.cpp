// SPDX-License-Identifier: BSD-3-Clause
// Our node replaces the node of a captured session of kernels: it receives all messages of the
// kernel console and client, in their order, and must answer as the kernel's did. The capture is
// beside the tree, not in it.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/sim/selftest_site.hpp"
#include "lib/selftest/srpc_codec.hpp"
#include "tests/sim/kernel_script.hpp"
#include "tests/sim/tcp_node.hpp"

namespace plnet::sim::selftest_replay_test {
namespace {

using namespace lnet;
using Kind = WireItem::Kind;
using Line = KernelScript::Line;
using Bytes = std::vector<std::byte>;
using selftest::MessageType;

constexpr const char* kCapture = "kernel-2.17-tcp.pcap";
constexpr Duration kPatience = std::chrono::seconds(20);

// Messages of the console and the node, without LNet's own.
bool is_of_selftest(const Line& line, lnet::MessageType type) {
  if (line.item.kind != Kind::kMessage || line.item.header.type != type) return false;
  const PortalId portal = portal_of(line.item.header);
  return portal >= selftest::kTestPortal && portal <= selftest::kRdmaPortal;
}

Bytes payload_of(const WireItem& item) {
  return {item.payload().begin(), item.payload().end()};
}

class SelftestReplayTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  void play(const KernelScript& script) {
    SelftestSiteSetup setup{.nodes = 1, .seed = GetParam()};
    if (GetParam() % 2 == 0) setup.shape = drivers::SimShape::rough();
    site_.emplace(setup);
    site_->start();
    const drivers::HostId host = site_->network().add_host();
    const Nid console = script.dialler.nid;
    (void)site_->network().add_address(host, drivers::mapped_ipv4(console.address32()));
    lcore_ = std::make_unique<drivers::SimShard>(site_->network(), host, setup.shape.shard,
                                                 setup.seed, 7);
    console_ = std::make_unique<TcpNode>(
        TcpNodeSetup{.nid = console, .interface_cookie = 9, .start = site_->loop().now()},
        site_->streams(), *lcore_);
    console_->take_puts(selftest::kRdmaPortal);
    attach_pulled_data(script);
    for (const Line& line : script.lines) {
      SCOPED_TRACE("packet " + std::to_string(line.packet) + ": " + line.item.text());
      if (line.by_dialler && is_of_selftest(line, lnet::MessageType::kPut)) say(line.item);
      if (!line.by_dialler && is_of_selftest(line, lnet::MessageType::kPut)) expect(line.item);
      if (HasFailure()) return;
    }
    EXPECT_EQ(console_->received().size(), heard_) << "we say more than the kernel";
    EXPECT_TRUE(unclaimed_.empty());
    EXPECT_EQ(site_->node(0).framework()->session(), nullptr);
    EXPECT_EQ(site_->close(), "");
  }

  std::set<MessageType> answered;
  unsigned bulks = 0;

 private:
  // The data of WRITEs: the kernel client's replies to GETs.
  void attach_pulled_data(const KernelScript& script) {
    std::map<std::uint64_t, Bytes> replies;
    for (const Line& line : script.lines) {
      if (line.by_dialler && line.item.kind == Kind::kMessage &&
          line.item.header.type == lnet::MessageType::kReply)
        replies[line.item.handle().object_cookie] = payload_of(line.item);
    }
    for (const Line& line : script.lines) {
      if (line.by_dialler || !is_of_selftest(line, lnet::MessageType::kGet)) continue;
      const auto& get = line.item.header.area<GetArea>();
      laid_open_.push_back(replies[line.item.handle().object_cookie]);
      console_->attach_for_get(get.portal, get.match_bits, laid_open_.back());
    }
  }
  void say(const WireItem& item) {
    const auto& put = item.header.area<PutArea>();
    console_->put({.nid = SelftestSite::nid_of(0)}, put.portal, put.match_bits, item.payload());
    lcore_->ring();
  }
  // Requests under way may be answered in any order.
  void expect(const WireItem& kernel) {
    const Bytes theirs = payload_of(kernel);
    const auto same_kind = [&] {
      return std::ranges::find_if(
          unclaimed_, [&](const Bytes& ours) { return kind_of(ours) == kind_of(theirs); });
    };
    const bool came = site_->run_until(
        [&] {
          const auto& all = console_->received();
          while (heard_ < all.size())
            unclaimed_.push_back(all[heard_++]);
          return same_kind() != unclaimed_.end();
        },
        kPatience);
    ASSERT_TRUE(came) << "our node does not say that";
    const Bytes ours = *same_kind();
    unclaimed_.erase(same_kind());
    if (theirs.size() == selftest::kMessageBytes) return compare(ours, theirs);
    EXPECT_TRUE(ours == theirs) << "data, " << ours.size() << " bytes";
    ++bulks;
  }
  // Its length, and the type of a message.
  static std::pair<std::size_t, int> kind_of(const Bytes& bytes) {
    const auto message = selftest::decode_message(bytes);
    return {bytes.size(), message ? static_cast<int>(message->received.header.type) : -1};
  }
  // Behind the body of a kernel's reply are old contents of its buffer, which are not compared.
  void compare(const Bytes& ours, const Bytes& theirs) {
    const auto own = selftest::decode_message(ours);
    auto kernel = selftest::decode_message(theirs);
    ASSERT_TRUE(own && kernel);
    EXPECT_EQ(own->received.header.type, kernel->received.header.type);
    EXPECT_EQ(own->received.header.features, kernel->received.header.features);
    answered.insert(kernel->received.header.type);
    if (auto* const stat = std::get_if<selftest::StatReply>(&kernel->body)) {
      const auto& told = std::get<selftest::StatReply>(own->body);
      EXPECT_EQ(told.status, stat->status);
      EXPECT_EQ(told.session, stat->session);
      EXPECT_EQ(told.framework.brw_errors, stat->framework.brw_errors);
      EXPECT_EQ(told.framework.ping_errors, stat->framework.ping_errors);
      EXPECT_EQ(told.framework.zombie_sessions, stat->framework.zombie_sessions);
      EXPECT_EQ(told.rpc.received, stat->rpc.received);
      EXPECT_EQ(told.rpc.bulk_got, stat->rpc.bulk_got);
      EXPECT_EQ(told.rpc.bulk_put, stat->rpc.bulk_put);
      return;
    }
    EXPECT_TRUE(own->body == kernel->body)
        << "the body of message type " << static_cast<int>(kernel->received.header.type);
  }

  std::optional<SelftestSite> site_;
  std::unique_ptr<drivers::SimShard> lcore_;
  std::unique_ptr<TcpNode> console_;
  std::vector<Bytes> laid_open_;
  std::size_t heard_ = 0;
  std::vector<Bytes> unclaimed_;
};

TEST_P(SelftestReplayTest, OurNodeAnswersAsTheKernelsDid) {
  const auto streams = mocks::read_tcp_capture(mocks::shared_capture(kCapture));
  if (!streams) GTEST_SKIP() << "no capture at " << mocks::shared_capture(kCapture);
  const KernelScript script = script_of(*streams);
  ASSERT_EQ(script.trouble, "");
  play(script);
  const std::set<MessageType> wanted{
      MessageType::kMakeSessionReply, MessageType::kRemoveSessionReply, MessageType::kTestReply,
      MessageType::kStatReply,        MessageType::kBrwReply,           MessageType::kPingReply};
  EXPECT_EQ(answered, wanted);
  EXPECT_GT(bulks, 0U);
}

INSTANTIATE_TEST_SUITE_P(Some, SelftestReplayTest, testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace plnet::sim::selftest_replay_test
