// SPDX-License-Identifier: BSD-3-Clause
// Files of the driver that change while programs run.
#include "drivers/net/cassini/soft/driver_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace plnet::cassini::soft::driver_files_test {
namespace {

constexpr std::uint64_t kNow = 77'000'000'005;

struct State {
  State() {
    std::string name = "/tmp/plnet-files-XXXXXX";
    path = std::string(::mkdtemp(name.data()));
    for (const char* const folder : {"properties", "telemetry"})
      std::filesystem::create_directories(device() + folder);
    write("properties/rgids_avail", "255\n");
    write("properties/amo_remap_to_pcie_fadd", "-1\n");
    write("telemetry/lpe_success_cntr", "0@1.000000000\n");
  }
  ~State() { std::filesystem::remove_all(path); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  [[nodiscard]] std::string device() const { return path + "/cxi/cxi0/device/"; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(device() + name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(device() + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string path;
};

TEST(SoftDriverFiles, ResourceGroupsThatAreFree) {
  const State state;
  DriverFiles files(state.path, 0);
  Nic nic({.address = 1});
  nic.set_host_files(&files);
  const auto shown = [&state] { return state.read("properties/rgids_avail"); };
  const unsigned group = nic.make_group(kDefaultService).value();
  EXPECT_EQ(shown(), "254\n");
  ASSERT_TRUE(nic.drop_group(group));
  EXPECT_EQ(shown(), "255\n");
  files.show_resource_groups(200);
  EXPECT_EQ(shown(), "55\n") << "shorter than before";
  files.show_resource_groups(256);
  EXPECT_EQ(shown(), "0\n") << "the driver's own is one of them";
}

TEST(SoftDriverFiles, AtomicOperationForTheCpu) {
  const State state;
  DriverFiles files(state.path, 0);
  const auto after = [&](const std::string& text) {
    state.write("properties/amo_remap_to_pcie_fadd", text);
    return files.atomic_remap();
  };
  EXPECT_EQ(files.atomic_remap(), -1);
  EXPECT_EQ(after("10\n"), 10);
  EXPECT_EQ(after("0"), 0);
  for (const char* const refused : {"", "3", "11", "-2", "2x", "two", "\n", " 2", "99999999999"})
    EXPECT_EQ(after(refused), 0) << refused;
  EXPECT_EQ(after("-1"), -1);
  Nic nic({.address = 1});
  nic.set_host_files(&files);
  state.write("properties/amo_remap_to_pcie_fadd", "2");
  EXPECT_EQ(nic.read_atomic_remap(), 2);
  EXPECT_EQ(nic.tables().atomic_remap, 2);
}

TEST(SoftDriverFiles, CountersWithTheirTime) {
  const State state;
  DriverFiles files(state.path, 0);
  Nic nic({.address = 1});
  files.show_all_counters(nic, kNow);
  EXPECT_EQ(state.read("telemetry/lpe_success_cntr"), "0@1.000000000\n") << "unchanged";
  nic.tables().stats.add(NicStats::Id::kDelivered, 12);
  files.show_next_counter(nic, kNow);
  EXPECT_EQ(state.read("telemetry/lpe_success_cntr"), "12@77.000000005\n");
}

TEST(SoftDriverFiles, FilesThatAreNotThere) {
  DriverFiles files("/nowhere", 3);
  Nic nic({.address = 1});
  nic.tables().stats.add(NicStats::Id::kDelivered);
  files.show_resource_groups(1);
  files.show_all_counters(nic, kNow);
  EXPECT_EQ(files.atomic_remap(), -1);
}

}  // namespace
}  // namespace plnet::cassini::soft::driver_files_test
