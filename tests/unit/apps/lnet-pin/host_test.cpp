// SPDX-License-Identifier: BSD-3-Clause
// The host of a placed node: its cards, settings, counters and power, from a root of our own.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/lnet-pin/recommend/host_commands.hpp"
#include "apps/lnet-pin/recommend/recommendation.hpp"
#include "apps/lnet-pin/run/lab.hpp"
#include "apps/lnet-pin/run/machine_settings.hpp"
#include "apps/lnet-pin/run/node_watch.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "tests/unit/apps/lnet-pin/scratch.hpp"
#include "tests/unit/apps/lnet-pin/sweep_maker.hpp"

namespace plnet::pin::host_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHere =
    "hosts: {client: {on: 'ssh:far', addresses: 10.0.0.1}, server: {addresses: 10.0.0.2}}\n";

// A card with four queues and interrupts 40 to 43, and governors.
void write_card(const Scratch& scratch) {
  const std::string card = "root/sys/class/net/eth7/";
  scratch.write(card + "device/numa_node", "1\n");
  for (const int queue : {0, 1, 2, 3}) {
    scratch.write(card + "queues/rx-" + std::to_string(queue) + "/rps_cpus", "0\n");
    scratch.write(card + "queues/tx-" + std::to_string(queue) + "/xps_cpus", "0\n");
    const std::string interrupt = std::to_string(40 + queue);
    scratch.write(card + "device/msi_irqs/" + interrupt, "msix\n");
    scratch.write("root/proc/irq/" + interrupt + "/smp_affinity_list", "0-3\n");
  }
  scratch.write("root/sys/class/net/lo/operstate", "unknown\n");
  scratch.write("root/sys/devices/system/cpu/isolated", "2-3\n");
  scratch.write("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
                "performance powersave\n");
  for (const int cpu : {0, 1, 2, 3}) {
    scratch.write(
        "root/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor",
        "powersave\n");
  }
  scratch.write("root/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  for (const int node : {0, 1}) {
    scratch.write("root/sys/devices/system/node/node" + std::to_string(node) +
                      "/hugepages/hugepages-2048kB/nr_hugepages",
                  "7\n");
  }
}

// Two nodes with two CPUs each, and the card.
Machine machine_with_card() {
  auto machine = read_machine({.synthetic = kTwoNodes}, "");
  EXPECT_TRUE(machine);
  machine->nics.push_back(
      {.name = "eth7", .numa_node = 1, .queues = 4, .interrupts = {40, 41, 42, 43}});
  machine->governors = {"performance", "powersave"};
  return std::move(*machine);
}

Results results_with(const std::string& text) {
  Results results{.version = "0.0.0", .begun = "2026-01-01T00:00:00Z", .sweep_text = text};
  results.machine = machine_with_card();
  auto sweep = read_sweep(text, "sweep.yaml");
  EXPECT_TRUE(sweep) << (sweep ? "" : sweep.error().what);
  auto plan = make_plan(std::move(*sweep), results.machine);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().what);
  results.plan = std::move(*plan);
  return results;
}

TEST(PinHost, ReadsCardsGovernorsAndIsolatedCpus) {
  const Scratch scratch;
  write_card(scratch);
  const auto machine = read_machine({}, scratch.at("root"));
  ASSERT_TRUE(machine) << machine.error().what;
  ASSERT_EQ(machine->nics.size(), 1U) << "lo is no card";
  EXPECT_EQ(machine->nics[0],
            (Nic{.name = "eth7", .numa_node = 1, .queues = 4, .interrupts = {40, 41, 42, 43}}));
  EXPECT_EQ(machine->isolated, (std::vector<unsigned>{2, 3}));
  EXPECT_EQ(machine->governors, (std::vector<std::string>{"performance", "powersave"}));
}

