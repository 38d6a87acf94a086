// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/host_names.hpp"

#include <gtest/gtest.h>

#include "apps/lnetctl/find_socket.hpp"

namespace plnet::apps::host_names_test {
namespace {

std::optional<std::string> look_up(const std::string& host) {
  if (host == "mds1") return "10.0.0.5";
  if (host == "oss-2.site") return "10.0.0.6";
  return std::nullopt;
}

std::string resolved(std::string_view nids) {
  return with_addresses(nids, look_up).value();
}

TEST(HostNames, AreTakenWhereAnAddressIs) {
  EXPECT_EQ(resolved("mds1@tcp"), "10.0.0.5@tcp");
  EXPECT_EQ(resolved("mds1"), "10.0.0.5") << "the network is tcp then";
  EXPECT_EQ(resolved("oss-2.site@o2ib1"), "10.0.0.6@o2ib1");
  EXPECT_EQ(resolved("10.0.0.9@tcp,mds1@tcp1"), "10.0.0.9@tcp,10.0.0.5@tcp1");
}

TEST(HostNames, AllElseStaysAsItIs) {
  for (const char* const nids :
       {"", "*", "*@tcp", "10.0.0.1@tcp", "10.0.0.[1-4]@tcp", "0@lo", "fd00::1@tcp", "5@kfi",
        "mds1@kfi", "mds1@nowhere", "@tcp", "mds1[1-4]@tcp", "ma ds@tcp"}) {
    EXPECT_EQ(resolved(nids), nids);
  }
}

TEST(HostNames, OneThatIsNotKnownIsRefusedByName) {
  const auto refused = with_addresses("10.0.0.1@tcp,mds7@tcp", look_up);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().what.contains("no host 'mds7' is known")) << refused.error().what;
}

TEST(Sockets, AreFoundByTheNameThatSocketGaveThem) {
  constexpr std::string_view kTable =
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 1001 /tmp/site/r1.sock\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 1002 /tmp/site/r2.sock\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 1003 /tmp/other/r2.sock\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 1004 @/abstract/r1.sock\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 1005\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 1006 /tmp/site/xr1.sock";
  EXPECT_EQ(sockets_called("r1", kTable), std::vector<std::string>{"/tmp/site/r1.sock"});
  EXPECT_EQ(sockets_called("r2", kTable), std::vector<std::string>{"/tmp/site/r2.sock"});
  EXPECT_TRUE(sockets_called("r3", kTable).empty());
  EXPECT_TRUE(sockets_called("r1", "").empty());
}

}  // namespace
}  // namespace plnet::apps::host_names_test
