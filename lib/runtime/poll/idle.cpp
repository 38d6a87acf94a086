// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/idle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace plnet::runtime {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"auto", "busy", "pause", "yield", "sleep"};

}  // namespace

std::string_view name_of(IdlePolicy policy) {
  const auto index = static_cast<std::size_t>(policy);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Result<IdlePolicy> parse_idle_policy(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<IdlePolicy>(i);
  }
  return std::unexpected(Errc::kInvalid);
}

IdlePolicy choose_idle_policy(IdlePolicy asked, const IdleSituation& situation) {
  if (asked != IdlePolicy::kAuto) return asked;
  std::vector<unsigned> cpus(situation.poller_cpus.begin(), situation.poller_cpus.end());
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  const bool cpu_left = situation.usable_cpus > cpus.size();
  if (!cpu_left) return IdlePolicy::kSleep;
  const bool sharing = cpus.size() < situation.poller_cpus.size();
  return sharing ? IdlePolicy::kYield : IdlePolicy::kBusy;
}

}  // namespace plnet::runtime
