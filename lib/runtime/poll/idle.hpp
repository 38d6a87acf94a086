// SPDX-License-Identifier: BSD-3-Clause
// The use of a poller's idle time: the policies, their names, and the choice that `auto` makes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

enum class IdlePolicy : std::uint8_t {
  kAuto,   // chosen once for the node, by choose_idle_policy()
  kBusy,   // polls again at once and never leaves the CPU: the lowest latency
  kPause,  // the same, with pauses that leave the core to its sibling hyperthread
  kYield,  // offers the CPU to other runnable threads: for pollers that share one
  kSleep,  // waits in the kernel until woken after a while without work: laptops, CI
};

// The word for configuration and lnetctl.
[[nodiscard]] std::string_view name_of(IdlePolicy policy);
// Errc::kInvalid for any other text; no spaces, no other case.
[[nodiscard]] Result<IdlePolicy> parse_idle_policy(std::string_view text);

// The inputs of the choice.
struct IdleSituation {
  std::span<const unsigned> poller_cpus;  // the CPU of each poller
  unsigned usable_cpus = 0;               // CPUs that this process may use, pollers' included
};

// The effective policy for `asked`. Any policy but kAuto is used as given; kAuto becomes
//   busy   if each poller has a CPU of its own and one is left for the rest of the system;
//   yield  if pollers share CPUs, but one is left for the rest of the system: pollers take turns,
//          and no other process wants these CPUs;
//   sleep  if the pollers cover every CPU: spinning would starve the system and, on a small
//          machine, the very peers that the pollers wait for.
[[nodiscard]] IdlePolicy choose_idle_policy(IdlePolicy asked, const IdleSituation& situation);

}  // namespace plnet::runtime
