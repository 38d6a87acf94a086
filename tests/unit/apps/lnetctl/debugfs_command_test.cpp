// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::debugfs_command_test {
namespace {

class DebugfsCommand : public LnetCommands {};

TEST_F(DebugfsCommand, PrintsTheFilesThatAreNamed) {
  EXPECT_EQ(run("debugfs"), 0);
  EXPECT_EQ(out, "stats\nnis\npeers\nbuffers\nrouters\nroutes\nlnet_lnd_timeout\n");
  EXPECT_EQ(run("debugfs stats lnet_lnd_timeout"), 0) << err;
  EXPECT_EQ(out, "0 0 0 0 0 0 0 0 0 0 0\n49\n");
  for (const char* const name : {"nis", "peers", "buffers", "routers", "routes"}) {
    EXPECT_EQ(run(fmt::format("debugfs {}", name)), 0) << err;
    EXPECT_FALSE(out.empty()) << name;
  }
  EXPECT_EQ(run("debugfs nids"), 256 - ENOENT);
  EXPECT_TRUE(err.contains("no file 'nids', expected one of stats, nis, peers")) << err;
}

TEST_F(DebugfsCommand, WritesThemToADirectory) {
  namespace fs = std::filesystem;
  const fs::path directory =
      fs::temp_directory_path() / fmt::format("plnet-debugfs-{}", ::getpid());
  EXPECT_EQ(run(fmt::format("debugfs --dir {}", directory.string())), 0) << err;
  EXPECT_EQ(out, "");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 7);
  std::string line;
  std::ifstream file(directory / "lnet_lnd_timeout");
  std::getline(file, line);
  EXPECT_EQ(line, "49");
  fs::remove_all(directory);
  EXPECT_NE(run("debugfs stats --dir /proc/none"), 0) << "directories are not created there";
}

}  // namespace
}  // namespace plnet::apps::debugfs_command_test
