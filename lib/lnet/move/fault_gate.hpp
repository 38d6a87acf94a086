// SPDX-License-Identifier: BSD-3-Clause
// The place where fault rules meet the messages of a shard: it asks the rules and keeps the
// messages that they hold. Without rules a message costs the look at a null pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/faults/fault_table.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::lnet {

// A message that was held and goes on, or ends.
struct Released {
  Parcel* parcel = nullptr;
  Health health = Health::kOk;  // not kOk: it ends with this class
  bool dropped = false;         // the node or the NI is being removed
};

class FaultGate {
 public:
  // The most that the gate of a shard holds. A rule that would hold more lets the message go on,
  // and counts it.
  static constexpr std::size_t kHeldMax = 1024;

  // `parcels`: messages and receives of the shard. Allocates; start-up only.
  FaultGate(const std::atomic<const FaultView*>& view, Counters<LnetCauses>& causes,
            std::size_t parcels);

  // Hot. Null: there are no rules. The coordinator may remove the last rule at any moment, so each
  // call below looks again.
  [[nodiscard]] const FaultView* rules() const { return view_.load(std::memory_order_acquire); }

  // The cause of a drop, if a rule drops a message that arrives.
  [[nodiscard]] std::optional<Cause> drops(const MessageHeader& header, const Nid& local,
                                           Instant now) const;
  // True: the gate keeps the message until its delay is over.
  [[nodiscard]] bool delays(Receive& receive, Instant now);
  [[nodiscard]] bool delays(Message& message, Instant now);
  // True: the message fails, and the gate keeps it until the next turn.
  [[nodiscard]] bool fails(Message& message, Instant now);

  [[nodiscard]] bool empty() const { return held_.empty(); }
  // The next message that goes on; null parcel: none is due.
  [[nodiscard]] Released next(Instant now);
  // The NI is being removed: next() drops all messages that came in or leave by it.
  void close(const Ni& ni);
  // The peer NI is being removed: messages to it go on.
  void release(const PeerNi& peer_ni);
  [[nodiscard]] Instant next_deadline() const;

 private:
  struct Held {
    Parcel* parcel = nullptr;
    Instant due{};
    std::uint64_t rule = 0;  // 0: it stays until it is due, with or without rules
    Health health = Health::kOk;
    bool dropped = false;
  };

  [[nodiscard]] bool hold(const Held& held);
  [[nodiscard]] bool delays(Parcel& parcel, const MessageHeader& header, FaultPlace place,
                            Instant now);
  void look_at_rules();

  const std::atomic<const FaultView*>& view_;
  Counters<LnetCauses>& causes_;
  std::vector<Held> held_;  // in the order of arrival; has its full capacity from the start
  const std::size_t held_max_;
  std::uint64_t seen_version_ = 0;
};

}  // namespace plnet::lnet
