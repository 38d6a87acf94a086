// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/routes_file.hpp"

#include <gtest/gtest.h>

namespace plnet::apps::routes_file_test {
namespace {

TEST(RoutesFile, IsToldFromADocument) {
  EXPECT_TRUE(is_routes_file("# site\n\n tcp1: { gateway: 10.0.0.1@tcp }\n"));
  EXPECT_FALSE(is_routes_file("route: [{net: tcp1, gateway: 10.0.0.1@tcp}]\n"));
  EXPECT_FALSE(is_routes_file("routing: {enable: 1}\n"));
  EXPECT_FALSE(is_routes_file("net:\n    - net type: tcp1\n"));
  EXPECT_FALSE(is_routes_file(""));
}

TEST(RoutesFile, BecomesADocumentLineByLine) {
  EXPECT_EQ(document_of_routes("# routes of the site\n"
                               "tcp1: { gateway: 10.0.0.[1-2,4]@tcp, hop: 2, priority: 1 }\n"
                               "o2ib: {gateway: 10.0.0.9@tcp0 hop:1}  # the other one\n",
                               "f")
                .value(),
            "route: [\n"
            " {net: tcp1, gateway: '10.0.0.[1-2,4]@tcp', hop: 2, priority: 1},\n"
            " {net: o2ib, gateway: '10.0.0.9@tcp0', hop: 1},\n"
            " ]\n");
}

TEST(RoutesFile, WhatIsWrongHasItsLine) {
  const auto wrong = [](std::string_view line) {
    const auto read = document_of_routes("\n" + std::string(line), "f");
    return read ? *read : read.error().what;
  };
  EXPECT_EQ(wrong("tcp1 gateway 10.0.0.1@tcp"),
            "f:2: expected NET: { gateway: NID, hop: N, priority: N }");
  EXPECT_EQ(wrong("tcp1: { hop: 1 }"), "f:2: expected gateway: NID, or a range of NIDs");
  EXPECT_EQ(wrong("tcp1: { gateway: 10.0.0.1@tcp, hop: far }"), "f:2: hop: 'far' is not a number");
  EXPECT_EQ(wrong("tcp1: { gateway: 10.0.0.1@tcp, via: 1 }"),
            "f:2: 'via': expected gateway, hop or priority");
  EXPECT_EQ(wrong("tcp1: { gateway: 10.0.0.1@tcp'x }"),
            "f:2: expected gateway: NID, or a range of NIDs");
  EXPECT_TRUE(wrong("nonet: { gateway: 10.0.0.1@tcp }").starts_with("f:2: 'nonet': "));
}

}  // namespace
}  // namespace plnet::apps::routes_file_test
