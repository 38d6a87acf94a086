// SPDX-License-Identifier: BSD-3-Clause
// Access rules in a document.
#include <string>

#include <gtest/gtest.h>

#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::access_settings_test {
namespace {

constexpr std::string_view kTwo =
    "access:\n"
    "    - action: allow\n"
    "      for: connect\n"
    "      source: 10.0.[0-3].[0-255]@tcp\n"
    "    - action: deny\n"
    "      for: all\n"
    "      from: tcp\n"
    "      to: o2ib\n";

TEST(AccessSettings, SurviveAnExportToTheByte) {
  const auto read = read_settings(kTwo, "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  ASSERT_EQ(read->lnet.access.size(), 2U);
  EXPECT_EQ(read->lnet.access[0].use, lnet::AccessUse::kConnect);
  const std::string text = print_yaml(export_settings(*read, ExportForm::kBackup));
  EXPECT_TRUE(text.contains(kTwo)) << text;
  EXPECT_EQ(read_settings(text, "f")->lnet, read->lnet);
}

TEST(AccessSettings, RulesOfADocumentReplaceExistingOnes) {
  const auto base = read_settings(kTwo, "f");
  ASSERT_TRUE(base.has_value());
  const auto other = read_settings("access: [{action: deny}]", "f", *base);
  ASSERT_TRUE(other.has_value()) << other.error().text();
  EXPECT_EQ(other->lnet.access, (std::vector{lnet::AccessRule{}})) << "their order counts";
  EXPECT_EQ(read_settings("global: {discovery: 1}", "f", *base)->lnet.access, base->lnet.access);
  EXPECT_TRUE(read_settings("access: []", "f", *base)->lnet.access.empty());
  EXPECT_TRUE(reset_settings(kTwo, "f", *base)->lnet.access.empty());
}

TEST(AccessSettings, ReportErrorsWithTheirPlace) {
  const auto refused = [](std::string_view keys) {
    const auto read = read_settings("access: [{" + std::string(keys) + "}]", "f");
    return read ? "accepted" : read.error().list().front().summary();
  };
  EXPECT_TRUE(refused("action: permit").contains("expected allow or deny"))
      << refused("action: permit");
  EXPECT_TRUE(refused("for: ping").contains("expected all, connect or forward"));
  EXPECT_TRUE(refused("source: here").starts_with("f:1:19: access[0].source: "))
      << refused("source: here");
  EXPECT_TRUE(refused("to: nowhere").contains("expected a network"));
  EXPECT_TRUE(refused("whom: x").contains("unknown key 'whom'"));
  std::string many = "access: [";
  for (int i = 0; i <= 256; ++i)
    many += "{action: deny},";
  EXPECT_TRUE(read_settings(many + "]", "f").error().text().contains("expected at most 256"));
}

}  // namespace
}  // namespace plnet::runtime::access_settings_test
