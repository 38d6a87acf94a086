// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/local_addresses.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

namespace plnet::runtime::local_addresses_test {
namespace {

// Every machine has a loopback interface, and nearly every IPv6 one has a link-local address.
TEST(LocalAddresses, AreThoseByWhichOthersFindThisMachine) {
  const auto addresses = local_addresses();
  ASSERT_TRUE(addresses.has_value());
  for (const LocalAddress& each : *addresses) {
    EXPECT_FALSE(each.interface.empty());
    EXPECT_NE(each.interface, "lo");
    EXPECT_TRUE(each.up);
    const bool loopback = !each.is_v6 && each.bytes_be[0] == 127;
    const bool link_local = each.is_v6 && each.bytes_be[0] == 0xfe && each.bytes_be[1] == 0x80;
    EXPECT_FALSE(loopback || link_local) << each.interface;
  }
  const auto all = local_addresses(true);
  ASSERT_TRUE(all.has_value());
  EXPECT_GE(all->size(), addresses->size());
}

// Netlink answers made by hand.
class Answers {
 public:
  void interface(int index, std::string_view name, unsigned flags) {
    const auto from = begin(RTM_NEWLINK, ifinfomsg{.ifi_index = index, .ifi_flags = flags});
    attribute(IFLA_IFNAME, std::string(name) + '\0');
    end(from);
  }
  // The flags in the attribute of newer systems; the header's field is too small for all of them.
  void v6(unsigned index, std::string_view ip, unsigned flags = 0) {
    const auto from = begin(RTM_NEWADDR, ifaddrmsg{.ifa_family = AF_INET6, .ifa_index = index});
    attribute(IFA_ADDRESS, ip);
    attribute(IFA_FLAGS, {reinterpret_cast<const char*>(&flags), sizeof flags});
    end(from);
  }
  void v4(unsigned index, std::string_view ip, std::string_view label, std::string_view peer) {
    const auto from =
        begin(RTM_NEWADDR,
              ifaddrmsg{.ifa_family = AF_INET, .ifa_flags = IFA_F_SECONDARY, .ifa_index = index});
    attribute(IFA_ADDRESS, peer);
    attribute(IFA_LOCAL, ip);
    attribute(IFA_LABEL, std::string(label) + '\0');
    end(from);
  }
  [[nodiscard]] std::span<const std::byte> told() const { return bytes_; }

