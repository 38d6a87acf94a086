// SPDX-License-Identifier: BSD-3-Clause
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/lnet/names/address_text.hpp"
#include "lib/lnet/names/net_types.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet::names_nid_text_test {
namespace {

std::string mistake(std::string_view text) {
  const auto parsed = parse_nid(text);
  EXPECT_FALSE(parsed.has_value()) << text;
  return parsed ? "" : parsed.error().what;
}

// Any NID of a conforming sender.
Nid random_nid(Random& random) {
  constexpr NetType kTypes[] = {NetType::kTcp,  NetType::kO2ib, NetType::kGni, NetType::kGip,
                                NetType::kPtlf, NetType::kKfi,  NetType::kEfa, NetType::kBxi3f};
  const bool known = random.chance(0.8);
  const auto type = known ? kTypes[random.below(std::size(kTypes))]
                          : static_cast<NetType>(random.between(20, 254));
  const auto number = static_cast<std::uint16_t>(random.chance(0.3) ? 0 : random.below(65536));
  Nid result = Nid::of(type, number, static_cast<std::uint32_t>(random.next()));
  const NetTypeInfo* info = find_net_type(result.type);
  const bool may_be_large = info == nullptr || info->addresses == AddressStyle::kIpv4Ipv6;
  if (may_be_large && random.chance(0.5)) {
    // Unknown types: any whole number of words, since the notation can express that.
    result.size =
        info != nullptr ? Nid::kLargeSize : static_cast<std::uint8_t>(4 * random.below(4));
    for (std::size_t i = 0; i < 4U + result.size; ++i) {
      const bool zero = random.chance(0.4);  // gives runs of zeros to compress
      result.address_be[i] = zero ? 0 : static_cast<std::uint8_t>(random.next());
    }
  }
  return result;
}

TEST(NidText, RandomNidsSurviveTheirText) {
  Random random(1);
  std::unordered_set<std::uint64_t> hashes;
  constexpr int kRounds = 20000;
  for (int i = 0; i < kRounds; ++i) {
    const Nid original = random_nid(random);
    ASSERT_TRUE(original.is_well_formed());
    const std::string text = text_of(original);
    ASSERT_LE(text.size(), kNidTextMax);
    const auto parsed = parse_nid(text);
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error().what;
    ASSERT_EQ(*parsed, original) << text;
    ASSERT_EQ(parse_net(text_of_net(original.net())).value(), original.net());
    if (!original.is_large()) {
      ASSERT_EQ(from_nid64(to_nid64(original).value), original);
    }
    hashes.insert(NidHash{}(original));
  }
  EXPECT_GT(hashes.size(), kRounds - 5U);  // 64 bits: no collision is expected among 20000
}

TEST(NidText, NamesWithDigitsInside) {
  EXPECT_EQ(parse_net("o2ib").value(), make_net(NetType::kO2ib));
  EXPECT_EQ(parse_net("o2ib12").value(), make_net(NetType::kO2ib, 12));
  EXPECT_EQ(parse_net("bxi3f4").value(), make_net(NetType::kBxi3f, 4));
  EXPECT_EQ(nid("5@bxi3f4").address32(), 5U);
  EXPECT_EQ(text_of_net(make_net(NetType::kO2ib, 0)), "o2ib");
}

TEST(NidText, LoopbackTakesAnyAddressAndNoNumber) {
  EXPECT_TRUE(nid("0@lo").is_loopback());
  EXPECT_TRUE(nid("whatever@lo").is_loopback());
  EXPECT_NE(mistake("0@lo1").find("column 5"), std::string::npos);
  EXPECT_EQ(to_nid64(nid("0@lo")).value, kNid64Loopback);
}

TEST(NidText, UnknownTypesBothWays) {
  const Nid strange = Nid::of(std::uint8_t{77}, 3, 0xc0a8010a);
  EXPECT_EQ(text_of(strange), "c0a8010a@<77:3>");
  EXPECT_EQ(nid("c0a8010a@<77:3>"), strange);
  Nid large = strange;
  large.size = Nid::kLargeSize;
  EXPECT_EQ(text_of(large), "c0a8010a:0:0:0@<77:3>");
  EXPECT_EQ(nid("c0a8010a:0:0:0@<77:3>"), large);
  EXPECT_EQ(text_of_net(make_net(std::uint8_t{77}, 3)), "<77:3>");
  mistake("1@<255:0>");
  mistake("1@<77:65536>");
  mistake("1@<77:3");
  mistake("1@<77>");
  mistake("1:2:3:4:5@<77:1>");
  mistake("123456789@<77:1>");
  mistake("@<77:1>");
}

TEST(NidText, AddressesInvalidForTheirTypeArePrintedRaw) {
  Nid odd = Nid::of(NetType::kO2ib, 1, 0x0a000001);
  odd.size = Nid::kLargeSize;
  EXPECT_EQ(text_of(odd), "a000001:0:0:0@<5:1>");
  EXPECT_EQ(nid(text_of(odd)), odd);
  const Nid lo7 = Nid::of(NetType::kLoopback, 7, 0);
  EXPECT_EQ(nid(text_of(lo7)), lo7);
}

TEST(NidText, WildcardsOnlyWhereAllowed) {
  mistake("*");
  mistake("<?>");
  mistake("*@tcp");
  EXPECT_EQ(parse_nid_or_any("*").value(), Nid::any());
  EXPECT_EQ(parse_nid_or_any("<?>").value(), Nid::any());
  const Nid all_tcp1 = parse_nid_or_any("*@tcp1").value();
  EXPECT_EQ(all_tcp1.net(), make_net(NetType::kTcp, 1));
  EXPECT_TRUE(is_any_on_net(all_tcp1));
  EXPECT_FALSE(is_any_on_net(Nid::any()));
  EXPECT_EQ(Nid::any().net(), kNetAny);
  EXPECT_EQ(parse_nid_or_any("10.0.0.1@tcp").value(), nid("10.0.0.1@tcp"));
  EXPECT_FALSE(parse_nid_or_any("*@foo").has_value());
}

TEST(NidText, Numbers) {
  EXPECT_EQ(nid("0X1A2@kfi").address32(), 0x1a2U);
  mistake("4294967296@kfi");
  mistake("-1@kfi");
  mistake("+1@kfi");
  mistake("0x@kfi");
  mistake(" 1@kfi");
  mistake("1@kfi65536");
  mistake("1@kfi 1");
  mistake("1@kfi-1");
}

TEST(NidText, AddressesThatLookAlmostRight) {
  mistake("");
  mistake("@");
  mistake("1.2.3.04@tcp");
  mistake("1.2.3.4@tcp@tcp");
  mistake("1.2.3.4@TCP");
  mistake("[2001:db8::1]@tcp");
  mistake("fe80::1%eth0@tcp");
  mistake(std::string("1.2.3.4\0@tcp", 12));
  mistake(std::string(100000, '1'));
}

TEST(NidText, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(mistake("1.2.3@tcp"),
            "column 1 of \"1.2.3@tcp\": expected an IPv4 or IPv6 address before \"@tcp\"");
  EXPECT_EQ(mistake("1.2.3.4@foo"),
            "column 9 of \"1.2.3.4@foo\": expected a network such as tcp or o2ib1; types are lo, "
            "tcp, o2ib, gni, gip, ptlf, kfi, efa, bxi3f");
  EXPECT_EQ(mistake("1.2.3.4@tcp65536"),
            "column 12 of \"1.2.3.4@tcp65536\": expected a network number, 0 to 65535, or nothing "
            "after \"tcp\"");
  EXPECT_EQ(mistake("\x1b[2J@tcp").find('\x1b'), std::string::npos);
}

TEST(NidText, ProcessIds) {
  const Nid peer = nid("10.0.0.1@tcp");
  EXPECT_EQ(parse_process_id("10.0.0.1@tcp").value(), (ProcessId{peer, kLustrePid}));
  EXPECT_EQ(parse_process_id("7-10.0.0.1@tcp").value(), (ProcessId{peer, 7}));
  EXPECT_EQ(parse_process_id("U7-10.0.0.1@tcp").value(), (ProcessId{peer, 7 | kPidUserFlag}));
  EXPECT_EQ(parse_process_id_or_any("LNET_PID_ANY-*").value(), (ProcessId{Nid::any(), kPidAny}));
  for (const std::string_view text : {"12345-10.0.0.1@tcp", "U12345-2001:db8::1@tcp3", "0-1@kfi"}) {
    EXPECT_EQ(text_of(parse_process_id(text).value()), text);
  }
  EXPECT_EQ(text_of(ProcessId{Nid::any(), kPidAny}), "LNET_PID_ANY-<?>");
  for (const std::string_view bad : {"-1@kfi", "U-1@kfi", "x-1@kfi", "2147483648-1@kfi",
                                     "U2147483647-1@kfi", "1-", "LNET_PID_ANY-1@kfi", "1-*"}) {
    EXPECT_FALSE(parse_process_id(bad).has_value()) << bad;
  }
}

TEST(Nid64, LargeNidsAreCutAndSaySo) {
  const Nid64 cut = to_nid64(nid("2001:db8::14@tcp1"));
  EXPECT_TRUE(cut.lossy);
  EXPECT_EQ(cut.value, 0x0002'0001'2001'0db8U);
  EXPECT_EQ(to_nid64(Nid::any()).value, kNid64Any);
  EXPECT_FALSE(to_nid64(Nid::any()).lossy);
  EXPECT_EQ(from_nid64(kNid64Any), Nid::any());
}

TEST(Nid, WellFormed) {
  EXPECT_TRUE(Nid::any().is_well_formed());
  Nid odd = nid("10.0.0.1@tcp");
  odd.address_be[4] = 1;  // beyond the four significant bytes
  EXPECT_FALSE(odd.is_well_formed());
  odd = nid("10.0.0.1@tcp");
  odd.size = 13;
  EXPECT_FALSE(odd.is_well_formed());
  odd = Nid::any();
  odd.size = 0;
  EXPECT_FALSE(odd.is_well_formed());
}

TEST(AddressText, HostLocal) {
  for (const std::string_view local :
       {"127.0.0.1", "127.9.9.9", "::1", "169.254.1.1", "fe80::1", "febf::1"}) {
    EXPECT_TRUE(is_host_local(parse_ip(local).value_or(IpAddress{}))) << local;
  }
  for (const std::string_view far : {"128.0.0.1", "::2", "169.253.1.1", "fec0::1", "::", "1::1"}) {
    EXPECT_FALSE(is_host_local(parse_ip(far).value_or(IpAddress::v4(0x7f000001)))) << far;
  }
}

}  // namespace
}  // namespace plnet::lnet::names_nid_text_test
