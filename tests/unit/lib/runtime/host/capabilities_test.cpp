// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/capabilities.hpp"

#include <array>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

// A set of capabilities in the status of this process: "CapEff", "CapBnd".
std::uint64_t set_named(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1), nullptr, 16);
  }
  return ~0ULL;
}

// Runs in a process of its own, since dropped capabilities do not return.
TEST(Capabilities, AllOthersAreGivenUpForGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has capabilities";
  const std::uint64_t before = set_named("CapEff");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr std::array<unsigned, 2> kKept{CAP_NET_BIND_SERVICE, CAP_BPF};
    constexpr std::uint64_t kMask = 1ULL << CAP_NET_BIND_SERVICE | 1ULL << CAP_BPF;
    if (!keep_only_capabilities(kKept)) ::_exit(1);
    if (set_named("CapEff") != (before & kMask)) ::_exit(2);
    if ((set_named("CapPrm") & ~kMask) != 0) ::_exit(3);
    ::_exit((set_named("CapBnd") & ~kMask) == 0 ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace plnet::runtime