 private:
  template <class Body>
  std::size_t begin(unsigned type, const Body& body) {
    const std::size_t from = bytes_.size();
    const nlmsghdr head{.nlmsg_type = static_cast<std::uint16_t>(type)};
    put({reinterpret_cast<const char*>(&head), sizeof head});
    put({reinterpret_cast<const char*>(&body), sizeof body});
    return from;
  }
  void attribute(unsigned type, std::string_view value) {
    const rtattr head{.rta_len = static_cast<unsigned short>(sizeof head + value.size()),
                      .rta_type = static_cast<unsigned short>(type)};
    put({reinterpret_cast<const char*>(&head), sizeof head});
    put(value);
  }
  void end(std::size_t from) {
    const auto length = static_cast<std::uint32_t>(bytes_.size() - from);
    std::memcpy(bytes_.data() + from, &length, sizeof length);
  }
  void put(std::string_view raw) {
    const auto bytes = std::as_bytes(std::span(raw));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
  }
  std::vector<std::byte> bytes_;
};

std::string v6(unsigned char last, unsigned char first = 0xfd) {
  std::string ip(16, '\0');
  ip.front() = static_cast<char>(first);
  ip[1] = static_cast<char>(0x80);
  ip.back() = static_cast<char>(last);
  return ip;
}

std::string v4(unsigned char last) {
  return {10, 0, 0, static_cast<char>(last)};
}

using Seen = std::vector<std::pair<std::string, int>>;  // interface, and last byte of the address

Seen seen(const Answers& answers, bool all) {
  Seen list;
  for (const LocalAddress& each : local_addresses_in(answers.told(), all))
    list.emplace_back(each.interface, each.bytes_be[each.is_v6 ? 15 : 3]);
  return list;
}

constexpr unsigned kRuns = IFF_UP | IFF_RUNNING;

TEST(LocalAddresses, TemporaryAddressesAreNotUsed) {
  Answers told;
  told.v6(2, v6(1), IFA_F_TEMPORARY);
  told.v6(2, v6(2), IFA_F_MANAGETEMPADDR);
  told.interface(2, "eth0", kRuns);
  EXPECT_EQ(seen(told, false), (Seen{{"eth0", 2}}));
  EXPECT_EQ(seen(told, true), (Seen{{"eth0", 1}, {"eth0", 2}})) << "its holder may continue";
}

TEST(LocalAddresses, DeprecatedOnesComeLastAndAllElseInTheSystemsOrder) {
  Answers told;
  told.v4(3, v4(9), "eth1", v4(9));
  told.v6(2, v6(1), IFA_F_DEPRECATED);
  told.v6(2, v6(2), IFA_F_PERMANENT);
  told.v6(3, v6(3), IFA_F_PERMANENT | IFA_F_DEPRECATED);
  told.v6(3, v6(4), IFA_F_NOPREFIXROUTE);
  told.interface(2, "eth0", kRuns);
  told.interface(3, "eth1", kRuns);
  EXPECT_EQ(seen(told, false),
            (Seen{{"eth1", 9}, {"eth0", 2}, {"eth1", 4}, {"eth0", 1}, {"eth1", 3}}));
}

TEST(LocalAddresses, DuplicateAddressesAreNotOurs) {
  Answers told;
  told.v6(2, v6(1), IFA_F_PERMANENT | IFA_F_TENTATIVE | IFA_F_DADFAILED);
  told.interface(2, "eth0", kRuns);
  EXPECT_EQ(seen(told, true), Seen{});
}

// Duplicate address detection begins with the link and takes seconds.
TEST(LocalAddresses, TentativeAddressesExistButDoNotRun) {
  Answers told;
  told.v6(2, v6(1), IFA_F_PERMANENT | IFA_F_TENTATIVE);
  told.v6(2, v6(2), IFA_F_PERMANENT | IFA_F_TENTATIVE | IFA_F_OPTIMISTIC);
  told.v6(2, v6(3), IFA_F_PERMANENT);
  told.v6(3, v6(4), IFA_F_PERMANENT);
  told.interface(2, "eth0", kRuns);
  told.interface(3, "eth1", IFF_UP);
  std::vector<bool> run;
  for (const LocalAddress& each : local_addresses_in(told.told(), false))
    run.push_back(each.running);
  EXPECT_EQ(run, (std::vector{false, true, true, false}));
}

TEST(LocalAddresses, IPv4FlagsAreIgnoredAndLabelsAreNames) {
  Answers told;
  told.interface(2, "eth0", kRuns);
  told.interface(4, "ppp0", IFF_POINTOPOINT);
  told.v4(2, v4(1), "eth0:1", v4(1));
  told.v4(4, v4(2), "ppp0", v4(77));
  EXPECT_EQ(seen(told, false), (Seen{{"eth0:1", 1}}));
  EXPECT_EQ(seen(told, true), (Seen{{"eth0:1", 1}, {"ppp0", 2}}));
  const auto addresses = local_addresses_in(told.told(), true);
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_TRUE(addresses[0].up && addresses[0].running);
  EXPECT_FALSE(addresses[1].up || addresses[1].running);
}

TEST(LocalAddresses, LoopbackLinkLocalAndUnassignedAddressesAreOmitted) {
  Answers told;
  told.v6(1, v6(1));
  told.v6(2, v6(2, 0xfe));
  told.v6(2, v6(3));
  told.v6(7, v6(4));
  told.v6(2, "too short");
  told.interface(1, "lo", kRuns | IFF_LOOPBACK);
  told.interface(2, "eth0", kRuns);
  EXPECT_EQ(seen(told, false), (Seen{{"eth0", 3}}));
  EXPECT_EQ(seen(told, true), (Seen{{"lo", 1}, {"eth0", 3}})) << "who uses one has said so";
  EXPECT_TRUE(local_addresses_in(told.told(), true)[0].loopback);
}

TEST(LocalAddresses, InvalidAnswersAreNotRead) {
  Answers told;
  told.interface(2, "eth0", kRuns);
  told.v6(2, v6(1));
  const auto whole = told.told();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(local_addresses_in(whole.first(length), true).empty()) << length;
  // With each length field wrong: no read past the end.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned wrong : {0U, 1U, 0xffU}) {
      std::vector<std::byte> spoilt(whole.begin(), whole.end());
      spoilt[at] = static_cast<std::byte>(wrong);
      EXPECT_LE(local_addresses_in(spoilt, true).size(), 1U);
    }
  }
}

}  // namespace
}  // namespace plnet::runtime::local_addresses_test
