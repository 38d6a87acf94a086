// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/udsp_range.hpp"

namespace plnet::lnet::names_nid_range_test {
namespace {

NidRangeList ranges(std::string_view text) {
  const auto parsed = NidRangeList::parse(text);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().what);
  return parsed.value_or(NidRangeList{});
}

bool match(std::string_view range, std::string_view nid) {
  return ranges(range).matches(parse_nid(nid).value());
}

std::vector<std::string> expanded(std::string_view text, std::size_t max = kNidsPerOperationMax) {
  std::vector<std::string> texts;
  const auto nids = ranges(text).expand(max);
  EXPECT_TRUE(nids.has_value()) << text;
  if (!nids) return texts;
  for (const Nid& nid : *nids)
    texts.push_back(text_of(nid));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(NidRange, Matching) {
  EXPECT_TRUE(match("*@tcp", "10.0.0.1@tcp"));
  EXPECT_TRUE(match("*@tcp", "2001:db8::1@tcp"));
  EXPECT_FALSE(match("*@tcp", "10.0.0.1@tcp1"));
  EXPECT_FALSE(match("*@tcp", "10.0.0.1@o2ib"));
  EXPECT_TRUE(match("10.0.[1-9/2].*@o2ib3", "10.0.7.200@o2ib3"));
  EXPECT_FALSE(match("10.0.[1-9/2].*@o2ib3", "10.0.8.200@o2ib3"));
  EXPECT_TRUE(match("10.0.0.[1,7,9-11]@tcp", "10.0.0.10@tcp"));
  EXPECT_FALSE(match("10.0.0.[1,7,9-11]@tcp", "10.0.0.8@tcp"));
  EXPECT_TRUE(match("[22-25]@gni", "24@gni"));
  EXPECT_TRUE(match("4294967295@kfi", "0xffffffff@kfi"));
  EXPECT_TRUE(match("192.168.128.0/17@tcp", "192.168.200.1@tcp"));
  EXPECT_FALSE(match("192.168.128.0/17@tcp", "192.168.100.1@tcp"));
  EXPECT_TRUE(match("2001:db8::/33@efa", "2001:db8:7fff::1@efa"));
  EXPECT_FALSE(match("2001:db8::/33@efa", "2001:db8:8000::1@efa"));
  EXPECT_TRUE(match("2001:db8::1@tcp", "2001:db8::1@tcp"));
  EXPECT_FALSE(match("2001:db8::1@tcp", "2001:db8::2@tcp"));
  EXPECT_FALSE(match("32.1.13.184@tcp", "2001:db8::1@tcp"));  // the kernel matches it
  EXPECT_FALSE(ranges("*@tcp").matches(Nid::any()));
  EXPECT_TRUE(match("1@kfi 10.0.0.1@tcp,2@kfi", "2@kfi"));
}

TEST(NidRange, ExpandsTheRightmostPartFastest) {
  EXPECT_EQ(
      expanded("[13-14/1].[13-15/2].13.13@o2ib"),
      (Texts{"13.13.13.13@o2ib", "13.15.13.13@o2ib", "14.13.13.13@o2ib", "14.15.13.13@o2ib"}));
  EXPECT_EQ(expanded("[22-23,7]@gni"), (Texts{"22@gni", "23@gni", "7@gni"}));
  EXPECT_EQ(expanded("1.1.1.[1-2]@tcp 2.2.2.2@tcp1"),
            (Texts{"1.1.1.1@tcp", "1.1.1.2@tcp", "2.2.2.2@tcp1"}));
  EXPECT_EQ(expanded("10.0.0.7/30@tcp"),
            (Texts{"10.0.0.4@tcp", "10.0.0.5@tcp", "10.0.0.6@tcp", "10.0.0.7@tcp"}));
  EXPECT_EQ(expanded("2001:db8::ff/127@tcp"), (Texts{"2001:db8::fe@tcp", "2001:db8::ff@tcp"}));
  EXPECT_EQ(expanded("2001:db8::9@tcp"), (Texts{"2001:db8::9@tcp"}));
}

TEST(NidRange, ExpansionIsBounded) {
  EXPECT_EQ(expanded("10.0.0.[1-128]@tcp").size(), 128U);
  for (const std::string_view text :
       {"10.0.0.[1-129]@tcp", "*@tcp", "*.*.*.*@tcp", "[0-4294967295]@kfi", "10.0.0.0/8@tcp",
        "::/1@tcp", "2001:db8::/64@tcp", "10.0.0.[1-100]@tcp 10.0.1.[1-29]@tcp"}) {
    const auto nids = ranges(text).expand(128);
    ASSERT_FALSE(nids.has_value()) << text;
    EXPECT_EQ(nids.error().code, Errc::kTooBig);
  }
  // 65536 repetitions of each part: the product must not overflow.
  std::string part = "[*";
  for (int i = 0; i < 255; ++i)
    part += ",*";
  part += ']';
  const std::string text = part + '.' + part + '.' + part + '.' + part + "@tcp";
  EXPECT_FALSE(ranges(text).expand(1000).has_value());
}

TEST(NidRange, PrintsWhatItRead) {
  for (const std::string_view text :
       {"*@tcp", "10.0.[1-9/2].3@o2ib3", "[22-25]@gni 7@kfi", "10.0.0.[1,7,9-11]@tcp",
        "192.168.0.0/16@tcp", "2001:db8::/32@efa", "2001:db8::1@tcp", "0@lo"}) {
    EXPECT_EQ(ranges(text).text(), text);
  }
  EXPECT_EQ(ranges("10.*.0.0@tcp0,  1@kfi").text(), "10.[0-255].0.0@tcp 1@kfi");
  EXPECT_EQ(ranges("10.0.0.1/32@tcp").text(), "10.0.0.1@tcp");
  EXPECT_EQ(ranges("[ 1 - 4 / 2 , 0x10]@kfi").text(), "[1-4/2,16]@kfi");
  EXPECT_EQ(ranges("010.0.0.1@tcp").text(), "8.0.0.1@tcp");  // octal, as in the kernel
}

TEST(NidRange, Mistakes) {
  for (const std::string_view text : {"",
                                      " ",
                                      ",",
                                      "tcp",
                                      "@tcp",
                                      "10.0.0@tcp",
                                      "10.0.0.1.2@tcp",
                                      "10.0.0.256@tcp",
                                      "10.0.0.[1-256]@tcp",
                                      "10.0.0.[2-1]@tcp",
                                      "10.0.0.[1-9/0]@tcp",
                                      "10.0.0.[]@tcp",
                                      "10.0.0.[1,]@tcp",
                                      "10.0.0.[1@tcp",
                                      "10.0.0.1]@tcp",
                                      "10.0.0.1-2@tcp",
                                      "10.0.0.08@tcp",
                                      "10.0.0.0/0@tcp",
                                      "10.0.0.0/33@tcp",
                                      "10.0.0.0/@tcp",
                                      "10.0.0.0/8x@tcp",
                                      "::/129@tcp",
                                      "::1@o2ib",
                                      "1.2.3.4/8@kfi",
                                      "4294967296@kfi",
                                      "1.2.3.4@kfi",
                                      "1@lo",
                                      "1@<77:1>",
                                      "1@kfi@"}) {
    const auto parsed = NidRangeList::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_TRUE(parsed.error().what.starts_with("column ")) << parsed.error().what;
  }
  EXPECT_EQ(NidRangeList::parse("1@kfi 10.0.[1-300].1@tcp").error().what,
            "column 15 of \"1@kfi 10.0.[1-300].1@tcp\": expected an address part, 0 to 255");
  EXPECT_FALSE(NidRangeList::parse(std::string(kNamesTextMax + 1, ' ')).has_value());
}

// A model without ranges: the set of the values of each part.
struct Model {
  std::string text;
  std::vector<std::set<unsigned>> parts;
  std::vector<std::vector<unsigned>> in_order;
};

void add_part(Random& random, Model& model, unsigned max) {
  std::set<unsigned> values;
  std::vector<unsigned> in_order;
  std::string text = "[";
  const auto items = random.between(1, 4);
  for (std::uint64_t i = 0; i < items; ++i) {
    const auto low = static_cast<unsigned>(random.below(max + 1));
    const auto high = static_cast<unsigned>(random.between(low, std::min(max, low + 9)));
    const auto stride = static_cast<unsigned>(random.between(1, 4));
    if (i > 0) text += ',';
    text += std::to_string(low);
    if (high > low || random.chance(0.3)) {
      text += '-' + std::to_string(high);
      if (stride > 1) text += '/' + std::to_string(stride);
    }
    for (unsigned value = low; value <= high; value += stride) {
      values.insert(value);
      in_order.push_back(value);
    }
  }
  model.text += (model.text.empty() ? "" : ".") + text + ']';
  model.parts.push_back(values);
  model.in_order.push_back(in_order);
}

TEST(NidRange, AgreesWithASlowModel) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    Model model;
    for (int part = 0; part < 4; ++part)
      add_part(random, model, 255);
    const auto list = ranges(model.text + "@tcp5");
    for (int probe = 0; probe < 200; ++probe) {
      // Half of the parts match, so that whole addresses sometimes do.
      std::uint32_t address = 0;
      bool expected = true;
      for (const auto& values : model.parts) {
        auto value = static_cast<unsigned>(random.below(256));
        if (random.chance(0.8)) {
          auto chosen = values.begin();
          std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(values.size())));
          value = *chosen;
        }
        expected = expected && values.contains(value);
        address = address << 8 | value;
      }
      ASSERT_EQ(list.matches(Nid::of(NetType::kTcp, 5, address)), expected)
          << model.text << ' ' << text_of(Nid::of(NetType::kTcp, 5, address));
    }
    std::vector<Nid> slow;
    for (const unsigned a : model.in_order[0]) {
      for (const unsigned b : model.in_order[1]) {
        for (const unsigned c : model.in_order[2]) {
          for (const unsigned d : model.in_order[3])
            slow.push_back(Nid::of(NetType::kTcp, 5, a << 24 | b << 16 | c << 8 | d));
        }
      }
    }
    const auto fast = list.expand(slow.size());
    ASSERT_TRUE(fast.has_value());
    ASSERT_EQ(*fast, slow);
    ASSERT_FALSE(list.expand(slow.size() - 1).has_value());
    ASSERT_EQ(ranges(list.text()), list) << list.text();
  }
}

