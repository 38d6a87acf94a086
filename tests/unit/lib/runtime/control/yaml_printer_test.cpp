// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/yaml_printer.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plnet::runtime {
namespace {

using Json = nlohmann::ordered_json;

TEST(YamlPrinter, BooleansAreAsTheReleaseOfTheKernelPrintsThem) {
  const nlohmann::ordered_json document{{"Multi-Rail", true}, {"forwarded", false}};
  EXPECT_EQ(print_yaml(document), "Multi-Rail: True\nforwarded: False\n");
  EXPECT_EQ(print_yaml(document, YamlBooleans::kLower), "Multi-Rail: true\nforwarded: false\n");
}

TEST(YamlPrinter, NetShowLooksAsInTheManual) {
  const Json net = {
      {"net type", "tcp"},
      {"local NI(s)",
       Json::array(
           {{{"nid", "192.168.1.10@tcp"}, {"status", "up"}, {"interfaces", {{"0", "eth0"}}}}})}};
  EXPECT_EQ(print_yaml({{"net", Json::array({net})}}),
            "net:\n"
            "    - net type: tcp\n"
            "      local NI(s):\n"
            "        - nid: 192.168.1.10@tcp\n"
            "          status: up\n"
            "          interfaces:\n"
            "              0: eth0\n");
}

TEST(YamlPrinter, BackupExportLooksAsInTheManual) {
  const Json ni = {{"interfaces", {{"0", "eth0"}}},
                   {"tunables", {{"peer_timeout", 180}, {"credits", 256}}},
                   {"lnd tunables", {{"conns_per_peer", 1}}},
                   {"CPT", "[0,1]"}};
  const Json document = {
      {"net", Json::array({{{"net type", "tcp"}, {"local NI(s)", Json::array({ni})}}})},
      {"route", Json::array({{{"net", "o2ib1"}, {"gateway", "192.168.1.1@tcp"}, {"hop", -1}}})},
      {"routing", {{"enable", 0}}},
      {"peer", Json::array({{{"primary nid", "192.168.1.20@tcp"},
                             {"Multi-Rail", true},
                             {"peer ni", Json::array({{{"nid", "192.168.1.20@tcp"}}})}}})}};
  EXPECT_EQ(print_yaml(document),
            "net:\n"
            "    - net type: tcp\n"
            "      local NI(s):\n"
            "        - interfaces:\n"
            "              0: eth0\n"
            "          tunables:\n"
            "              peer_timeout: 180\n"
            "              credits: 256\n"
            "          lnd tunables:\n"
            "              conns_per_peer: 1\n"
            "          CPT: \"[0,1]\"\n"
            "route:\n"
            "    - net: o2ib1\n"
            "      gateway: 192.168.1.1@tcp\n"
            "      hop: -1\n"
            "routing:\n"
            "    enable: 0\n"
            "peer:\n"
            "    - primary nid: 192.168.1.20@tcp\n"
            "      Multi-Rail: True\n"
            "      peer ni:\n"
            "        - nid: 192.168.1.20@tcp\n");
}

TEST(YamlPrinter, RoutingShowAndErrorsIndentMapsUnderListItems) {
  const Json routing = {
      {"routing", Json::array({{{"cpt[0]", {{"tiny", {{"npages", 0}}}}}}, {{"enable", 0}}})}};
  EXPECT_EQ(print_yaml(routing),
            "routing:\n"
            "    - cpt[0]:\n"
            "          tiny:\n"
            "              npages: 0\n"
            "    - enable: 0\n");
  const Json error = {
      {"add",
       Json::array(
           {{{"net", {{"errno", -22}, {"descr", "cannot add network: Invalid argument"}}}}})}};
  EXPECT_EQ(print_yaml(error),
            "add:\n"
            "    - net:\n"
            "          errno: -22\n"
            "          descr: \"cannot add network: Invalid argument\"\n");
}

TEST(YamlPrinter, EmptyDocumentsPrintNothing) {
  EXPECT_EQ(print_yaml(Json::object()), "");
  EXPECT_EQ(print_yaml(nullptr), "");
  EXPECT_EQ(print_yaml({{"route", Json::array()}, {"a", Json::object()}, {"b", nullptr}}),
            "route: []\na: {}\nb:\n");
}

TEST(YamlPrinter, ListsOfScalarsAndOfLists) {
  EXPECT_EQ(print_yaml({{"cpus", {1, 2}}}), "cpus:\n    - 1\n    - 2\n");
  EXPECT_EQ(print_yaml({{"rows", Json::array({Json::array({1}), Json::array({2})})}}),
            "rows:\n    -\n        - 1\n    -\n        - 2\n");
}

TEST(YamlPrinter, PlainWhereYamlAllows) {
  for (const char* text :
       {"tcp", "192.168.1.10@tcp", "fd00::1@tcp", "<?>", "0-3", "192.168.1.10", "up", "a,b", "-x",
        "4.18.0-305", "10.0.0.1:9100", "e5", "0x", "two words", "\xc3\xa4", "1.2.3", "inf"}) {
    EXPECT_EQ(yaml_scalar(text), text);
  }
}

TEST(YamlPrinter, QuotedWhereAReaderWouldSeeSomethingElse) {
  for (const char* text :
       {"",      "1",     "-1",   "+7",   "0x1f",       "0o17",     "1.5",  ".5",   "1e9",
        "1_000", "12:30", "True", "no",   "on",         "~",        "null", ".inf", "-.inf",
        ".nan",  "[0,1]", "*",    "@x",   "a: b",       "a #b",     "a:",   " a",   "a ",
        "- a",   "---",   "&a",   "!tag", "2026-11-20", "2026-1-2", "{}",   "#",    "%x"}) {
    EXPECT_EQ(yaml_scalar(text), '"' + std::string(text) + '"');
  }
}

TEST(YamlPrinter, EscapesControlCharacters) {
  EXPECT_EQ(yaml_scalar("say \"hi\": x"), "\"say \\\"hi\\\": x\"");
  EXPECT_EQ(yaml_scalar("a\nb\tc\\ d\n"), "\"a\\nb\\tc\\\\ d\\n\"");
  EXPECT_EQ(yaml_scalar(std::string("\x01\xff", 2)), "\"\\x01\\xff\"");
  EXPECT_EQ(yaml_scalar("\xe2\x80\xa8"), "\"\\u2028\"");
  EXPECT_EQ(yaml_scalar("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\"") << "a surrogate is not UTF-8";
  EXPECT_EQ(yaml_scalar("\xc0\x80"), "\"\\xc0\\x80\"") << "overlong is not UTF-8";
}

TEST(YamlPrinter, KeysAreQuotedOnlyForSyntax) {
  EXPECT_EQ(print_yaml({{"0", "a"}, {"a: b", 1}, {"yes", 2}}), "0: a\n\"a: b\": 1\nyes: 2\n");
}

TEST(YamlPrinter, LinesStayLinesWhereThatIsSafe) {
  const nlohmann::ordered_json document{
      {"add",
       {{{"import", {{"errno", -22}, {"descr", "f:2:9: wrong\n    idle: lazy\n          ^"}}}}}}};
  EXPECT_EQ(print_yaml(document),
            "add:\n"
            "    - import:\n"
            "          errno: -22\n"
            "          descr: |-\n"
            "              f:2:9: wrong\n"
            "                  idle: lazy\n"
            "                        ^\n");
  for (const char* text : {" a\nb", "\na", "a\n", "a\tb\nc"}) {
    const std::string printed = print_yaml({{"key", text}});
    EXPECT_TRUE(printed.starts_with("key: \"")) << printed;
  }
}

}  // namespace
}  // namespace plnet::runtime
