// SPDX-License-Identifier: BSD-3-Clause
// The preconditions of a node on this host: what is missing, why it matters, and the command that
// grants it. Pure functions over HostFacts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/runtime/host/host_facts.hpp"
#include "lib/runtime/poll/idle.hpp"

namespace plnet::runtime {

enum class Severity : std::uint8_t {
  kNote,     // could be faster
  kWarning,  // will be slow or surprising
  kError,    // will not work
};
[[nodiscard]] std::string_view name_of(Severity severity);

struct Finding {
  Severity severity = Severity::kNote;
  std::string id;    // snake_case, stable: "port_taken"
  std::string what;  // what is missing
  std::string why;   // why it matters
  std::string fix;   // the command that grants it
};

// The needs of the node from the host.
struct HostNeeds {
  std::vector<unsigned> poller_cpus;
  IdlePolicy idle = IdlePolicy::kSleep;  // the chosen one
  std::uint64_t memory_bytes = 0;        // of all arenas
  std::uint64_t packet_bytes = 0;        // of DPDK, beside them
  bool lock_memory = false;
  bool raise_priority = false;      // raise pollers' priority over other tasks
  bool configure_network = false;   // netlink: addresses, namespaces, queues
  std::uint16_t accept_port = 988;  // 0: never listens
  bool listens_now = true;          // false: a conflict on that port is only a warning
};

// Most severe first, else in the order of the checks. Empty: no findings.
[[nodiscard]] std::vector<Finding> check_host(const HostFacts& facts, const HostNeeds& needs);
// For an lcore that CpuClaims could not get; `what` is its message.
[[nodiscard]] Finding lcore_taken(std::string what);

// One finding as a line or two for a terminal or the log.
[[nodiscard]] std::string text_of(const Finding& finding);
// [{"severity":"warning","id":...,"what":...,"why":...,"fix":...}, ...]
[[nodiscard]] nlohmann::json json_of(std::span<const Finding> findings);

}  // namespace plnet::runtime
