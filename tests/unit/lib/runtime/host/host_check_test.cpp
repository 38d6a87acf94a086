// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/host_check.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/lib/runtime/host/temp_dir.hpp"

namespace plnet::runtime {
namespace {

constexpr std::uint64_t kMib = 1ULL << 20U;

// A machine that meets all requirements.
HostFacts good_facts() {
  return {.effective_capabilities = ~0ULL,
          .locked_memory_max = std::nullopt,
          .available_memory = 8192 * kMib,
          .hugepages = {{.numa_node = 0, .page_size = 2 * kMib, .total = 512, .free = 512}},
          .governors = {{1, "performance"}},
          .isolated_cpus = {1},
          .tickless_cpus = {1}};
}

HostNeeds needs() {
  return {.poller_cpus = {1},
          .idle = IdlePolicy::kBusy,
          .memory_bytes = 256 * kMib,
          .lock_memory = true,
          .raise_priority = true,
          .configure_network = true};
}

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
  const auto found = std::ranges::find(findings, id, &Finding::id);
  return found == findings.end() ? nullptr : &*found;
}

TEST(HostCheck, AGoodMachineHasNoFindings) {
  EXPECT_TRUE(check_host(good_facts(), needs()).empty());
}

TEST(HostCheck, EachMissingThingIsFoundAlone) {
  const auto only = [](const HostFacts& facts, std::string_view id, Severity severity) {
    const auto findings = check_host(facts, needs());
    ASSERT_EQ(findings.size(), 1U) << id;
    EXPECT_EQ(findings[0].id, id);
    EXPECT_EQ(findings[0].severity, severity) << id;
    EXPECT_FALSE(findings[0].why.empty());
    EXPECT_FALSE(findings[0].fix.empty());
  };
  HostFacts facts = good_facts();
  facts.effective_capabilities &= ~(1ULL << 10U);
  only(facts, "cap_net_bind_service", Severity::kError);
  facts = good_facts();
  facts.effective_capabilities &= ~(1ULL << 23U);
  only(facts, "cap_sys_nice", Severity::kNote);
  facts = good_facts();
  facts.effective_capabilities &= ~(1ULL << 12U);
  only(facts, "cap_net_admin", Severity::kWarning);
  facts = good_facts();
  facts.effective_capabilities &= ~(1ULL << 14U);
  facts.locked_memory_max = 64 * 1024;
  only(facts, "memlock", Severity::kError);
  facts = good_facts();
  facts.hugepages[0].free = 127;
  only(facts, "hugepages", Severity::kNote);
  facts = good_facts();
  facts.governors[0].governor = "powersave";
  only(facts, "governor", Severity::kWarning);
  facts = good_facts();
  facts.tickless_cpus.clear();
  only(facts, "isolation", Severity::kNote);
  facts = good_facts();
  facts.listening_ports = {22, 988};
  only(facts, "port_taken", Severity::kError);
  facts = good_facts();
  facts.kernel_lnet = true;
  only(facts, "kernel_lnet", Severity::kWarning);
}

TEST(HostCheck, UnusedRequirementsAreNotChecked) {
  HostFacts facts = good_facts();
  facts.effective_capabilities = 0;
  facts.locked_memory_max = 0;
  HostNeeds modest = needs();
  modest.lock_memory = modest.raise_priority = modest.configure_network = false;
  modest.accept_port = 0;
  EXPECT_TRUE(check_host(facts, modest).empty());
}

TEST(HostCheck, AConflictWithTheKernelsPortSuggestsASolution) {
  HostFacts facts = good_facts();
  facts.listening_ports = {988};
  facts.kernel_lnet = true;
  const auto findings = check_host(facts, needs());
  const Finding* port = find(findings, "port_taken");
  ASSERT_NE(port, nullptr);
  EXPECT_NE(port->fix.find("lctl network down"), std::string::npos);
  EXPECT_NE(port->fix.find("lustre_rmmod"), std::string::npos);
  EXPECT_NE(port->fix.find("accept_port"), std::string::npos);
  HostNeeds other = needs();
  other.listens_now = false;
  const auto later = check_host(facts, other);
  ASSERT_NE(find(later, "port_taken"), nullptr);
  EXPECT_EQ(find(later, "port_taken")->severity, Severity::kWarning);
  other.accept_port = 0;
  EXPECT_TRUE(check_host(facts, other).empty());
}

TEST(HostCheck, ALimitOfAddressSpaceIsNamed) {
  HostFacts facts = good_facts();
  facts.address_space_left = 100 * kMib;
  const auto findings = check_host(facts, needs());
  const Finding* const space = find(findings, "address_space");
  ASSERT_NE(space, nullptr);
  EXPECT_EQ(space->severity, Severity::kError);
  EXPECT_NE(space->what.find("256 MiB wanted"), std::string::npos);
  EXPECT_NE(space->what.find("leaves 100 MiB"), std::string::npos);
  EXPECT_NE(space->fix.find("ulimit -v unlimited"), std::string::npos);
  facts.address_space_left = 300 * kMib;
  const auto tight = check_host(facts, needs());
  ASSERT_NE(find(tight, "address_space"), nullptr);
  EXPECT_EQ(find(tight, "address_space")->severity, Severity::kWarning);
  facts.address_space_left = 4096 * kMib;
  EXPECT_EQ(find(check_host(facts, needs()), "address_space"), nullptr);
}

TEST(HostCheck, WorstComesFirstAndPrintsBothWays) {
  HostFacts facts;  // a machine without resources
  facts.available_memory = 10 * kMib;
  const auto findings = check_host(facts, needs());
  ASSERT_GE(findings.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::ranges::greater{}, &Finding::severity));
  EXPECT_NE(find(findings, "memory"), nullptr);
  const auto json = json_of(findings);
  ASSERT_EQ(json.size(), findings.size());
  EXPECT_EQ(json[0]["severity"], "error");
  EXPECT_EQ(json[0]["id"], findings[0].id);
  EXPECT_NE(text_of(findings[0]).find(findings[0].fix), std::string::npos);
  EXPECT_EQ(text_of(lcore_taken("cpu 1 is taken")).rfind("error: cpu 1 is taken", 0), 0U);
}

