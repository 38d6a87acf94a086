// SPDX-License-Identifier: BSD-3-Clause
// A rule that drops, fails or delays messages on purpose (`lctl net_drop_add`, `lnetctl fault`), so
// that people can see what LNet does then. One object for all shards: "one in N" means N messages
// of the node. Who does not match a rule pays nothing but the comparison.
// Checked against lustre-release lnet/lnet/net_fault.c and lnet/include/uapi/linux/lnet/lnetctl.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

enum class FaultKind : std::uint8_t { kDrop, kDelay };

// Bit n of FaultSpec::types: MessageType n; of health_errors: Health n.
inline constexpr std::uint32_t kFaultTypesAll = 0xf;
inline constexpr std::uint32_t kFaultHealthAll = 0x7fe;
inline constexpr std::uint32_t kFaultHealthRandom = 0xffffffff;

// What a person asks for. A NID stands for itself, any for all, 255.255.255.255@net for all of one
// network. Source and destination are those of the header.
struct FaultSpec {
  FaultKind kind = FaultKind::kDrop;
  Nid source = Nid::any();
  Nid destination = Nid::any();
  // The NI that receives. A rule that names one applies to nothing but drops on arrival.
  Nid local = Nid::any();
  std::uint64_t portals = 0;  // bit n: portal n; 0: no matter which. Others mean PUT and GET only
  std::uint32_t types = 0;    // 0: all
  std::uint32_t rate = 0;     // one in so many that match; or
  std::uint32_t interval_s = 0;  // one in so many seconds
  // Drops.
  std::uint32_t health_errors = 0;  // not 0: instead of dropping what arrives, sending fails so
  bool random = false;              // about every other one; needs an interval
  bool all = false;                 // every one that matches, arriving or sent
  // Delays.
  std::uint32_t latency_s = 0;

  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
};

// The spec as it will be applied, or what is wrong with it.
[[nodiscard]] Outcome<FaultSpec> complete(FaultSpec spec);

// Those that had their turn, and of those that the rule struck how many of which type. Rules with
// `random` or `all` do not count what they look at, as in the kernel.
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

// Where a message is when a rule is asked about it.
enum class FaultPlace : std::uint8_t { kArriving, kSending };

class alignas(kNoSharing) FaultRule {
 public:
  // `spec` is complete().
  FaultRule(const FaultSpec& spec, std::uint64_t number, std::uint64_t seed, Instant now);

  [[nodiscard]] const FaultSpec& spec() const { return spec_; }
  // No other rule of this node ever had it.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  // Any shard. True: this message it is. `local`: the NI that received it, null on the way out.
  [[nodiscard]] bool strikes(const MessageHeader& header, const Nid* local, FaultPlace place,
                             Instant now);
  // Of a message that it makes fail: one of those named, the one nearest to a drawn one.
  [[nodiscard]] Health draw_health();
  [[nodiscard]] FaultCounts counts() const;
  // Counts from 0, and draws anew.
  void reset(Instant now);

 private:
  using Count = std::atomic<std::uint64_t>;

  [[nodiscard]] bool matches(const MessageHeader& header, const Nid* local) const;
  [[nodiscard]] bool has_turn(Instant now);
  [[nodiscard]] bool is_drawn(std::uint64_t count);
  [[nodiscard]] bool is_due(std::int64_t now_ns);
  [[nodiscard]] std::uint64_t draw(std::uint64_t bound);
  [[nodiscard]] std::int64_t draw_wait_ns();

  const FaultSpec spec_;
  const std::uint64_t number_;
  const std::uint64_t seed_;
  // Shards meet here, but only in messages that match.
  alignas(kNoSharing) Count draws_{0};
  Count era_{0};  // a reset begins another
  Count matched_{0};
  Count struck_{0};
  Count struck_of_[4]{};  // by MessageType
  // Rules with an interval: the next one not before this, in a window that ends then.
  std::atomic<std::int64_t> due_ns_{0};
  Relaxed<std::int64_t> window_end_ns_{0};
};

}  // namespace plnet::lnet
