// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/eal_arguments.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

EalRequest request() {
  EalRequest request;
  request.lcores = {{.shard = 0, .cpu = 2}, {.shard = 1, .cpu = 2}, {.shard = 2, .cpu = 5}};
  request.main_cpus = {0, 1};
  return request;
}

TEST(EalArguments, MapSeveralShardsOntoOneCpu) {
  const auto arguments = eal_arguments(request(), {});
  ASSERT_TRUE(arguments);
  const std::string line = command_line(*arguments);
  EXPECT_NE(line.find("--lcores=0@(0,1),1@2,2@2,3@5"), std::string::npos) << line;
  EXPECT_NE(line.find("--main-lcore=0"), std::string::npos);
  EXPECT_NE(line.find("--no-huge --no-shconf"), std::string::npos);
  EXPECT_EQ(line.find("--in-memory"), std::string::npos);
  EXPECT_NE(line.find("--no-telemetry"), std::string::npos);
}

TEST(EalArguments, UseHugepagesWhenThereAreEnough) {
  std::vector<HugepagePool> pools = {{.numa_node = 0, .page_size = 2U << 20U, .free = 128}};
  auto arguments = eal_arguments(request(), pools);
  ASSERT_TRUE(arguments);
  EXPECT_TRUE(arguments->hugepages);
  EXPECT_EQ(arguments->memory_line, "memory: 128 x 2 MiB hugepages on node 0");
  EXPECT_EQ(command_line(*arguments).find("--no-huge"), std::string::npos);
  EXPECT_NE(command_line(*arguments).find("--in-memory"), std::string::npos);
  pools[0].free = 15;  // two MiB less than requested
  arguments = eal_arguments(request(), pools);
  ASSERT_TRUE(arguments);
  EXPECT_FALSE(arguments->hugepages);
  EXPECT_NE(command_line(*arguments).find("--no-huge"), std::string::npos);
  EXPECT_NE(arguments->memory_line.find(reserving_hugepages(0, pools)), std::string::npos);
}

TEST(EalArguments, TheStartSaysHowManyHugepagesAreMissing) {
  const auto line = [](std::uint64_t free, std::uint64_t total) {
    EalRequest whole = request();
    whole.all_bytes = 512U << 20U;
    const std::vector<HugepagePool> pools = {
        {.numa_node = 0, .page_size = 2U << 20U, .total = total, .free = free}};
    return eal_arguments(whole, pools)->memory_line;
  };
  const std::string slower = "4 KiB pages (slower: 512 times the page table entries)";
  const std::string pool = " > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages` reserves ";
  EXPECT_EQ(line(256, 300), "memory: 256 x 2 MiB hugepages on node 0");
  EXPECT_EQ(line(0, 0), "memory: no hugepages, " + slower + "; `echo 256" + pool + "them");
  EXPECT_EQ(line(100, 300), "memory: too few hugepages are free (200 MiB of 512 MiB), " + slower +
                                " for the rest; `echo 456" + pool + "more");
  EXPECT_EQ(line(4, 300), "memory: too few hugepages are free (8 MiB of 512 MiB), " + slower +
                              "; `echo 552" + pool + "more");
  EXPECT_EQ(line(0, 300), "memory: too few hugepages are free (0 MiB of 512 MiB), " + slower +
                              "; `echo 556" + pool + "more");
}

TEST(EalArguments, AdviceNeverShrinksThePool) {
  constexpr std::uint64_t kMib = 1U << 20U;
  const auto advice = [](std::uint64_t mib, std::uint64_t total, std::uint64_t free) {
    const std::vector<HugepagePool> pools = {{.page_size = 2 * kMib, .total = total, .free = free},
                                             {.page_size = 1024 * kMib, .total = 1, .free = 0}};
    return advised_hugepages(mib * kMib, pools);
  };
  EXPECT_EQ(advice(64, 0, 0), 128U);
  EXPECT_EQ(advice(1024, 0, 0), 512U);
  EXPECT_EQ(advice(1024, 4000, 100), 4000U + 412U) << "the others are in use";
  EXPECT_EQ(advice(64, 4000, 100), 4000U);
  EXPECT_EQ(advice(1023, 0, 0), 512U) << "rounded up";
}

// Where pages of 1 GiB are the default size, /proc/sys/vm/nr_hugepages is their number.
TEST(EalArguments, AdviceNamesThePoolThatItCounts) {
  const std::vector<HugepagePool> pools = {{.page_size = 1U << 30U, .total = 200, .free = 0}};
  EXPECT_EQ(reserving_hugepages(64U << 20U, pools),
            "echo 128 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
}

TEST(EalArguments, LookAtTheBusOnlyForDevicesThatAreOurs) {
  EXPECT_NE(command_line(*eal_arguments(request(), {})).find("--no-pci"), std::string::npos);
  EalRequest with_nic = request();
  with_nic.pci = {"0000:81:00.0"};
  const std::string line = command_line(*eal_arguments(with_nic, {}));
  EXPECT_EQ(line.find("--no-pci"), std::string::npos);
  EXPECT_NE(line.find("-a 0000:81:00.0"), std::string::npos);
  EXPECT_TRUE(is_bus_device("0000:81:00.0,mprq_en=1"));
  EXPECT_FALSE(is_bus_device("net_memif0,socket=/a:b"));
}

TEST(EalArguments, RefuseUnusablePlans) {
  EalRequest bad = request();
  bad.main_cpus.clear();
  EXPECT_EQ(eal_arguments(bad, {}).error().code, Errc::kInvalid);
  bad = request();
  bad.lcores.clear();
  EXPECT_EQ(eal_arguments(bad, {}).error().code, Errc::kInvalid);
  bad = request();
  bad.lcores[1].shard = 0;
  EXPECT_EQ(eal_arguments(bad, {}).error().code, Errc::kExists);
  bad.lcores[1].shard = kEalLcoresMax - 1;
  EXPECT_EQ(eal_arguments(bad, {}).error().code, Errc::kOutOfRange);
}

}  // namespace
}  // namespace plnet::runtime
