// SPDX-License-Identifier: BSD-3-Clause
// In an executable of its own: a process can start the EAL only once.
#include "lib/runtime/host/eal.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "lib/runtime/host/host_facts.hpp"

namespace plnet::runtime {
namespace {

// The CPUs that this process may use, before EAL binds the main thread.
std::vector<unsigned> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST(Eal, StartsPinsLaunchesAndStops) {
  const std::vector<unsigned> cpus = usable_cpus();
  ASSERT_FALSE(cpus.empty());
  const HostFacts facts = read_host_facts();
  std::string said;
  std::mutex said_lock;
  EalRequest request;
  // Three shards, two of them on one CPU.
  request.lcores = {{.shard = 0, .cpu = cpus.front()},
                    {.shard = 1, .cpu = cpus.back()},
                    {.shard = 2, .cpu = cpus.back()}};
  request.main_cpus = {cpus.front()};
  request.log = [&](EalLevel level, std::string_view line) {
    const std::lock_guard lock(said_lock);
    said.append(level == EalLevel::kDetail ? "" : "! ").append(line).append("\n");
  };
  auto eal = Eal::start(request, facts.hugepages);
  if (!eal) {
    // Refused arguments are our error; any other failure belongs to the machine.
    ASSERT_NE(eal.error().code, Errc::kInvalid) << eal.error().what;
    ASSERT_NE(eal.error().code, Errc::kExists) << eal.error().what;
    GTEST_SKIP() << eal.error().what;
  }
  EXPECT_TRUE((*eal)->memory_line().starts_with("memory: "));

  const auto again = Eal::start(request, facts.hugepages);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kExists);
  // Its error messages differ from its other output.
  EXPECT_NE(said.find("! EAL: already called initialization"), std::string::npos) << said;

  std::array<std::atomic<int>, 3> ran_on = {-1, -1, -1};
  std::atomic<bool> stop{false};
  for (unsigned shard = 0; shard < 3; ++shard) {
    const auto launched = (*eal)->launch(shard, [&, shard] {
      ran_on[shard] = ::sched_getcpu();
      while (!stop.load(std::memory_order_relaxed))
        ::sched_yield();
    });
    ASSERT_TRUE(launched) << launched.error().what;
  }
  EXPECT_EQ((*eal)->launch(1, [] {}).error().code, Errc::kBusy);
  EXPECT_EQ((*eal)->launch(9, [] {}).error().code, Errc::kNotFound);
  for (const auto& cpu : ran_on) {
    while (cpu.load() < 0)
      ::sched_yield();
  }
  stop = true;
  (*eal)->join_all();
  EXPECT_EQ(ran_on[0], static_cast<int>(cpus.front()));
  EXPECT_EQ(ran_on[1], static_cast<int>(cpus.back()));
  EXPECT_EQ(ran_on[2], static_cast<int>(cpus.back()));

  // A second body on the same lcore; the destructor joins it.
  std::atomic<bool> second{false};
  ASSERT_TRUE((*eal)->launch(0, [&] { second = true; }));
  eal->reset();
  EXPECT_TRUE(second);
}

}  // namespace
}  // namespace plnet::runtime
