// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/yaml_document.hpp"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace plnet::runtime::yaml_document_test {
namespace {

Node parse_good(std::string_view text) {
  auto parsed = parse_yaml(text, "good.yaml");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().text();
  return parsed.value_or(Node{});
}

// All errors as printed for users.
std::string parse_bad(std::string_view text) {
  const auto parsed = parse_yaml(text, "f");
  EXPECT_FALSE(parsed.has_value()) << text;
  return parsed ? "" : parsed.error().text();
}

TEST(YamlDocument, EmptyDocumentsAreValid) {
  for (const char* text : {"", "\n\n", "# only\n  # comments", "---\n", "---\n...\n"})
    EXPECT_EQ(parse_good(text).kind, NodeKind::kNull) << text;
  EXPECT_EQ(parse_good("").at, (Position{1, 1}));
}

TEST(YamlDocument, KeepsOrderAndPositions) {
  const Node root = parse_good("b: 1\na:\n    - x: '2'\n      y: [3, {z: 4}]\n    - \"5\"\n");
  ASSERT_EQ(root.kind, NodeKind::kMapping);
  ASSERT_EQ(root.items.size(), 2U);
  EXPECT_EQ(root.items[0].key, "b");
  EXPECT_EQ(root.items[0].key_at, (Position{1, 1}));
  EXPECT_EQ(root.items[0].text, "1");
  EXPECT_EQ(root.items[0].at, (Position{1, 4}));
  const Node* const a = root.find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->key_at, (Position{2, 1}));
  ASSERT_EQ(a->kind, NodeKind::kSequence);
  ASSERT_EQ(a->items.size(), 2U);
  EXPECT_EQ(a->items[1].text, "5");
  EXPECT_EQ(a->items[1].at, (Position{5, 7}));
  const Node* const y = a->items[0].find("y");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->key_at, (Position{4, 7}));
  ASSERT_EQ(y->items.size(), 2U);
  ASSERT_NE(y->items[1].find("z"), nullptr);
  EXPECT_EQ(y->items[1].find("z")->text, "4");
  EXPECT_EQ(root.find("c"), nullptr);
}

TEST(YamlDocument, ReadsBothLayoutsOfLnetctl) {
  const Node classic = parse_good(
      "net:\n    - net type: tcp\n      local NI(s):\n        - nid: 1.2.3.4@tcp\n"
      "          interfaces:\n              0: eth0\n");
  const Node netlink = parse_good(
      "---\nnet:\n-     net type: tcp\n      local NI(s):\n      -     nid: 1.2.3.4@tcp\n"
      "            interfaces:\n                  0: eth0\n...\n");
  for (const Node* root : {&classic, &netlink}) {
    const Node& net = root->items.at(0).items.at(0);
    ASSERT_NE(net.find("local NI(s)"), nullptr);
    const Node& ni = net.find("local NI(s)")->items.at(0);
    EXPECT_EQ(ni.find("interfaces")->items.at(0).key, "0");
    EXPECT_EQ(ni.find("interfaces")->items.at(0).text, "eth0");
  }
}

TEST(YamlDocument, TellsNullFromText) {
  const Node root = parse_good("a:\nb: ~\nc: null\nd: \"\"\ne: 'null'\n");
  EXPECT_EQ(root.find("a")->kind, NodeKind::kNull);
  EXPECT_EQ(root.find("a")->at, (Position{1, 1}));
  EXPECT_EQ(root.find("b")->kind, NodeKind::kNull);
  EXPECT_EQ(root.find("c")->kind, NodeKind::kNull);
  EXPECT_EQ(root.find("d")->kind, NodeKind::kScalar);
  EXPECT_EQ(root.find("d")->text, "");
  EXPECT_EQ(root.find("e")->text, "null");
}

TEST(YamlDocument, ColumnsCountCharacters) {
  EXPECT_EQ(parse_good("\"\xc3\xbc\": x").items.at(0).at, (Position{1, 6}));
}

TEST(YamlDocument, ListsAllDuplicateKeys) {
  EXPECT_EQ(parse_bad("a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\n"),
            "f:3:1: duplicate key 'a', given before at 1:1; expected each key once\n"
            "a: 3\n^\n"
            "f:4:11: duplicate key 'd', given before at 4:5; expected each key once\n"
            "c: {d: 1, d: 2}\n          ^");
}

TEST(YamlDocument, RefusesTabsAsIndentation) {
  EXPECT_EQ(parse_bad("a:\n\t- b\n"),
            "f:2:1: tab character may not be used as indentation, expected spaces\n - b\n^");
}

