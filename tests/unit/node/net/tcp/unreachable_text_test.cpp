// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/unreachable_text.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::node::unreachable_text_test {
namespace {

using lnet::NetType;
using lnet::Nid;
using runtime::LocalAddress;

const Nid kPeer = Nid::of(NetType::kTcp, 0, 0x0a000009);  // 10.0.0.9

std::vector<LocalAddress> local(std::uint8_t prefix_bits) {
  return {{.interface = "eth0", .prefix_bits = prefix_bits, .bytes_be = {10, 0, 0, 1}}};
}

TEST(UnreachableText, NamesTheLikelyReason) {
  EXPECT_EQ(unreachable_text(kPeer, 988, Errc::kTimedOut, local(24)),
            "TCP connects to port 988 get no answer: is the host down, or the port filtered?");
  EXPECT_EQ(unreachable_text(kPeer, 988, Errc::kRefused, local(24)),
            "TCP connects to port 988 are refused: LNet does not run there, or the NID is on "
            "another host now");
  EXPECT_EQ(unreachable_text(kPeer, 988, Errc::kReset, local(24)),
            "TCP connects to port 988 succeed, but the peer closes the connection: has it this "
            "NID, and does an access rule there refuse ours? Its log names the cause, `lnetctl "
            "status` there the rule");
  EXPECT_EQ(unreachable_text(kPeer, 7988, Errc::kNoMemory, {}),
            "TCP connects to port 7988 fail: out of memory or of preallocated objects");
}

TEST(UnreachableText, NamesSubnetsIfThePeerIsInNone) {
  const std::string text = unreachable_text(kPeer, 988, Errc::kNoRoute, local(30));
  EXPECT_NE(text.find("in no subnet of this host (eth0 10.0.0.1/30): is a netmask wrong?"),
            std::string::npos)
      << text;
  EXPECT_EQ(unreachable_text(kPeer, 988, Errc::kRefused, local(30)).find("netmask"),
            std::string::npos)
      << "the host has answered";
  EXPECT_EQ(unreachable_text(kPeer, 988, Errc::kTimedOut, {}).find("subnet"), std::string::npos);
}

TEST(UnreachableText, KeepsAddressFamiliesApart) {
  std::vector<LocalAddress> both = local(24);
  both.push_back({.interface = "eth1",
                  .is_v6 = true,
                  .prefix_bits = 64,
                  .bytes_be = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}});
  Nid large = Nid::of(NetType::kTcp, 0, 0);
  large.size = sizeof large.address_be - 4;
  large.address_be = {0x20, 0x01, 0x0d, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
  const std::string text = unreachable_text(large, 988, Errc::kTimedOut, both);
  EXPECT_NE(text.find("(eth1 2001:db8::1/64)"), std::string::npos) << text;
}

}  // namespace
}  // namespace plnet::node::unreachable_text_test
