// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/useless_option.hpp"

#include <gtest/gtest.h>

#include "lib/kfilnd/tunables.hpp"
#include "lib/o2iblnd/tunables.hpp"
#include "lib/socklnd/tunables.hpp"
#include "node/net/families.hpp"

namespace plnet::node::useless_option_test {
namespace {

std::string why(std::string_view name) {
  return why_useless(network_families(), name);
}

TEST(UselessOption, ExplainsWhy) {
  EXPECT_EQ(why("lnet.portal_rotor"), "a PUT goes to the shard whose buffer matches it");
  EXPECT_EQ(why("portal_rotor"), "a PUT goes to the shard whose buffer matches it");
  EXPECT_EQ(why("ksocklnd.protocol"), "each connection agrees on its version with the peer");
  EXPECT_EQ(why("ksocklnd.nconnds"), "nothing blocks on a connect");
  EXPECT_EQ(why("nconnds"), "nothing blocks on a connect");
  for (const char* const name :
       {"ksocklnd.portal_rotor", "ko2iblnd.nconnds", "sock_timeout", "ksocklnd.", "", ".", "x.y"})
    EXPECT_EQ(why(name), "") << name;
}

// The table of each LND names the LND's options without effect.
TEST(UselessOption, IsEachThatItsLndIgnores) {
  const auto check = [](std::string_view module, const auto& table) {
    for (const auto& info : table) {
      const std::string name = std::string(module) + "." + std::string(info.name);
      EXPECT_EQ(!why(name).empty(), info.ignored()) << name;
    }
  };
  check("ksocklnd", socklnd::tunable_table());
  check("ko2iblnd", o2iblnd::tunable_table());
  check("kkfilnd", kfilnd::tunable_table());
}

TEST(UselessOption, IsNotedWhenItIsNew) {
  const lnet::NodeConfig now{.module_options = {{"ksocklnd", "nscheds", "2"}}};
  lnet::NodeConfig wanted = now;
  wanted.module_options.push_back({"ksocklnd", "sock_timeout", "20"});
  EXPECT_TRUE(notes_of_useless_options(network_families(), wanted, now).empty());
  wanted.module_options.push_back({"lnet", "lock_prim_nid", "0"});
  wanted.module_options.push_back({"kkfilnd", "wq_max_active", "16"});
  EXPECT_EQ(notes_of_useless_options(network_families(), wanted, now),
            (std::vector<std::string>{
                "option lnet.lock_prim_nid has no effect here: no Lustre client or server here "
                "names primary NIDs",
                "option kkfilnd.wq_max_active has no effect here: shards do the work"}));
}

}  // namespace
}  // namespace plnet::node::useless_option_test