TEST(YamlDocument, RefusesUnneededYamlFeatures) {
  EXPECT_EQ(parse_bad("a: &x 1\n"),
            "f:1:7: anchors (&name) are not supported, expected a value without one\n"
            "a: &x 1\n      ^");
  EXPECT_EQ(parse_bad("a: *x\n"),
            "f:1:4: aliases (*name) are not supported, expected the value itself\na: *x\n   ^");
  EXPECT_EQ(parse_bad("a: !!str 1\n"),
            "f:1:10: tags (!name) are not supported, expected a value without one\n"
            "a: !!str 1\n         ^");
  EXPECT_EQ(parse_bad("a: 1\n---\nb: 2\n"),
            "f:2:1: a second document begins here, expected only one in a file\n---\n^");
  EXPECT_EQ(parse_bad("%YAML 1.2\n---\na: 1\n"),
            "f:1:1: directives (%...) are not supported, expected `key: value`\n%YAML 1.2\n^");
  EXPECT_EQ(parse_bad("? [a]\n: b\n"),
            "f:1:3: a list or mapping as key, expected plain text\n? [a]\n  ^");
  EXPECT_EQ(parse_bad("~: b\n"), "f:1:1: empty key, expected `key: value`\n~: b\n^");
}

TEST(YamlDocument, AnAliasBombGoesNowhere) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i)
    bomb += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  EXPECT_EQ(parse_bad(bomb),
            "f:1:9: anchors (&name) are not supported, expected a value without one\n"
            "a0: &a0 [x, x]\n        ^");
}

TEST(YamlDocument, SyntaxErrorsShowTheirLine) {
  EXPECT_EQ(parse_bad("a: [1, 2\n"), "f:2:1: flow sequence without a closing bracket");
  EXPECT_EQ(parse_bad("x: 1\na: \"abc\n"),
            "f:2:5: double-quoted scalar without closing quote\na: \"abc\n    ^");
  EXPECT_EQ(parse_bad("a: @x\n"), "f:1:4: plain scalar cannot start with '@'\na: @x\n   ^");
}

TEST(YamlDocument, NeverPrints) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  for (const char* text :
       {"a: [", "%YAML 9.9\n---\n", "\t", "a: \"\\q\"", "{{{{", "&&", "a: 1\n b: 2\n"})
    EXPECT_FALSE(parse_yaml(text, "f").has_value()) << text;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(YamlDocument, BoundsTheDepth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_yaml(nested(kMaxYamlDepth), "f").has_value());
  EXPECT_EQ(parse_bad(nested(kMaxYamlDepth + 1)).substr(0, 60),
            "f:1:33: nested too deeply, expected at most 32 levels\n[[[[[[");
  // The check precedes libfyaml, which would need gigabytes.
  EXPECT_TRUE(parse_bad(std::string(15'000'000, '[')).starts_with("f:1:1: nested too deeply"));
  EXPECT_TRUE(parse_bad(std::string(15'000'000, '{')).starts_with("f:1:1: nested too deeply"));
}

TEST(YamlDocument, BoundsTheNumberOfValuesInBrackets) {
  std::string list = "[";
  for (std::size_t i = 0; i <= kMaxYamlNodes; ++i)
    list += "a,";
  EXPECT_TRUE(parse_bad(list).starts_with("f:1:1: too many values"));
  EXPECT_TRUE(parse_yaml("a: ',,,,]]]]'\nb: x,y\nc: 10.0.[1-5].*\n", "f").has_value());
}

TEST(SourceExcerpt, CutsLongLinesAroundTheCaret) {
  const std::string line = std::string(300, 'a') + "X" + std::string(300, 'b');
  const std::string excerpt = source_excerpt(line, {1, 301});
  EXPECT_EQ(excerpt,
            std::string(50, 'a') + "X" + std::string(49, 'b') + "\n" + std::string(50, ' ') + "^");
  EXPECT_EQ(source_excerpt("a\tb\r\nc", {1, 3}), "a b\n  ^");
  EXPECT_EQ(source_excerpt("a\n", {7, 1}), "");
}

TEST(ConfigErrors, AreBoundedAndCounted) {
  ConfigErrors errors("text", "f");
  for (std::size_t i = 0; i < kMaxConfigErrors + 5; ++i)
    errors.add({1, 1}, "wrong");
  EXPECT_EQ(errors.list().size(), kMaxConfigErrors);
  EXPECT_EQ(errors.not_kept(), 5U);
  EXPECT_TRUE(errors.text().ends_with("\nand 5 more errors"));
  EXPECT_EQ(errors.to_error().code, Errc::kInvalid);
}

}  // namespace
}  // namespace plnet::runtime::yaml_document_test
