// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/report_rows.hpp"

#include <array>

#include <gtest/gtest.h>

namespace plnet::runtime::report_rows_test {
namespace {

auto table() {
  return std::to_array<Row>({{"name", "a", 0, {2, "name"}},
                             {"absent", Json{}},
                             {"count", 7, 1, {1, "count", 6}},
                             {"file only", -1, kFileOnly, {3, "file", -5}},
                             {"parts", {{"x", 1}}, 2}});
}

TEST(ReportRows, AnObjectHasTheFieldsOfItsLevel) {
  EXPECT_EQ(object_of(table(), 0).dump(), R"({"name":"a"})");
  EXPECT_EQ(object_of(table(), 1).dump(), R"({"name":"a","count":7})");
  EXPECT_EQ(object_of(table(), lnet::kReportLevelMax).dump(),
            R"({"name":"a","count":7,"parts":{"x":1}})");
}

TEST(ReportRows, AFileHasItsColumnsInTheirOrder) {
  EXPECT_EQ(file_titles(table()), " count name file \n");
  EXPECT_EQ(file_line(table()), "     7 a -1   \n");
}

TEST(ReportRows, AnEmptyReportIsNoDocument) {
  EXPECT_TRUE(document_of("list", Json::array()).is_null());
  EXPECT_EQ(document_of("list", Json::array({1})).dump(), R"({"list":[1]})");
  EXPECT_TRUE(if_any(0).is_null());
  EXPECT_TRUE(if_any(std::string()).is_null());
  EXPECT_TRUE(numbered("nid-", {}).is_null());
  EXPECT_EQ(numbered("nid-", {"a", "b"}).dump(), R"({"nid-0":"a","nid-1":"b"})");
}

}  // namespace
}  // namespace plnet::runtime::report_rows_test
