// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/settings_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "lib/runtime/config/settings_section.hpp"
#include "node/net/families.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::node::settings_files_test {
namespace {

class SettingsFilesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + name;
    std::ofstream(path) << text;
    paths_.push_back(path);
    return path;
  }
  void TearDown() override {
    for (const std::string& path : paths_)
      std::filesystem::remove(path);
  }

 private:
  std::vector<std::string> paths_;
};

TEST_F(SettingsFilesTest, NetworksOfTheCommandLineTakeThePlaceOfThoseOfFiles) {
  const std::string options =
      write("plnet-options", "options lnet ip2nets=\"tcp(eth0) 10.*.*.*\"\n");
  const std::string config =
      write("plnet-config", "net: [{net type: tcp, local NI(s): [{nid: '10.0.0.1@tcp'}]}]\n");
  const auto by_networks =
      read_settings_files({.program = "test", .config = config, .networks = "tcp7(lo)"});
  ASSERT_TRUE(by_networks) << by_networks.error().what;
  ASSERT_EQ(by_networks->lnet.nets.size(), 1U);
  EXPECT_EQ(by_networks->lnet.nets[0].nis[0].interfaces[0], "lo");
  const auto over_options =
      read_settings_files({.program = "test", .options = options, .networks = "tcp7(lo)"});
  ASSERT_TRUE(over_options) << over_options.error().what;
  EXPECT_EQ(over_options->lnet.ip2nets_text, "");
  const auto by_ip2nets =
      read_settings_files({.program = "test", .config = config, .ip2nets = "tcp3(eth1) 10.1.*.*"});
  ASSERT_TRUE(by_ip2nets) << by_ip2nets.error().what;
  EXPECT_TRUE(by_ip2nets->lnet.nets.empty());
  EXPECT_EQ(by_ip2nets->lnet.ip2nets_text, "tcp3(eth1) 10.1.*.*");
}

TEST_F(SettingsFilesTest, TheConfigurationAddsToTheOptions) {
  const std::string options =
      write("plnet-options", "options lnet accept_port=7988\noptions ksocklnd sock_timeout=20\n");
  const std::string config =
      write("plnet-config", "plnet: {module_options: {ksocklnd.conns_per_peer: 2}}\n");
  const auto read = read_settings_files({.program = "test", .config = config, .options = options});
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->lnet.module_option("lnet", "accept_port"), "7988");
  EXPECT_EQ(read->lnet.module_option("ksocklnd", "sock_timeout"), "20");
  EXPECT_EQ(read->lnet.module_option("ksocklnd", "conns_per_peer"), "2");
}

TEST_F(SettingsFilesTest, ErrorsAtStartAreReportedWithTheirPlace) {
  const auto refused = [this](const std::string& config, const std::string& options = {}) {
    const SettingsFiles files{.program = "test",
                              .config = write("plnet-config", config),
                              .options = write("plnet-options", options)};
    const auto read = read_settings_files(files);
    EXPECT_TRUE(read) << read.error().what;
    const auto able = check_startable(files, read.value_or(runtime::Settings{}), 2);
    return able ? std::string("it starts") : able.error().what.substr(::testing::TempDir().size());
  };
  const std::string credits =
      refused("plnet:\n  module_options:\n    ksocklnd.nagle: 0\n    ksocklnd.credits: lots\n");
  EXPECT_TRUE(credits.starts_with("plnet-config:4:5: options ksocklnd credits=lots: expected a "))
      << credits;
  EXPECT_EQ(refused("plnet: {module_options: {kkfilnd.traffic_class: x}}").substr(0, 18),
            "plnet-config:1:26:");
  EXPECT_EQ(refused("plnet: {module_options: {lnet.auto_down: 2}}").substr(0, 18),
            "plnet-config:1:26:");
  EXPECT_EQ(refused("", "options lnet accept=all\noptions ksocklnd tos=1 nagle=x\n").substr(0, 19),
            "plnet-options:2:24:");
  const std::string o2ib =
      refused("net:\n  - net type: o2ib\n    local NI(s):\n      - interfaces: {0: nosuch0}\n");
  EXPECT_TRUE(o2ib.starts_with("plnet-config:4:9: network o2ib: there is no interface nosuch0"))
      << o2ib;
  const std::string tcp =
      refused("net: [{net type: tcp, local NI(s): [{interfaces: {0: nosuch0}}]}]");
  EXPECT_EQ(tcp.substr(0, 18), "plnet-config:1:37:") << tcp;
  EXPECT_NE(tcp.find("there is no interface nosuch0"), std::string::npos) << tcp;
  EXPECT_NE(refused("net: [{net type: kfi, local NI(s): [{interfaces: {0: cxi7}}]}]")
                .find("interface cxi7 is not among those of `plnet: kfi: interfaces`"),
            std::string::npos);
  EXPECT_EQ(refused("net: [{net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}]\n"
                    "plnet: {kfi: {interfaces: [{name: cxi0}]}}\n"),
            "it starts")
      << "as far as can be told before the NIC is open";
  EXPECT_EQ(refused(""), "it starts");
}

TEST_F(SettingsFilesTest, ErrorsAfterReadingAreReportedWithTheirPlace) {
  const SettingsFiles files{
      .program = "test",
      .config = write("plnet-config", "plnet: {module_options: {lnet.auto_down: 2}}\n"),
  };
  const auto read = read_settings_files(files);
  ASSERT_TRUE(read) << read.error().what;
  const auto said = [&](const std::string& what) {
    return located_in_files(files, *read, {Errc::kInvalid, what}).what;
  };
  const auto able = check_startable({.program = "test"}, *read, 2);
  ASSERT_FALSE(able);
  EXPECT_EQ(said(able.error().what), files.config + ":1:26: " + able.error().what);
  EXPECT_EQ(said("CPU 3 is another's"), "CPU 3 is another's");
}

TEST_F(SettingsFilesTest, BothAtATimeOrNonsenseIsRefused) {
  const auto both =
      read_settings_files({.program = "test", .networks = "tcp(lo)", .ip2nets = "tcp 10.*.*.*"});
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().what.find("expected one of them"), std::string::npos);
  EXPECT_FALSE(read_settings_files({.program = "test", .networks = "tcp(lo"}));
  EXPECT_FALSE(read_settings_files({.program = "test", .networks = "tcp\"(lo)"}));
}

TEST(FamilySections, HaveTheNamesOfFamilies) {
  for (const runtime::SettingsSection* section : family_sections()) {
    EXPECT_TRUE(std::ranges::any_of(network_families(), [&](const NetworkFamily* family) {
      return family->name() == section->name;
    })) << section->name;
  }
}

}  // namespace
}  // namespace plnet::node::settings_files_test
