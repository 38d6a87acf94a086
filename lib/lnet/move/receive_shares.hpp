// SPDX-License-Identifier: BSD-3-Clause
// What one peer may have of a shard's receive records. A peer that asks and does not take the
// answers keeps a record for each; without a share of its own it would have all of them until the
// LND gives up on it, and nobody else would be heard.
//
// A peer's next request waits, and with it the reading of its connection, while the peer has more
// than a third of what is free: alone it can have a quarter of all, two a fifth each, and however
// many they are, something is left. What waits goes on when a record of the peer comes back. If
// none does for a while its requests are dropped instead, since the answers that would set records
// free may wait behind them: two nodes that have flooded each other would else wait for each other.
#pragma once

#include <utility>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/move/peer_port.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/waits.hpp"

namespace plnet::lnet {

// As many as the kernel's peer_credits let a peer have under way: never too many.
inline constexpr std::uint32_t kReceivesAlways = 8;
inline constexpr std::size_t kReceivesOfFree = 3;  // one of so many that are free
// Longer than a transport takes to repeat lost bytes, well below the timeout of any LND.
inline constexpr Duration kShareStall = std::chrono::seconds(5);

class ReceiveShares {
 public:
  struct Room {
    Pool<Receive>& receives;
    IntrusiveList<Parcel>& inbox;  // of the shard: what goes on is done by its next step
    Counters<LnetCauses>& causes;
    Waits& waits;
    const Instant& now;
    bool& sweep_wanted;
  };
  enum class Verdict : std::uint8_t { kGoOn, kWait, kDrop };

  explicit ReceiveShares(const Room& room) : room_(room) {}

  // Hot. Of a peer that is known. What goes on is its peer's until give_back(); what waits comes
  // again as ParcelStep::kWaitOver.
  [[nodiscard]] Verdict admit(Receive& receive) {
    const MessageType type = receive.header.type;
    // Answers set records free.
    if (type != MessageType::kPut && type != MessageType::kGet) return Verdict::kGoOn;
    ReceiveShare& share = receive.peer->share;
    if (is_over(share)) [[unlikely]]
      return hold_or_drop(receive);
    ++share.used;
    receive.charged = receive.peer;
    return Verdict::kGoOn;
  }
  // Hot. The record is about to be free.
  void give_back(Receive& receive) {
    PeerPort* const peer = std::exchange(receive.charged, nullptr);
    if (peer == nullptr) return;
    --peer->share.used;
    if (!peer->share.waiting.empty() || peer->share.stalled) [[unlikely]]
      on_record_returned(*peer);
  }

  // Its connection or its link has gone. True: it waited here, and is the caller's.
  [[nodiscard]] bool leave(Receive& receive);
  // The port goes; what was received of it may stay for longer.
  void forget(const PeerPort& peer);
  // Now and then, while something waits.
  void sweep();

 private:
  [[nodiscard]] bool is_over(const ReceiveShare& share) const {
    return share.used >= kReceivesAlways &&
           share.used * kReceivesOfFree >= room_.receives.free_count();
  }
  [[nodiscard]] Verdict hold_or_drop(Receive& receive);
  void on_record_returned(PeerPort& peer);
  void resume_waiting(PeerPort& peer);

  const Room room_;
};

}  // namespace plnet::lnet