TEST(NidRange, PrefixesAgreeWithComparingBits) {
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    const bool v6 = random.chance(0.5);
    IpAddress base;
    base.size = v6 ? 16 : 4;
    for (std::size_t i = 0; i < base.size; ++i)
      base.bytes_be[i] = static_cast<std::uint8_t>(random.next());
    const auto bits = static_cast<unsigned>(random.between(1, base.size * 8UL));
    const auto list = ranges(text_of(base) + '/' + std::to_string(bits) + "@tcp");
    IpAddress probe = base;
    const auto flipped = static_cast<unsigned>(random.below(base.size * 8UL));
    probe.bytes_be[flipped / 8] =
        static_cast<std::uint8_t>(probe.bytes_be[flipped / 8] ^ 0x80U >> flipped % 8);
    ASSERT_EQ(list.matches(nid_of(make_net(NetType::kTcp), probe)), flipped >= bits);
  }
}

TEST(UdspRange, Networks) {
  const auto net = UdspRange::parse("tcp[1-3,7]").value();
  EXPECT_TRUE(net.is_net_only());
  EXPECT_TRUE(net.matches_net(make_net(NetType::kTcp, 2)));
  EXPECT_TRUE(net.matches_net(make_net(NetType::kTcp, 7)));
  EXPECT_FALSE(net.matches_net(make_net(NetType::kTcp, 4)));
  EXPECT_FALSE(net.matches_net(make_net(NetType::kO2ib, 2)));
  EXPECT_FALSE(net.matches(parse_nid("1.2.3.4@tcp2").value()));
  const auto zero = UdspRange::parse("o2ib").value();
  EXPECT_TRUE(zero.matches_net(make_net(NetType::kO2ib)));
  EXPECT_FALSE(zero.matches_net(make_net(NetType::kO2ib, 1)));
  EXPECT_TRUE(UdspRange::parse("kfi*").value().matches_net(make_net(NetType::kKfi, 65535)));
  EXPECT_FALSE(zero.matches_net(kNetAny));
}

