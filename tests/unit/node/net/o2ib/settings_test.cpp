// SPDX-License-Identifier: BSD-3-Clause
// Includes the options of the kernel's module, and exports of the kernel's lnetctl.
#include "node/net/o2ib/settings.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lib/o2iblnd/tunables.hpp"
#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::node::o2ib_settings_test {
namespace {

using runtime::read_settings;

// `lnetctl export --backup` of a kernel node (2.17).
constexpr std::string_view kKernelExport = R"(net:
    - net type: o2ib
      local NI(s):
        - interfaces:
              0: ib0
          tunables:
              peer_timeout: 180
              peer_credits: 32
              peer_buffer_credits: 0
              credits: 256
          lnd tunables:
              peercredits_hiw: 16
              map_on_demand: 1
              concurrent_sends: 64
              fmr_pool_size: 512
              fmr_flush_trigger: 384
              fmr_cache: 1
              ntx: 512
              conns_per_peer: 1
              timeout: 50
              tos: -1
          CPT: "[0,1]"
)";

std::string exported(const runtime::Settings& settings) {
  return runtime::print_yaml(export_settings(settings, runtime::ExportForm::kBackup));
}

std::string wrong(const std::string& keys) {
  const auto read = read_settings("plnet: {o2ib: {" + keys + "}}\n", "f");
  EXPECT_FALSE(read.has_value()) << keys;
  return read ? std::string() : read.error().text();
}

TEST(O2ibSettings, AreExportedAsTheyAreRead) {
  const auto read = read_settings("plnet: {o2ib: {connections: 2048, nis: 3}}\n", "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  const O2ibSettings expected{.connections = 2048, .nis = 3};
  EXPECT_EQ(read->sections.of<O2ibSettings>(), expected);
  const auto again = read_settings(exported(*read), "g");
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(again->sections.of<O2ibSettings>(), expected);
}

TEST(O2ibSettings, InvalidSettingsAreReportedWithTheirBounds) {
  EXPECT_NE(wrong("connections: 8").find("16"), std::string::npos);
  EXPECT_NE(wrong("nis: 17").find("16"), std::string::npos);
  EXPECT_NE(wrong("queue_depth: 8").find("f:1:"), std::string::npos);
}

TEST(O2ibSettings, AnExportOfAKernelNodeIsExportedWithTheSameBytes) {
  const auto read = read_settings(kKernelExport, "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  const std::string once = exported(*read);
  const auto again = read_settings(once, "g");
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(exported(*again), once);
  for (const char* const line : {"peercredits_hiw: 16", "concurrent_sends: 64", "fmr_cache: 1",
                                 "peer_credits: 32", "tos: -1"})
    EXPECT_NE(once.find(line), std::string::npos) << line;
}

TEST(O2ibSettings, EachOptionOfTheKernelsModuleIsKept) {
  std::string line = "options ko2iblnd ipif_name=ib1";
  for (const o2iblnd::TunableInfo& info : o2iblnd::tunable_table())
    line += " " + std::string(info.name) + "=" + std::to_string(info.initial);
  const auto read = runtime::read_module_options(line + "\n", "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_TRUE(read->notes.empty()) << read->notes.front();
  EXPECT_EQ(read->config.module_option("ko2iblnd", "ipif_name"), "ib1");
  EXPECT_EQ(read->config.module_option("ko2iblnd", "peer_credits"), "8");
}

}  // namespace
}  // namespace plnet::node::o2ib_settings_test
