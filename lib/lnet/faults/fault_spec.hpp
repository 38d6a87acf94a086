// SPDX-License-Identifier: BSD-3-Clause
// The settings of a fault rule, and the report about one: plain values. Checked against
// lustre-release lnet/include/uapi/linux/lnet/lnetctl.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

// The most rules of a node: more than any test needs, since each message is compared with each.
inline constexpr std::size_t kFaultRulesMax = 256;

enum class FaultKind : std::uint8_t { kDrop, kDelay };
[[nodiscard]] std::string_view name_of(FaultKind kind);  // "drop", "delay"

// Bit n of FaultSpec::types: MessageType n; of health_errors: Health n.
inline constexpr std::uint32_t kFaultTypesAll = 0xf;
inline constexpr std::uint32_t kFaultHealthAll = 0x7fe;
inline constexpr std::uint32_t kFaultHealthRandom = 0xffffffff;

// The settings of a rule. A NID matches itself, any matches all, 255.255.255.255@net all of one
// network. Source and destination are those of the header.
struct FaultSpec {
  FaultKind kind = FaultKind::kDrop;
  Nid source = Nid::any();
  Nid destination = Nid::any();
  // The NI that receives. Only rules that drop messages on arrival may name one.
  Nid local = Nid::any();
  std::uint64_t portals = 0;     // bit n: portal n; 0: any. Other values match only PUT and GET
  std::uint32_t types = 0;       // 0: all
  std::uint32_t rate = 0;        // one in this many messages that match; or
  std::uint32_t interval_s = 0;  // one in this many seconds
  // Drops.
  std::uint32_t health_errors =
      0;  // not 0: sending fails with one of these, and arriving messages are not dropped
  bool random = false;  // about every second one; needs an interval
  bool all = false;     // every message that matches, arriving or sent
  // Delays.
  std::uint32_t latency_s = 0;

  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
};

// The completed spec, or an error.
[[nodiscard]] Outcome<FaultSpec> complete(FaultSpec spec);

// A `del` command with this source and destination names the rule; any matches all.
[[nodiscard]] bool is_named(const FaultSpec& spec, FaultKind kind, const Nid& source,
                            const Nid& destination);

// Messages that the rule looked at, and those that it struck by type. Rules with `random` or `all`
// do not count the first, as in the kernel.
struct FaultCounts {
  std::uint64_t matched = 0;
  std::uint64_t put = 0;
  std::uint64_t ack = 0;
  std::uint64_t get = 0;
  std::uint64_t reply = 0;
  std::uint64_t struck = 0;

  friend bool operator==(const FaultCounts&, const FaultCounts&) = default;
};

struct FaultReport {
  FaultSpec spec;
  FaultCounts counts;
};

// Lists in lnetctl's notation, pieces between commas in any case: "PUT,GET",
// "local_timeout,random", "1,26" or "[0-3,26]". "" means all types and portals, and no health
// error.
[[nodiscard]] Outcome<std::uint32_t> parse_fault_types(std::string_view text);
[[nodiscard]] Outcome<std::uint32_t> parse_fault_health(std::string_view text);
[[nodiscard]] Outcome<std::uint64_t> parse_fault_portals(std::string_view text);
[[nodiscard]] std::string text_of_fault_types(std::uint32_t types);
[[nodiscard]] std::string text_of_fault_health(std::uint32_t health_errors);
[[nodiscard]] std::string text_of_fault_portals(std::uint64_t portals);
// "*", "*@tcp", or the NID; parse_nid_or_any() reads it.
[[nodiscard]] std::string text_of_fault_nid(const Nid& nid);

}  // namespace plnet::lnet
