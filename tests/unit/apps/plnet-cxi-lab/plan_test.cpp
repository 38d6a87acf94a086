// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "apps/plnet-cxi-lab/command_line.hpp"
#include "apps/plnet-cxi-lab/driver_files.hpp"
#include "apps/plnet-cxi-lab/prefixed_lines.hpp"
#include "drivers/net/cassini/soft/allocations.hpp"
#include "drivers/net/cassini/soft/driver_counters.hpp"
#include "drivers/net/cassini/soft/soft_config.hpp"

namespace plnet::cxi_lab::plan_test {
namespace {

using Words = std::vector<const char*>;

Plan plan_of(unsigned nodes, unsigned nics) {
  return {.nodes = nodes, .nics_per_rank = nics, .folder = "/tmp/lab", .library = "/lib/cxi"};
}

TEST(CxiLabPlan, NoTwoNicsHaveAnAddress) {
  const Plan plan = plan_of(kNodesMax, kNicsMax);
  std::vector<std::string> macs;
  for (unsigned rank = 0; rank < plan.nodes; ++rank) {
    for (unsigned nic = 0; nic < plan.nics_per_rank; ++nic)
      macs.push_back(plan.mac(rank, nic));
  }
  EXPECT_EQ(macs.front(), "02:00:00:00:01:00");
  EXPECT_EQ(macs.back(), "02:00:00:00:02:ff");
  std::ranges::sort(macs);
  EXPECT_EQ(std::ranges::adjacent_find(macs), macs.end());
  EXPECT_EQ(Plan::ip(kNodesMax - 1, kNicsMax - 1), "10.208.0.64");
}

// The library reads its own file with the same reader.
TEST(CxiLabPlan, TheLibraryTakesItsConfiguration) {
  const Plan plan = plan_of(3, 2);
  const auto config = cassini::soft::parse_soft_config(plan.library_config(2));
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->addresses, (std::vector<cassini::soft::NicAddress>{0x104, 0x105}));
  EXPECT_EQ(config->fabric, "/tmp/lab/fabric");
  EXPECT_EQ(config->state, "/tmp/lab/rank-2");
  EXPECT_EQ(config->vnis, (std::vector<std::uint16_t>{1, 10, 255})) << "libfabric's and LNet's";
}

std::string text_of(const std::vector<std::pair<std::string, std::string>>& files,
                    const std::string& name) {
  const auto found = std::ranges::find(files, name, [](const auto& one) { return one.first; });
  return found == files.end() ? "" : found->second;
}

// The library tells the same of its NICs.
TEST(CxiLabPlan, DriverFilesDescribeTheSoftwareNic) {
  cassini::soft::Gate gate;
  cassini::soft::Nic nic({.address = 0x105});
  cassini::soft::Allocations all(gate, {&nic});
  cassini::libcxi::DeviceList* list = nullptr;
  ASSERT_EQ(all.get_device_list(&list), 0);
  const auto* const info = reinterpret_cast<const cassini::libcxi::DeviceInfo*>(
      reinterpret_cast<const std::byte*>(list) + cassini::libcxi::kDeviceListHead);
  const auto files = driver_files(plan_of(3, 2), 2, 1);
  const auto is = [&files](const std::string& name, std::size_t value) {
    EXPECT_EQ(text_of(files, "properties/" + name), std::to_string(value) + "\n") << name;
  };
  EXPECT_EQ(text_of(files, "properties/nid"), "0x105\n");
  EXPECT_EQ(text_of(files, "vendor"), "0x17db\n");
  EXPECT_EQ(info->vendor, 0x17dbU);
  EXPECT_EQ(text_of(files, "device"), "0x0501\n");
  EXPECT_EQ(info->device, 0x0501U);
  EXPECT_EQ(text_of(files, "fru/description"), std::string(info->description) + "\n");
  is("pid_bits", info->pid_bits);
  is("pid_count", info->pid_count);
  is("pid_granule", info->pid_granule);
  is("min_free_shift", info->min_free_shift);
  is("rdzv_get_idx", info->rendezvous_index);
  is("hpc_mtu", info->link_mtu);
  is("speed", info->link_speed);
  is("link", info->link_state);
  is("rev", info->revision);
  is("proto", info->protocol);
  is("platform", info->platform);
  is("system_type_identifier", info->system_type);
  is("uc_nic", static_cast<std::size_t>(info->uc_nic));
  is("num_ptes", info->portals);
  is("num_txqs", info->transmit_queues);
  is("num_tgqs", info->target_queues);
  is("num_eqs", info->event_queues);
  is("num_cts", info->counters);
  is("num_acs", info->address_contexts);
  is("num_tles", info->triggered_entries);
  is("num_les", info->list_entries);
  is("pct_eq", info->pct_eq);
  ::operator delete(list);
}

TEST(CxiLabPlan, CountersAreThoseOfTheLibrary) {
  std::vector<std::string_view> names;
  for (const auto& counter : cassini::soft::kDriverCounters)
    names.push_back(counter.name);
  std::vector<std::string_view> own(kTelemetry.begin(), kTelemetry.end());
  std::ranges::sort(names);
  std::ranges::sort(own);
  EXPECT_EQ(own, names);
}

// Each file has its folder.
TEST(CxiLabPlan, FoldersOfTheDriver) {
  const auto folders = driver_folders();
  for (const auto& [name, text] : driver_files(plan_of(1, 1), 0, 0)) {
    const std::size_t slash = name.rfind('/');
    EXPECT_TRUE(slash == std::string::npos ||
                std::ranges::find(folders, name.substr(0, slash)) != folders.end())
        << name;
    EXPECT_TRUE(text.ends_with('\n')) << name;
  }
}

TEST(CxiLabPlan, EnvironmentOfARank) {
  const auto all = plan_of(2, 1).environment(1, "/usr/local/lib");
  const auto value = [&all](std::string_view name) {
    const auto found = std::ranges::find(all, name, [](const auto& one) { return one.first; });
    return found == all.end() ? "" : found->second;
  };
  EXPECT_EQ(value("CXI_LAB_RANK"), "1");
  EXPECT_EQ(value("CXI_LAB_NODES"), "2");
  EXPECT_EQ(value("CXI_LAB_ADDRESS"), "10.201.0.2");
  EXPECT_EQ(value("CXI_LAB_ADDRESSES"), "10.201.0.1 10.201.0.2");
  EXPECT_EQ(value("LD_LIBRARY_PATH"), "/tmp/lab/rank-1:/usr/local/lib");
}

TEST(CxiLabPlan, CommandsThatMoveToAnotherRankUseItsLibrary) {
  const auto all =
      plan_of(2, 1).environment(1, "/tmp/lab/rank-0:/opt/lib:/tmp/lab/rank-10:/tmp/lab/rank-1");
  const auto found =
      std::ranges::find(all, "LD_LIBRARY_PATH", [](const auto& one) { return one.first; });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->second, "/tmp/lab/rank-1:/opt/lib");
}

