// SPDX-License-Identifier: BSD-3-Clause
// Names of hosts for NIDs that are NIC addresses.
#include "lib/runtime/files/nic_names.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/mocks/text_file.hpp"

namespace plnet::runtime::nic_names_test {
namespace {

NicNames two() {
  return NicNames::parse("# ours\n18 login1\n\n0x1f\tnid000031  # a client\r\n", "names").value();
}

std::string complaint_of(std::string_view text) {
  const auto names = NicNames::parse(text, "names");
  return names ? "" : names.error().what;
}

TEST(NicNames, StandBehindLinesWithNids) {
  const NicNames names = two();
  EXPECT_EQ(names.annotate("- nid: 18@kfi\n  status: up\n- nid: 31@kfi7\n"),
            "- nid: 18@kfi  # login1\n  status: up\n- nid: 31@kfi7  # nid000031\n");
  EXPECT_EQ(names.annotate("from 18@kfi to 31@kfi"), "from 18@kfi to 31@kfi  # login1, nid000031");
}

TEST(NicNames, OtherNidsHaveNoName) {
  const NicNames names = two();
  for (const std::string line : {"19@kfi", "18@tcp", "1.18@kfi", "118@kfi", "a18@kfi", "18@kfilnd",
                                 "@kfi", "99999999999999999999@kfi", "18@kfi_x", ""}) {
    EXPECT_EQ(names.annotate(line), line);
  }
  EXPECT_EQ(names.annotate("\"18@kfi\"\n\n"), "\"18@kfi\"  # login1\n\n");
  EXPECT_EQ(NicNames().annotate("18@kfi\n"), "18@kfi\n");
}

TEST(NicNames, ErrorsAreReportedWithTheirLine) {
  EXPECT_EQ(complaint_of("18 a\nten b\n"),
            "names:2: 'ten'; expected the address of a NIC, decimal or with 0x");
  EXPECT_EQ(complaint_of("4294967296 a"),
            "names:1: '4294967296'; expected the address of a NIC, decimal or with 0x");
  EXPECT_EQ(complaint_of("0x a"),
            "names:1: '0x'; expected the address of a NIC, decimal or with 0x");
  EXPECT_EQ(complaint_of("18"), "names:1: expected the name of a host behind the address");
  EXPECT_EQ(complaint_of("18 # none"), "names:1: expected the name of a host behind the address");
  EXPECT_EQ(complaint_of("18 a b"), "names:1: 'b'; expected the end of the line or #");
  EXPECT_EQ(complaint_of("18 a\n0x12 b"), "names:2: 0x12 has a name already: a");
}

class NicNamesFile : public testing::Test {
 protected:
  NicNamesFile() { path_ = testing::TempDir() + "nic_names." + std::to_string(getpid()); }
  ~NicNamesFile() override { std::filesystem::remove(path_); }
  void write(const std::string& text, bool runs) {
    std::ofstream(path_) << text;
    using enum std::filesystem::perms;
    std::filesystem::permissions(path_, runs ? owner_all : owner_read | owner_write);
  }
  std::string path_;
};

TEST_F(NicNamesFile, MayBeAProgram) {
  write("18 plain\n", false);
  EXPECT_EQ(NicNames::read(path_).value().name_of(18), "plain");
  write("#!/bin/sh\necho 18 printed\n", true);
  EXPECT_EQ(NicNames::read(path_).value().name_of(18), "printed");
}

TEST_F(NicNamesFile, AnUnreadableFileIsNamed) {
  const auto missing = NicNames::read(path_);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find(path_), std::string::npos) << missing.error().what;
  write("#!/bin/sh\necho 18 half\nexit 3\n", true);
  const auto failed = NicNames::read(path_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, path_ + ": ended with status 3");
}

TEST_F(NicNamesFile, ErrorsInADefaultFileAreWarnings) {
  TextFile warnings;
  const auto look_up = [&](const std::string& named) {
    return NicNames::look_up(named, warnings.file(), path_);
  };
  EXPECT_TRUE(look_up("")) << "it need not be there";
  EXPECT_EQ(warnings.text(), "");
  write("18 login1\nten b\n", false);
  const auto usual = look_up("");
  ASSERT_TRUE(usual) << "commands go on";
  EXPECT_EQ(usual->name_of(18), "");
  EXPECT_TRUE(warnings.take().starts_with("warning: " + path_ + ":2: 'ten'"));
  EXPECT_FALSE(look_up(path_)) << "an explicitly named file is required";
  EXPECT_EQ(warnings.take(), "");
  write("18 login1\n", false);
  EXPECT_EQ(look_up("").value().name_of(18), "login1");
}

// As with a folder that this user may not read; root may read every folder.
TEST(NicNames, AnUnreadableDefaultFileIsIgnored) {
  const TextFile warnings;
  const std::string beyond = "/" + std::string(300, 'x');
  EXPECT_TRUE(NicNames::look_up("", warnings.file(), beyond));
  EXPECT_FALSE(NicNames::read(beyond));
}

}  // namespace
}  // namespace plnet::runtime::nic_names_test
