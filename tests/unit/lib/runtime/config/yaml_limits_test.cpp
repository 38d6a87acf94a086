// SPDX-License-Identifier: BSD-3-Clause
// Documents of a million values: with sanitizers each takes ten seconds.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime::yaml_limits_test {
namespace {

TEST(YamlDocument, BoundsTheNumberOfValues) {
  std::string many = "[";
  for (std::size_t i = 0; i + 1 < kMaxYamlNodes; ++i)
    many += "1,";
  EXPECT_TRUE(parse_yaml(many + "]", "f").has_value());
  const auto parsed = parse_yaml(many + "1]", "f");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().list().at(0).what, "too many values, expected at most 1000000");
}

TEST(YamlDocument, ASiteWithTenThousandPeersFits) {
  std::string site = "peer:\n";
  for (int i = 0; i < 10'000; ++i) {
    site += fmt::format(
        "    - primary nid: 10.{}.{}.1@tcp\n      Multi-Rail: True\n"
        "      peer ni:\n",
        i / 250, i % 250);
    for (int k = 0; k < 2; ++k) {
      site += fmt::format("        - nid: 10.{}.{}.{}@tcp\n          state: up\n", i / 250, i % 250,
                          k + 1);
      for (int n = 0; n < 20; ++n)
        site += fmt::format("          counter_{}: {}\n", n, n * i);
    }
  }
  ASSERT_LT(site.size(), kMaxYamlBytes);
  const auto parsed = parse_yaml(site, "site.yaml");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->items.at(0).items.size(), 10'000U);
}

}  // namespace
}  // namespace plnet::runtime::yaml_limits_test
