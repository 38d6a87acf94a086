// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/report_files.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace plnet::run::report_files_test {
namespace {

namespace fs = std::filesystem;

class SelftestReportFiles : public testing::Test {
 protected:
  SelftestReportFiles() { fs::remove_all(folder_); }
  ~SelftestReportFiles() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("plnet-report-" + std::to_string(::getpid()));
};

TEST_F(SelftestReportFiles, AMissingDirectoryIsReportedBeforehand) {
  const std::string below = folder_ / "a" / "b";
  ASSERT_TRUE(prepare_report(below));
  EXPECT_TRUE(fs::is_empty(below)) << "the attempted change is undone";
  ASSERT_TRUE(prepare_report(below)) << "it may be there already";
  ASSERT_TRUE(write_report(Report{}, below));
  EXPECT_TRUE(fs::exists(fs::path(below) / "report.html"));
  EXPECT_FALSE(prepare_report(fs::path(below) / "report.json"));
  EXPECT_FALSE(prepare_report("/proc/plnet"));
}

TEST_F(SelftestReportFiles, NamesThatAreNoTextLoseNoReport) {
  Report report;
  report.failure = "node \xff\xfe: gone";
  report.environment["cpu"] = "caf\xe9";
  report.environment["interfaces"] = {{{"name", "eth\x80"}}};
  report.environment["list"] = Json::array({Json::array({"\xc3"})});
  ASSERT_TRUE(write_report(report, folder_));
  for (const char* const name : {"report.json", "report.html", "report.txt", "report.csv"})
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  const auto text = read_file(folder_ / "report.json");
  ASSERT_TRUE(text);
  const Json json = Json::parse(*text, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["environment"]["cpu"], "caf\xef\xbf\xbd");
}

}  // namespace
}  // namespace plnet::run::report_files_test
