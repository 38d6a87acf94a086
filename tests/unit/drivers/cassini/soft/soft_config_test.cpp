// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/soft_config.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace plnet::cassini::soft::soft_config_test {
namespace {

TEST(SoftConfigFile, AnEmptyFileGivesTwoDevices) {
  const auto config = parse_soft_config("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->addresses, (std::vector<NicAddress>{0x100, 0x101}));
}

TEST(SoftConfigFile, DevicesAndAddresses) {
  const auto config = parse_soft_config(
      "# three of them\n\n devices = 3 \r\naddress.1=0x2b0 # the middle one\njoin = process");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->addresses, (std::vector<NicAddress>{0x100, 0x2b0, 0x102}));
}

TEST(SoftConfigFile, VnisAndStrictness) {
  EXPECT_FALSE(parse_soft_config("")->strict);
  EXPECT_TRUE(parse_soft_config("")->vnis.empty());
  const auto config = parse_soft_config("vnis = 1  10\nstrict = yes");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->vnis, (std::vector<std::uint16_t>{1, 10}));
  EXPECT_TRUE(config->strict);
}

TEST(SoftConfigFile, TrafficClasses) {
  EXPECT_EQ(parse_soft_config("")->traffic_classes, kAllTrafficClasses);
  const auto config = parse_soft_config("classes = best_effort dedicated_access");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->traffic_classes, 0b1001U);
}

TEST(SoftConfigFile, ServicesOfTheDevices) {
  const auto config = parse_soft_config(
      "vnis = 1 10\nservice.3.vnis = 8 9\nservice.3.users = 1000\nservice.3.groups = 5\n"
      "service.3.classes = bulk_data\nservice.2.vnis = 7\nservice.2.limits = eqs 10 txqs 2 tles "
      "1536");
  ASSERT_TRUE(config) << config.error();
  ASSERT_EQ(config->services.size(), 2U);
  const Service& few = config->services[0];
  EXPECT_EQ(few.id, 2U);
  EXPECT_TRUE(few.enabled && few.restricts_resources && !few.restricts_members);
  EXPECT_EQ(few.shares[static_cast<unsigned>(Resource::kEventQueues)].most, 10U);
  EXPECT_EQ(few.shares[static_cast<unsigned>(Resource::kTransmitQueues)].most, 2U);
  EXPECT_EQ(few.shares[static_cast<unsigned>(Resource::kTriggered)].kept, 1536U);
  const Service& one = config->services[1];
  EXPECT_EQ(one.vnis, (std::vector<std::uint16_t>{8, 9}));
  EXPECT_EQ(one.traffic_classes, 0b100U);
  EXPECT_TRUE(one.admits({.user = 1000, .group = 1}));
  EXPECT_TRUE(one.admits({.user = 1, .group = 5}));
  EXPECT_FALSE(one.admits({}));
}

TEST(SoftConfigFile, AFabricOfSeveralProcesses) {
  EXPECT_TRUE(parse_soft_config("join = process")->fabric.empty());
  const auto config = parse_soft_config("join = local  /run/fabric one ");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->fabric, "/run/fabric one");
  EXPECT_TRUE(config->state.empty());
  EXPECT_EQ(parse_soft_config("state = /run/rank")->state, "/run/rank");
}

TEST(SoftConfigFile, WhatIsWrongIsSaidWithItsLine) {
  for (const auto& [text, error] : std::initializer_list<std::pair<const char*, const char*>>{
           {"device = 3", "line 1: no such setting: device"},
           {"\n\ndevices", "line 3: not a line of the form name = value"},
           {"devices = 0", "line 1: devices is a number from 1 to 16, not 0"},
           {"devices = 17", "line 1: devices is a number from 1 to 16, not 17"},
           {"devices = two", "line 1: devices is a number from 1 to 16, not two"},
           {"devices =", "line 1: devices is a number from 1 to 16, not "},
           {"devices = 2\ndevices = 2", "line 2: devices is set a second time"},
           {"address.0 = 0", "line 1: a NIC address is 1 to 0xffffe, not 0"},
           {"address.0 = 0xfffff", "line 1: a NIC address is 1 to 0xffffe, not 0xfffff"},
           {"address.x = 1", "line 1: no such device: x"},
           {"address.16 = 1", "line 1: no such device: 16"},
           {"address.0 = 5\naddress.1 = 5", "line 2: another device has the address 5"},
           {"address.0 = 5\naddress.0 = 6", "line 2: the address of device 0 is set a second time"},
           {"address.2 = 5", "device 2 has an address, but there are 2 devices"},
           {"address.0 = 0x101",
            "two devices have the same address: devices without a setting count up from 0x100"},
           {"join = ethdev",
            "line 1: the devices are joined in this process (join = process) or with other "
            "processes by a directory (join = local /DIRECTORY), not ethdev"},
           {"join = local fabric",
            "line 1: the devices are joined in this process (join = process) or with other "
            "processes by a directory (join = local /DIRECTORY), not local fabric"},
           {"vnis = 0", "line 1: vnis are one to four numbers from 1 to 65535, not 0"},
           {"vnis = 1 2 3 4 5", "line 1: vnis are one to four numbers from 1 to 65535, not 5"},
           {"classes = bulk_data bulk",
            "line 1: classes are dedicated_access, low_latency, bulk_data and best_effort, not "
            "bulk"},
           {"classes = bulk_data\nclasses = bulk_data",
            "line 2: classes stands here a second time"},
           {"service.1.vnis = 8", "line 1: a service has a number from 2 to 16, not 1"},
           {"service.17.vnis = 8", "line 1: a service has a number from 2 to 16, not 17"},
           {"service = 8", "line 1: no such setting: service"},
           {"service.2 = 8", "line 1: not a setting of a service: "},
           {"service.2.vni = 8", "line 1: not a setting of a service: vni"},
           {"service.2.vnis = 8 x", "line 1: not a setting of a service: x"},
           {"service.2.users = 1 2 3", "line 1: not a setting of a service: 3"},
           {"service.2.limits = eqs", "line 1: not a setting of a service: a name at the end"},
           {"service.2.limits = eq 3", "line 1: not a setting of a service: eq"},
           {"service.2.limits = eqs 65536", "line 1: not a setting of a service: 65536"},
           {"service.2.users = 1", "service 2: it has no vnis"},
           {"vnis = 1 8\nservice.2.vnis = 8", "service 2: VNI 8 belongs to another service"},
           {"service.3.vnis = 8\nservice.2.vnis = 8",
            "service 3: VNI 8 belongs to another service"},
           {"service.2.vnis = 8\nservice.2.limits = tles 1000\nservice.3.vnis = 9\n"
            "service.3.limits = tles 537",
            "service 3: no 537 tles are left for it"},
           {"service.2.vnis = 8 8", "service 2: VNI 8 belongs to another service"},
           {"strict = maybe", "line 1: strict is yes or no, not maybe"},
           {"join = process\njoin = process", "line 2: join is set a second time"},
           {"state = here", "line 1: state is a /DIRECTORY, not here"},
           {"state = /a\nstate = /b", "line 2: state is set a second time"},
       }) {
    const auto config = parse_soft_config(text);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error(), error);
  }
}

}  // namespace
}  // namespace plnet::cassini::soft::soft_config_test