TEST(CxiLabPlan, RanksHaveNamesAndAddresses) {
  const Plan plan = plan_of(3, 2);
  for (const char* const host : {"2", "rank-2", "10.201.0.3", "10.202.0.3"})
    EXPECT_EQ(plan.rank_of(host), 2U) << host;
  for (const char* const host : {"", "3", "rank-3", "10.201.0.4", "2 ", "+2", "02", "localhost"})
    EXPECT_EQ(plan.rank_of(host), std::nullopt) << host;
  EXPECT_EQ(plan.host_lines(), "10.201.0.1 rank-0\n10.201.0.2 rank-1\n10.201.0.3 rank-2\n");
}

TEST(CxiLabPlan, LinesBeginWithTheRank) {
  PrefixedLines lines("3: ");
  EXPECT_EQ(lines.add("one\ntw"), "3: one\n");
  EXPECT_EQ(lines.add(""), "");
  EXPECT_EQ(lines.add("o\n\nthree"), "3: two\n3: \n");
  EXPECT_EQ(lines.rest(), "3: three\n");
  EXPECT_EQ(lines.rest(), "");
  const std::string longer(PrefixedLines::kLineMax + 3, 'x');
  EXPECT_EQ(lines.add(longer), "3: " + longer.substr(3) + "\n");
  EXPECT_EQ(lines.rest(), "3: xxx\n");
}

TEST(CxiLabCommandLine, FlagsEndWhereTheCommandBegins) {
  const Words words{"plnet-cxi-lab", "-n", "4", "sh", "-c", "-n 3"};
  const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->nodes, 4U);
  EXPECT_EQ(line->command, (std::vector<std::string>{"sh", "-c", "-n 3"}));
}

TEST(CxiLabCommandLine, ExecTakesItsWordsAsTheyAre) {
  const Words words{"plnet-cxi-lab", "exec", "rank-1", "prog", "-x", "a b", "--ssh"};
  ASSERT_TRUE(is_exec(static_cast<int>(words.size()), words.data()));
  const auto line = parse_exec_line(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->host, "rank-1");
  EXPECT_EQ(line->command, (std::vector<std::string>{"prog", "-x", "a b", "--ssh"}));
  const Words run{"plnet-cxi-lab", "sh", "exec"};
  EXPECT_FALSE(is_exec(static_cast<int>(run.size()), run.data()));
}

TEST(CxiLabCommandLine, ExecGivesItsWordsToAShellAsSshDoes) {
  const Words words{"plnet-cxi-lab", "exec", "--ssh", "-x", "10.201.0.2", "orted", "-mca", "'a b'"};
  const auto line = parse_exec_line(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->host, "10.201.0.2");
  EXPECT_EQ(line->command, (std::vector<std::string>{"/bin/sh", "-c", "orted -mca 'a b'"}));
}

TEST(CxiLabCommandLine, ExecNeedsARankAndACommand) {
  for (const Words& words : {Words{"plnet-cxi-lab", "exec"}, Words{"plnet-cxi-lab", "exec", "1"},
                             Words{"plnet-cxi-lab", "exec", "--other", "1", "true"}}) {
    const auto line = parse_exec_line(static_cast<int>(words.size()), words.data());
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().status, 2);
  }
}

TEST(CxiLabCommandLine, WordsInBracketsStayWhole) {
  const Words words{"plnet-cxi-lab", "sh", "-c", "[ a, b ]", "[]"};
  const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->command, (std::vector<std::string>{"sh", "-c", "[ a, b ]", "[]"}));
  const Words moved{"plnet-cxi-lab", "exec", "1", "printf", "[%s,%s]", ""};
  const auto exec = parse_exec_line(static_cast<int>(moved.size()), moved.data());
  ASSERT_TRUE(exec) << exec.error().text;
  EXPECT_EQ(exec->command, (std::vector<std::string>{"printf", "[%s,%s]", ""}));
}

TEST(CxiLabCommandLine, RefusedOnes) {
  for (const Words& words : {Words{"plnet-cxi-lab"}, Words{"plnet-cxi-lab", "-n", "0", "true"},
                             Words{"plnet-cxi-lab", "-n", "65", "true"},
                             Words{"plnet-cxi-lab", "--nics-per-rank", "9", "true"}}) {
    const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().status, 2);
  }
}

}  // namespace
}  // namespace plnet::cxi_lab::plan_test
