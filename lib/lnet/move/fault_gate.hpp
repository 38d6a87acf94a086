// SPDX-License-Identifier: BSD-3-Clause
// Where fault rules meet the messages of a shard: asks them, and keeps what they hold back. Asked
// only while there are rules; without any, all there is of it is the look at a null pointer.
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

// What was held back and may go on, and how.
struct Released {
  Parcel* parcel = nullptr;
  Health health = Health::kOk;  // else: it has failed so
  bool dropped = false;         // the node or its interface goes
};

class FaultGate {
 public:
  // Of one shard. What a rule would hold beyond that goes on at once, and is counted.
  static constexpr std::size_t kHeldMax = 1024;

  // `parcels`: that the shard has. Allocates; start-up only.
  FaultGate(const std::atomic<const FaultView*>& view, Counters<LnetCauses>& causes,
            std::size_t parcels);

  // Hot. Null: there are no rules.
  [[nodiscard]] const FaultView* rules() const { return view_.load(std::memory_order_acquire); }

  // The rest only while rules() says so.

  // Why what arrives is to be dropped, if it is.
  [[nodiscard]] std::optional<Cause> drops(const MessageHeader& header, const Nid& local,
                                           Instant now) const;
  // True: kept here until its time has come.
  [[nodiscard]] bool delays(Receive& receive, Instant now);
  [[nodiscard]] bool delays(Message& message, Instant now);
  // True: it fails, and is kept here until the next turn.
  [[nodiscard]] bool fails(Message& message, Instant now);

  [[nodiscard]] bool empty() const { return held_.empty(); }
  // What goes on next; null parcel: nothing for now.
  [[nodiscard]] Released next(Instant now);
  // What would leave through this NI or came in there is dropped by next(), now.
  void close(const Ni& ni);
  // What would go to this peer NI goes on.
  void release(const PeerNi& peer_ni);
  [[nodiscard]] Instant next_deadline() const;

 private:
  struct Held {
    Parcel* parcel = nullptr;
    Instant due{};
    std::uint64_t rule = 0;  // 0: none can change its mind
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