TEST(UdspRange, Nids) {
  const auto some = UdspRange::parse("10.0.0.[1-4]@tcp[1-2]").value();
  EXPECT_TRUE(some.matches(parse_nid("10.0.0.3@tcp2").value()));
  EXPECT_FALSE(some.matches(parse_nid("10.0.0.3@tcp").value()));
  EXPECT_FALSE(some.matches(parse_nid("10.0.0.5@tcp2").value()));
  // Only the first four bytes of a large NID are compared, as in the kernel.
  const auto head = UdspRange::parse("32.1.13.184@tcp").value();
  EXPECT_TRUE(head.matches(parse_nid("2001:db8::99@tcp").value()));
  const auto prefix = UdspRange::parse("2001:db8::/64@tcp").value();
  EXPECT_TRUE(prefix.matches(parse_nid("2001:db8::99@tcp").value()));
  EXPECT_FALSE(prefix.matches(parse_nid("2001:db8:1::99@tcp").value()));
  for (const std::string_view text :
       {"tcp", "tcp3", "tcp[1-3]", "10.0.0.[1-4]@tcp[1-3]", "*@kfi"}) {
    EXPECT_EQ(UdspRange::parse(text).value().text(), text);
  }
  for (const std::string_view bad :
       {"", "foo", "tcp[", "tcp[1-65536]", "tcpx", "@tcp", "1.2.3@tcp", "lo1", "tcp*[1]"}) {
    EXPECT_FALSE(UdspRange::parse(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace plnet::lnet::names_nid_range_test
