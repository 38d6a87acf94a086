// SPDX-License-Identifier: BSD-3-Clause
// A rule that drops, fails or delays messages on purpose (`lctl net_drop_add`, `lnetctl fault`), so
// that users can see how LNet reacts. One object serves all shards: "one in N" means N messages of
// the node. A message that does not match costs only the comparison. Checked against lustre-release
// lnet/lnet/net_fault.c and lnet/include/uapi/linux/lnet/lnetctl.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/faults/fault_spec.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// The place of the message when a rule is asked about it.
enum class FaultPlace : std::uint8_t { kArriving, kSending };

class alignas(kNoSharing) FaultRule {
 public:
  // `spec` is complete().
  FaultRule(const FaultSpec& spec, std::uint64_t number, std::uint64_t seed, Instant now);

  [[nodiscard]] const FaultSpec& spec() const { return spec_; }
  // Unique among all rules that this node has had.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  // Any shard. True: the rule strikes this message. `local`: the NI that received it, null on the
  // way out.
  [[nodiscard]] bool strikes(const MessageHeader& header, const Nid* local, FaultPlace place,
                             Instant now);
  // The health class of a message that the rule fails: one of those in the spec, the nearest to a
  // drawn one.
  [[nodiscard]] Health draw_health();
  [[nodiscard]] FaultCounts counts() const;
  // Counts from 0 and draws again.
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
  // Shards share this line, but only messages that match touch it.
  alignas(kNoSharing) Count draws_{0};
  Count era_{0};  // each reset begins another
  Count matched_{0};
  Count struck_{0};
  Count struck_of_[4]{};  // by MessageType
  // Rules with an interval: the earliest time of the next strike, in a window that ends then.
  std::atomic<std::int64_t> due_ns_{0};
  Relaxed<std::int64_t> window_end_ns_{0};
};

}  // namespace plnet::lnet