TEST(HostFacts, AreReadFromATree) {
  const TempDir root;
  root.write("proc/self/status", "Name:\tx\nVmSize:\t    1000 kB\nCapEff:\t0000000000000400\n");
  root.write("proc/self/limits",
             "Limit                     Soft Limit           Hard Limit           Units\n"
             "Max locked memory         8388608              unlimited            bytes\n"
             "Max address space         4096000              unlimited            bytes\n");
  root.write("proc/meminfo", "MemTotal:  2000 kB\nMemAvailable:   1000 kB\n");
  const std::string node = "sys/devices/system/node/node1/hugepages/hugepages-2048kB/";
  root.write(node + "nr_hugepages", "16\n");
  root.write(node + "free_hugepages", "5\n");
  root.write("sys/devices/system/cpu/isolated", "2-3,7\n");
  root.write("sys/devices/system/cpu/nohz_full", "\n");
  root.write("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
  root.write("proc/net/tcp",
             "  sl  local_address rem_address   st\n"
             "   0: 00000000:03DC 00000000:0000 0A 00000000:00000000\n"
             "   1: 0100007F:0016 0100007F:9999 01 00000000:00000000\n");
  root.write("proc/net/tcp6",
             "  sl  local_address rem_address st\n"
             "   0: 00000000000000000000000000000000:03DC 0:0000 0A 0\n"
             "   1: 00000000000000000000000000000000:0050 0:0000 0A 0\n");
  root.write("proc/sys/net/ipv4/ip_unprivileged_port_start", "80\n");
  root.write("proc/modules", "lnet 999 2 ksocklnd, Live 0x0\nksocklnd 1 1 - Live 0x0\n");
  const HostFacts facts = read_host_facts(root.path());
  EXPECT_EQ(facts.effective_capabilities, 0x400U);
  EXPECT_EQ(facts.locked_memory_max, 8388608U);
  EXPECT_EQ(facts.address_space_left, 4096000U - 1024000U);
  EXPECT_EQ(facts.available_memory, 1000U * 1024);
  ASSERT_EQ(facts.hugepages.size(), 1U);
  EXPECT_EQ(facts.hugepages[0].numa_node, 1);
  EXPECT_EQ(facts.hugepages[0].page_size, 2 * kMib);
  EXPECT_EQ(facts.hugepages[0].total, 16U);
  EXPECT_EQ(facts.hugepages[0].free, 5U);
  EXPECT_EQ(facts.isolated_cpus, (std::vector<unsigned>{2, 3, 7}));
  EXPECT_TRUE(facts.tickless_cpus.empty());
  ASSERT_EQ(facts.governors.size(), 1U);
  EXPECT_EQ(facts.governors[0].cpu, 3U);
  EXPECT_EQ(facts.governors[0].governor, "powersave");
  EXPECT_EQ(facts.listening_ports, (std::vector<std::uint16_t>{80, 988}));
  EXPECT_EQ(facts.unprivileged_port_first, 80U);
  EXPECT_TRUE(facts.kernel_lnet);
}

TEST(HostFacts, AnEmptyOrBrokenTreeIsNoFailure) {
  const TempDir root;
  EXPECT_EQ(read_host_facts(root.path()).effective_capabilities, 0U);
  root.write("proc/self/limits",
             "Max locked memory         unlimited   unlimited   bytes\n"
             "Max address space         unlimited   unlimited   bytes\n");
  root.write("proc/net/tcp", "junk\n\n x y\n 0: nocolon z 0A\n 0: :zz z 0A");
  root.write("proc/meminfo", "MemAvailable:");
  const HostFacts facts = read_host_facts(root.path());
  EXPECT_EQ(facts.locked_memory_max, std::nullopt);
  EXPECT_EQ(facts.address_space_left, std::nullopt);
  EXPECT_TRUE(facts.listening_ports.empty());
  EXPECT_EQ(facts.available_memory, 0U);
}

TEST(HostFacts, ANodeOffersFreeMemoryAndHalfOfTheFileCache) {
  const TempDir root;
  root.write("proc/meminfo", "MemAvailable:    5000 kB\n");
  root.write("sys/devices/system/node/node1/meminfo",
             "Node 1 MemTotal:       9000 kB\nNode 1 MemFree:        1000 kB\n"
             "Node 1 Active(file):    300 kB\nNode 1 Inactive(file):  100 kB\n");
  const HostFacts facts = read_host_facts(root.path());
  EXPECT_EQ(available_memory_on(facts, 1), 1200U * 1024);
  EXPECT_EQ(available_memory_on(facts, 0), 5000U * 1024) << "nothing is known of that node";
  EXPECT_EQ(available_memory_on({}, 0), 0U);
}

TEST(HostFacts, ControlGroupsLimitTheMemory) {
  const TempDir root;
  root.write("proc/meminfo", "MemAvailable:    5000 kB\n");
  root.write("proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/memory.max", "1000000\n");
  root.write("sys/fs/cgroup/outer/memory.current", "500000\n");
  root.write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 100000\n");
  root.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  const HostFacts facts = read_host_facts(root.path());
  EXPECT_EQ(facts.group_memory_left, 600'000U);
  EXPECT_EQ(available_memory_on(facts, 0), 600'000U);
  EXPECT_EQ(available_memory_on(facts, 0, 2), 300'000U) << "once for both";
  const auto found = check_host(facts, {.memory_bytes = 700'000});
  EXPECT_TRUE(std::ranges::any_of(found, [](const Finding& each) {
    return each.severity == Severity::kError && each.id == "memory" &&
           each.fix.find("memory.max") != std::string::npos;
  }));
}

TEST(HostFacts, TheRealMachineTells) {
  const HostFacts facts = read_host_facts();
  EXPECT_GT(facts.available_memory, 0U);
}

TEST(HostFacts, CpuListsEndWhereTheyMakeNoSense) {
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_EQ(parse_cpu_list("5\n"), (std::vector<unsigned>{5}));
  EXPECT_EQ(parse_cpu_list("1,3-4,9-8,11"), (std::vector<unsigned>{1, 3, 4}));
  EXPECT_TRUE(parse_cpu_list("(null)").empty());
  EXPECT_TRUE(parse_cpu_list("0-4000000000").empty());
}

}  // namespace
}  // namespace plnet::runtime
