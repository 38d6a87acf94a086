// SPDX-License-Identifier: BSD-3-Clause
// Fault rules in a document.
#include <string>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::fault_settings_test {
namespace {

constexpr std::string_view kTwo =
    "fault:\n"
    "    - rule_type: drop\n"
    "      source: \"*@tcp\"\n"
    "      dest: 10.0.0.7@tcp\n"
    "      rate: 2\n"
    "      portal: 26,28\n"
    "      message: PUT\n"
    "      health_error: local_timeout,remote_dropped\n"
    "    - rule_type: delay\n"
    "      source: \"*\"\n"
    "      dest: \"*\"\n"
    "      interval: 5\n"
    "      latency: 3\n";

std::string refused(std::string_view text, const Settings& base = {}) {
  const auto read = read_settings(text, "f", base);
  return read ? "accepted" : read.error().list().front().summary();
}

TEST(FaultSettings, SurviveAnExportToTheByte) {
  const auto read = read_settings(kTwo, "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  ASSERT_EQ(read->lnet.faults.size(), 2U);
  EXPECT_EQ(read->lnet.faults[0].health_errors, 1U << 6 | 1U << 8);
  EXPECT_EQ(read->lnet.faults[1].latency_s, 3U);
  const std::string text = print_yaml(export_settings(*read, ExportForm::kBackup));
  EXPECT_TRUE(text.contains(kTwo)) << text;
  EXPECT_EQ(read_settings(text, "f")->lnet, read->lnet);
  EXPECT_EQ(read_settings(kTwo, "f", *read)->lnet, read->lnet) << "existing ones stay";
  EXPECT_TRUE(reset_settings(kTwo, "f", *read)->lnet.faults.empty());
}

TEST(FaultSettings, ReportErrorsWithTheirPlace) {
  const auto rule = [](std::string_view keys) {
    return refused("fault: [{source: '*', dest: '*', " + std::string(keys) + "}]");
  };
  EXPECT_EQ(rule("rate: 2, interval: 1"), "f:1:9: fault[0]: a rate or an interval, not both");
  EXPECT_EQ(rule("rate: 2, rule_type: delay"), "f:1:9: fault[0]: a delay needs a latency");
  EXPECT_TRUE(rule("rate: 2, message: PING").contains("expected PUT, ACK, GET or REPLY"));
  EXPECT_TRUE(rule("rate: 2, rule_type: loss").contains("expected drop or delay"));
  EXPECT_TRUE(rule("rate: 0").contains("expected a number from 1 to 2147483647"))
      << rule("rate: 0");
  EXPECT_TRUE(rule("rait: 2").contains("unknown key 'rait'"));
  EXPECT_EQ(rule("rate: 2, random: True"), "f:1:9: fault[0]: random needs an interval");
  EXPECT_EQ(refused("fault: [{source: '*', rate: 1}]"),
            "f:1:9: fault[0]: a rule needs both source and dest");
  EXPECT_EQ(refused("fault: [{source: '*', dest: '*', rate: 1}, "
                    "{source: '*', dest: '*', rate: 1}]"),
            "f:1:44: fault[1]: duplicate rule: the document already has the same");
  EXPECT_FALSE(reset_settings(kTwo, "f", Settings{}).has_value()) << "no such rules";
}

}  // namespace
}  // namespace plnet::runtime::fault_settings_test
