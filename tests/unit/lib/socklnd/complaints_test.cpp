// SPDX-License-Identifier: BSD-3-Clause
// Log messages about peers and unknown senders.
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/stranger.hpp"

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

struct Heard final : Complaints {
  void tell(const Complaint& complaint) override { all.push_back(complaint); }
  [[nodiscard]] std::vector<std::string> causes() const {
    std::vector<std::string> names;
    for (const Complaint& complaint : all)
      names.emplace_back(complaint.cause);
    return names;
  }
  std::vector<Complaint> all;
};
using Causes = std::vector<std::string>;

// Node 0 is real; host 1 has an address but no node.
class SocklndComplaints : public testing::Test {
 protected:
  SocklndComplaints() {
    NodeOptions options;
    options.lnd.complaints = &heard;
    options.acceptor.complaints = &heard;
    site = std::make_unique<TcpSite>(1, SimShape::calm(), 2, options);
    site->take_away(1);
  }
  void say_and_be_shown_the_door(const Bytes& bytes, bool privileged = true) {
    Stranger stranger(*site, 1, privileged);
    if (!bytes.empty()) stranger.say(bytes);
    EXPECT_TRUE(stranger.is_closed_within(seconds(7)));
  }

  Heard heard;
  std::unique_ptr<TcpSite> site;
};

TEST_F(SocklndComplaints, NameTheAddressOfAStranger) {
  say_and_be_shown_the_door(Bytes(4, std::byte{'G'}));
  ASSERT_EQ(heard.causes(), Causes{"refused_magic"});
  EXPECT_TRUE(heard.all[0].nid.is_any());
  EXPECT_EQ(heard.all[0].address.ip, address_of(1).ip);
}

TEST_F(SocklndComplaints, CoverInsecureSlowAndIncompatiblePeers) {
  say_and_be_shown_the_door({}, false);
  say_and_be_shown_the_door({});
  Bytes bytes = both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl));
  bytes[kAcceptorV1Bytes + 4] = std::byte{99};
  bytes.resize(kAcceptorV1Bytes + kHelloPrefixBytes);
  say_and_be_shown_the_door(bytes);
  EXPECT_EQ(heard.causes(), (Causes{"refused_port", "timed_out", "refused_hello_version"}));
}

TEST_F(SocklndComplaints, NameTheNidOfAPeer) {
  Stranger peer(*site, 1);
  peer.say(both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl)));
  ASSERT_TRUE(site->run([&] { return !peer.heard.empty(); }, seconds(1)));
  EXPECT_TRUE(heard.all.empty());
  Bytes frame(kFrameBytes);
  encode_frame({.type = 0xc5}, std::span(frame).first<kFrameBytes>());
  peer.say(frame);
  EXPECT_TRUE(peer.is_closed_within(seconds(1)));
  ASSERT_EQ(heard.causes(), Causes{"closed_bad_frame"});
  EXPECT_EQ(heard.all[0].nid, nid_of(1));
}

TEST_F(SocklndComplaints, DoNotCoverPeersThatLeave) {
  Stranger silent(*site, 1);
  silent.leave();
  Stranger peer(*site, 1);
  peer.say(both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl)));
  ASSERT_TRUE(site->run([&] { return !peer.heard.empty(); }, seconds(1)));
  peer.leave();
  site->run_for(seconds(1));
  EXPECT_EQ(heard.causes(), Causes{});
}

}  // namespace
}  // namespace plnet::socklnd
