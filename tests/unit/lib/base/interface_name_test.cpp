// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/interface_name.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plnet::interface_name_test {
namespace {

TEST(InterfaceName, AcceptsValidLinuxNames) {
  for (const char* name : {"lo", "eth0", "eth0:1", "enp1s0f0np0", "ib0.8001", "...", "e"}) {
    EXPECT_TRUE(is_interface_name(name)) << name;
  }
  EXPECT_TRUE(is_interface_name(std::string(kInterfaceNameMax, 'x')));
}

TEST(InterfaceName, RefusesInvalidLinuxNames) {
  for (const char* name :
       {"", ".", "..", "eth/", "et h0", "eth0\t", "eth0\n", "e\x7f", "e\xc3\xa4"}) {
    EXPECT_FALSE(is_interface_name(name)) << name;
  }
  EXPECT_FALSE(is_interface_name(std::string(kInterfaceNameMax + 1, 'x')));
}

}  // namespace
}  // namespace plnet::interface_name_test
