// SPDX-License-Identifier: BSD-3-Clause
// Includes the options of the kernel's module.
#include "node/net/kfi/settings.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::node::kfi_settings_test {
namespace {

constexpr std::string_view kBoth = R"(plnet:
    kfi:
        library: /opt/libcxi.so.1
        interfaces:
            - name: cxi0
              service: 3
            - name: soft0
              backend: soft
              port: "net_memif0,role=server,id=0,socket=/run/x.sock"
              address: 0x1a2
              mtu: 9000
            - name: shm0
              backend: ofi
              provider: shm
              address: 7
            - name: net0
              backend: ofi
              provider: net
              ip: 10.0.0.7
              nis: 4
)";

using runtime::read_settings;

const KfiSettings& kfi_of(const runtime::Settings& settings) {
  return settings.sections.of<KfiSettings>();
}

std::string wrong(const std::string& interfaces) {
  const auto read = read_settings("plnet: {kfi: {interfaces: [" + interfaces + "]}}\n", "f");
  EXPECT_FALSE(read.has_value()) << interfaces;
  return read ? std::string() : read.error().text();
}

TEST(KfiSettings, SayWhichNicsThereAreAndWhereThatStands) {
  const auto read = read_settings(kBoth, "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(kfi_of(*read).library, "/opt/libcxi.so.1");
  ASSERT_EQ(kfi_of(*read).interfaces.size(), 4U);
  const KfiInterface& hardware = kfi_of(*read).interfaces[0];
  EXPECT_EQ(hardware.backend, KfiBackend::kLibcxi);
  EXPECT_EQ(hardware.service, 3U);
  EXPECT_EQ(hardware.address, -1);
  EXPECT_EQ(hardware.origin.place, "f:5:15");
  const KfiInterface& soft = kfi_of(*read).interfaces[1];
  EXPECT_EQ(soft.backend, KfiBackend::kSoft);
  EXPECT_EQ(soft.address, 0x1a2);
  EXPECT_EQ(soft.mtu, 9000U);
  EXPECT_EQ(soft.origin.place, "f:7:15");
  EXPECT_EQ(kfi_of(*read).interfaces[2].backend, KfiBackend::kOfi);
  EXPECT_EQ(kfi_of(*read).interfaces[2].provider, "shm");
  EXPECT_EQ(kfi_of(*read).interfaces[2].address, 7);
  EXPECT_EQ(kfi_of(*read).interfaces[3].ip, "10.0.0.7");
  EXPECT_EQ(kfi_of(*read).interfaces[3].nis, 4U);
  EXPECT_EQ(hardware.nis, 0U);
}

TEST(KfiSettings, AreExportedAsTheyAreRead) {
  const auto read = read_settings(kBoth, "f");
  ASSERT_TRUE(read.has_value());
  const auto again =
      read_settings(runtime::print_yaml(export_settings(*read, runtime::ExportForm::kBackup)), "g");
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(kfi_of(*again), kfi_of(*read));
}

TEST(KfiSettings, InvalidSettingsAreReportedWithTheirPlace) {
  EXPECT_NE(wrong("{name: a, backend: soft}").find("f:1:"), std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: soft}").find("without a port"), std::string::npos);
  EXPECT_NE(wrong("{backend: soft, port: net_memif0}").find("no name"), std::string::npos);
  EXPECT_NE(wrong("{name: a, port: net_memif0}").find("backend: soft"), std::string::npos);
  EXPECT_NE(wrong("{name: a, address: 7}").find("backend: soft"), std::string::npos);
  EXPECT_NE(wrong("{name: a}, {name: a}").find("twice"), std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: soft, port: 'p0,x=1'}, {name: b, backend: soft, port: p0}")
                .find("another interface"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: soft, port: p0, address: 0xfffff}").find("1048574"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: soft, port: 'p0 --file-prefix=x'}").find("expected DRIVER"),
            std::string::npos);
  EXPECT_NE(wrong("{name: '../cxi0'}").find("name"), std::string::npos);
  EXPECT_NE(wrong("{name: a, nis: 17}").find("16"), std::string::npos);
}

TEST(KfiSettings, InvalidLibfabricSettingsAreReportedWithTheirPlace) {
  EXPECT_NE(wrong("{name: a, backend: ofi}").find("without a provider"), std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: ofi, provider: shm}").find("needs an address"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: ofi, provider: shm, address: 1, ip: 1.2.3.4}").find("no ip"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: ofi, provider: net, address: 1}").find("needs an ip"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: ofi, provider: net, ip: here}").find("10.0.0.7"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, backend: ofi, provider: shm, address: 1, port: p0}").find("soft"),
            std::string::npos);
  EXPECT_NE(wrong("{name: a, provider: shm}").find("backend: ofi"), std::string::npos);
}

TEST(KfiSettings, OptionsOfTheKernelsModuleAreKept) {
  const auto read = runtime::read_module_options(
      "options kkfilnd credits=128 traffic_class=bulk_data never=1\n", "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->config.module_option("kkfilnd", "credits"), "128");
  EXPECT_EQ(read->config.module_option("kkfilnd", "traffic_class"), "bulk_data");
  ASSERT_EQ(read->notes.size(), 1U);
  EXPECT_NE(read->notes[0].find("never"), std::string::npos);
}

}  // namespace
}  // namespace plnet::node::kfi_settings_test
