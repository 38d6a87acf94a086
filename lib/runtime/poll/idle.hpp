// SPDX-License-Identifier: BSD-3-Clause
// How a poller spends the time in which there is nothing to do: the policies, their names, and the
// choice that `auto` stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

enum class IdlePolicy : std::uint8_t {
  kAuto,   // chosen once for the node, by choose_idle_policy()
  kBusy,   // looks again at once and never leaves the CPU: the lowest latency
  kPause,  // the same, with pauses that leave the core to its sibling hyperthread
  kYield,  // offers the CPU to whoever else can run: for pollers that share one
  kSleep,  // after a while without work waits in the kernel until woken: laptops, CI
};

// The word that configuration and lnetctl use.
[[nodiscard]] std::string_view name_of(IdlePolicy policy);
// Errc::kInvalid for any other text; no spaces, no other case.
[[nodiscard]] Result<IdlePolicy> parse_idle_policy(std::string_view text);

// What the choice depends on.
struct IdleSituation {
  std::span<const unsigned> poller_cpus;  // for each poller the CPU that it runs on
  unsigned usable_cpus = 0;               // CPUs that this process may use, pollers' included
};

// What `asked` means here. Anything but kAuto stands as asked; kAuto becomes
//   busy   if each poller has a CPU of its own and one is left for the rest of the system;
//   yield  if pollers share CPUs, but one is left for the rest of the system: neighbours take
//          turns, and nobody else wants these CPUs;
//   sleep  if the pollers cover every CPU: spinning would starve the system and, on a small
//          machine, the very peers that the pollers wait for.
[[nodiscard]] IdlePolicy choose_idle_policy(IdlePolicy asked, const IdleSituation& situation);

}  // namespace plnet::runtime