TEST(PinHost, QueuesAndInterruptsOfACard) {
  const Plan plan = results_with(std::string("interfaces: eth7\nfactors: {cpts: [2], nic queues: "
                                             "[none, spread, '1-2', '9'], interrupts: [keep, same, "
                                             "apart, '3']}\n") +
                                 kHere)
                        .plan;
  ASSERT_EQ(plan.placements.size(), 12U);
  const auto with = [&plan](const char* levels) -> const Placement& {
    const auto found = std::ranges::find_if(plan.placements, [&](const Placement& each) {
      return plan.level_text(each.levels) == levels;
    });
    EXPECT_NE(found, plan.placements.end()) << levels;
    return *found;
  };
  const Placement& spread = with("cpts=2 nic queues=spread interrupts=same");
  EXPECT_EQ(spread.cpts[0].nic_queues.at("eth7"), (std::vector<unsigned>{0, 2}));
  EXPECT_EQ(spread.cpts[1].nic_queues.at("eth7"), (std::vector<unsigned>{1, 3}));
  EXPECT_EQ(spread.interrupt_cpus, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(with("cpts=2 nic queues=none interrupts=apart").interrupt_cpus,
            (std::vector<unsigned>{2, 3}));
  EXPECT_EQ(with("cpts=2 nic queues=1-2 interrupts=3").cpts[0].nic_queues.at("eth7"),
            (std::vector<unsigned>{1, 2}));
  ASSERT_EQ(plan.left_out.size(), 4U);
  EXPECT_NE(plan.left_out.front().why.find("'eth7' has 4"), std::string::npos);
}

TEST(PinHost, SettingsAreMadeAndRestoredAfterAKill) {
  const Scratch scratch;
  write_card(scratch);
  const auto now = [&scratch](const std::string& name) {
    return *read_setting(scratch.at("root" + name));
  };
  const std::string interrupt = "/proc/irq/43/smp_affinity_list";
  const std::string governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
  const std::string pages =
      "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
  const std::string elsewhere =
      "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages";
  const Results results = results_with(
      std::string("interfaces: eth7\nfactors: {interrupts: ['1,3'], governor: [performance], "
                  "hugepages: ['64']}\n") +
      kHere);
  const Placement& placement = results.plan.placements.front();
  const auto settings = settings_of(placement, results.machine, results.plan.sweep.interfaces);
  EXPECT_EQ(settings.size(), 4U + 1 + 3);
  {
    auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
    ASSERT_TRUE(changes) << changes.error().what;
    const auto made = make_settings(settings, **changes, scratch.at("root"));
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_EQ(now(interrupt), "1,3");
    EXPECT_EQ(now(governor), "performance");
    EXPECT_EQ(now(pages), "64");
    EXPECT_EQ(now(elsewhere), "0") << "no CPT has its memory there";
    EXPECT_EQ(now("/sys/kernel/mm/transparent_hugepage/enabled"), "never");
  }  // as if killed
  auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
  ASSERT_TRUE(changes);
  EXPECT_EQ((*changes)->list().size(), settings.size());
  EXPECT_TRUE((*changes)->restore_files().empty());
  EXPECT_EQ(now(interrupt), "0-3");
  EXPECT_EQ(now(governor), "powersave");
  EXPECT_EQ(now(pages), "7");
  EXPECT_EQ(now(elsewhere), "7");
  EXPECT_EQ(now("/sys/kernel/mm/transparent_hugepage/enabled"), "madvise");
}

TEST(PinHost, SettingsThatAHostDoesNotHaveFail) {
  const Scratch scratch;
  write_card(scratch);
  fs::remove_all(scratch.at("root/sys/devices/system/cpu/cpu0/cpufreq"));
  const Results results = results_with("factors: {governor: [performance]}\n");
  auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
  ASSERT_TRUE(changes);
  const auto made = make_settings(settings_of(results.plan.placements.front(), results.machine, {}),
                                  **changes, scratch.at("root"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("scaling_governor"), std::string::npos) << made.error().what;
}

TEST(PinHost, HugePagesThatAreNotRestoredStayOnRecord) {
  const Scratch scratch;
  write_card(scratch);
  const std::string pages =
      "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
  auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
  ASSERT_TRUE(changes);
  ASSERT_TRUE((*changes)->set(pages, "64"));
  // A file that takes every number and has none, like a kernel without free memory.
  fs::remove(scratch.at("root" + pages));
  fs::create_symlink("/dev/null", scratch.at("root" + pages));
  const auto complaints = (*changes)->restore();
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_NE(complaints[0].find("no huge pages instead of 7"), std::string::npos) << complaints[0];
  fs::remove(scratch.at("root" + pages));
  scratch.write("root" + pages, "64\n");
  EXPECT_TRUE((*changes)->restore().empty());
  EXPECT_EQ(*read_setting(scratch.at("root" + pages)), "7");
  EXPECT_TRUE((*changes)->empty());
}

TEST(PinHost, ABadStateFolderIsNamed) {
  const Scratch scratch;
  scratch.write("file", "");
  const auto changes = Changes::open(scratch.at("file/state"), "");
  ASSERT_FALSE(changes);
  EXPECT_NE(changes.error().what.find("cannot make the state folder " + scratch.at("file/state")),
            std::string::npos)
      << changes.error().what;
  EXPECT_NE(changes.error().what.find("--state"), std::string::npos);
}

TEST(PinHost, PowerAndThrottlingOfAMeasurement) {
  const Scratch scratch;
  const std::string rapl = "root/sys/class/powercap/intel-rapl:";
  const std::string throttle =
      "root/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count";
  scratch.write(rapl + "0/energy_uj", "5000000\n");
  scratch.write(rapl + "1/energy_uj", "1000000\n");
  scratch.write(rapl + "0:0/energy_uj", "4000000\n");  // a part of package 0
  scratch.write(throttle, "3\n");
  scratch.write("root/proc/stat", "cpu1 0 0 100 900 0 0 0 0 0 0\n");
  scratch.write("root/proc/77/stat", "77 (a node) S 1 77 77 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0\n");
  scratch.write("root/proc/77/task/77/status", "Name:\ta\nnonvoluntary_ctxt_switches:\t12\n");
  const NodeWatch watch(77, {1}, scratch.at("root"),
                        [](const CounterKind&, pid_t, bool) { return std::unexpected(ENOENT); });
  scratch.write(rapl + "0/energy_uj", "9000000\n");
  scratch.write(throttle, "5\n");
  scratch.write("root/proc/stat", "cpu1 0 0 150 1000 0 0 0 50 0 0\n");
  Figures figures;
  watch.read(figures, std::chrono::seconds(1));
  ASSERT_TRUE(figures.joules.has_value());
  EXPECT_NEAR(figures.joules.value_or(0), 4, 1e-9);
  EXPECT_NEAR(figures.throttled, 2, 1e-9);
  EXPECT_NEAR(figures.steal_percent, 25, 1e-9);
  EXPECT_NEAR(figures.preempted.value_or(0), 12, 1e-9);
  EXPECT_NEAR(figures.cpu_seconds.value_or(0) * static_cast<double>(::sysconf(_SC_CLK_TCK)), 200,
              1e-6);
  EXPECT_EQ(disturbance_of(figures, 2), "a hypervisor took 25.0 % of its CPUs; a core was too hot");
  fs::remove_all(scratch.at("root/sys/class/powercap"));
  EXPECT_EQ(package_joules(scratch.at("root")), 0) << "without RAPL";
}

// A counter that reads as 42.
int counter_of(const Scratch& scratch) {
  constexpr std::uint64_t kValue = 42;
  scratch.write("counter", std::string(reinterpret_cast<const char*>(&kValue), sizeof kValue));
  return ::open(scratch.at("counter").c_str(), O_RDONLY | O_CLOEXEC);
}

TEST(PinHost, ProcessorCountersWhereTheyAreAllowed) {
  const Scratch scratch;
  scratch.write("root/proc/77/task/77/status", "\n");
  scratch.write("root/proc/77/task/78/status", "\n");
  bool user_only = false;
  const NodeWatch watch(
      77, {0}, scratch.at("root"),
      [&](const CounterKind&, pid_t, bool with_kernel) -> std::expected<int, int> {
        if (with_kernel) return std::unexpected(EACCES);
        user_only = true;
        return counter_of(scratch);
      });
  EXPECT_EQ(watch.counters_note(), "");
  EXPECT_TRUE(user_only) << "without the right to count the kernel's work";
  Figures figures;
  watch.read(figures, std::chrono::seconds(1));
  for (const char* name : {"cycles", "instructions", "llc_misses", "remote_reads"})
    EXPECT_EQ(figures.counters[name], 84) << name << ", the sum of two threads";
  EXPECT_EQ(figures.migrations, 84);
}

TEST(PinHost, ProcessorCountersWhereTheyAreMissing) {
  const Scratch scratch;
  scratch.write("root/proc/77/task/77/status", "\n");
  const auto note = [&scratch](int number) {
    const NodeWatch watch(77, {0}, scratch.at("root"), [number](const CounterKind&, pid_t, bool) {
      return std::unexpected(number);
    });
    Figures figures;
    watch.read(figures, std::chrono::seconds(1));
    EXPECT_TRUE(figures.counters.empty());
    EXPECT_FALSE(figures.migrations.has_value());
    return watch.counters_note();
  };
  EXPECT_NE(note(EACCES).find("CAP_PERFMON"), std::string::npos);
  EXPECT_NE(note(ENOENT).find("no counter of cycles"), std::string::npos);
}

TEST(PinHost, ProcessorCountersOfThisMachine) {
  const NodeWatch watch(::getpid(), {0}, "");
  Figures figures;
  watch.read(figures, std::chrono::seconds(1));
  if (!watch.counters_note().empty()) GTEST_SKIP() << watch.counters_note();
  EXPECT_GT(figures.counters["cycles"], 0);
  EXPECT_GT(figures.counters["instructions"], 0);
}

// A node that sleeps uses less than a tick of /proc/PID/stat in a short measurement.
TEST(PinHost, CpuTimeIsFinerThanATick) {
  const NodeWatch watch(::getpid(), {0}, "");
  Figures before;
  watch.read(before, std::chrono::seconds(1));
  Figures after;
  watch.read(after, std::chrono::seconds(1));
  EXPECT_GT(before.cpu_seconds.value_or(0), 0);
  EXPECT_GT(after.cpu_seconds.value_or(0), before.cpu_seconds.value_or(0));
}

TEST(PinHost, RecommendationsIncludeTheSettingsOfTheHost) {
  const Results results = results_with(
      std::string("interfaces: eth7\nrounds: {least: 8, most: 8}\nfactors: {nic queues: [spread], "
                  "interrupts: ['1,3'], governor: [performance], hugepages: ['64']}\n") +
      kHere);
  const Recommendation choice{.placement = 0, .rounds = 8, .alone = true};
  const std::string yaml = node_yaml(results, choice);
  const auto settings = runtime::read_settings(runtime::Schema(), yaml, "recommended");
  ASSERT_TRUE(settings) << settings.error().text() << yaml;
  EXPECT_EQ(settings->cpts, request_of(results.plan.placements[0]));
  const auto has = [](const std::string& text, const char* words) {
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  };
  has(yaml,
      "#   echo 64 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages\n");
  has(yaml, "#   echo never > /sys/kernel/mm/transparent_hugepage/enabled\n");
  has(yaml, "#   echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n");
  has(yaml, "do echo 1,3 > /proc/irq/$irq/smp_affinity_list; done\n");
  const std::string kernel = kernel_settings(results, choice);
  has(kernel, "\noptions lnet cpu_npartitions=1 cpu_pattern=\"0[0]\"\n");
  has(kernel, "\n# Before Lustre 2.17 instead: options libcfs cpu_npartitions=1 cpu_pattern");
  has(kernel, "\necho performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n");
  has(kernel, "\nsystemctl disable --now irqbalance\n");
  has(kernel, "\n# Huge pages (64) are left out");
}

TEST(PinHost, NodesOnHostsOfASlurmJob) {
  const Scratch scratch;
  auto changes = Changes::open(scratch.at("state"), "");
  ASSERT_TRUE(changes);
  const auto sweep = read_sweep(
      "workload: {networks: o2ib}\nhosts: {client: {on: 'slurm:4711:n0', addresses: 10.0.0.1}, "
      "server: {on: 'ssh:n1', addresses: 10.0.0.2}}\nfactors: {idle: [yield, sleep]}\n",
      "sweep.yaml");
  ASSERT_TRUE(sweep) << sweep.error().what;
  {
    const auto lab = Lab::set_up(*sweep, **changes);
    ASSERT_TRUE(lab) << lab.error().what;
    const auto client = (*lab)->prefix(Role::kClient);
    EXPECT_EQ(client.front(), "srun");
    EXPECT_NE(std::ranges::find(client, "--jobid=4711"), client.end());
    EXPECT_NE(std::ranges::find(client, "--nodelist=n0"), client.end());
    const auto server = (*lab)->prefix(Role::kServer);
    EXPECT_EQ(server.front(), "ssh");
    EXPECT_EQ(server.back(), "n1");
    EXPECT_FALSE((*lab)->is_local(Role::kServer));
    // An NI of o2ib is found by its address, as on a site.
    const Placement placement{.cpts = {{.cpus = {1}}}};
    const auto config = Json::parse(node_config(**lab, Role::kServer, &placement, {}));
    EXPECT_EQ(config["net"][0]["net type"], "o2ib");
    EXPECT_EQ(config["net"][0]["local NI(s)"][0]["nid"], "10.0.0.2@o2ib");
    EXPECT_EQ(config["plnet"]["cpts"]["list"][0]["shards"][0]["cpu"], 1);
  }
  EXPECT_TRUE((*changes)->restore().empty());
}

}  // namespace
}  // namespace plnet::pin::host_test
