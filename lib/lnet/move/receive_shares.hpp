// SPDX-License-Identifier: BSD-3-Clause
// The share of a peer NI in a shard's receive records. A peer that sends requests and does not take
// the answers keeps a record for each; without a limit it would have all records until the LND
// gives up on it, and the node would receive nothing else.
//
// The next request of a peer, and with it the reading of its connection, waits while the peer has
// more than a third of the number of free records: a single peer gets a quarter of all, two get a
// fifth each, and some records are always left. A waiting request goes on when a record of the peer
// comes back. If none comes back for kShareStall, requests of the peer are dropped, since the
// answers that would free records may wait behind them: two nodes that have flooded each other
// would wait for each other for ever.
#pragma once

#include <utility>

#include "lib/base/check.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/move/peer_port.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/waits.hpp"

namespace plnet::lnet {

// As many as the kernel's peer_credits allow one peer to have under way; every peer may have these.
inline constexpr std::uint32_t kReceivesAlways = 8;
inline constexpr std::size_t kReceivesOfFree =
    3;  // a peer has at most this part of the free records
// Longer than a transport takes to repeat lost bytes, well below the timeout of any LND.
inline constexpr Duration kShareStall = std::chrono::seconds(5);
static_assert(kReceivesOfFree > 1, "a single peer leaves records for others");

class ReceiveShares {
 public:
  struct Room {
    Pool<Receive>& receives;
    IntrusiveList<Parcel>& inbox;  // of the shard: its next step does the resumed messages
    Counters<LnetCauses>& causes;
    Waits& waits;
    const Instant& now;
    bool& sweep_wanted;
  };
  enum class Verdict : std::uint8_t { kGoOn, kWait, kDrop };

  explicit ReceiveShares(const Room& room) : room_(room) {}

  // Hot. For a message of a known peer. kGoOn: the peer has the record until give_back(). kWait:
  // the message comes again as ParcelStep::kWaitOver.
  [[nodiscard]] Verdict admit(Receive& receive) {
    const MessageType type = receive.header.type;
    // Responses free records of other nodes and ours.
    if (type != MessageType::kPut && type != MessageType::kGet) return Verdict::kGoOn;
    PLNET_DEBUG_CHECK(receive.peer != nullptr && receive.charged == nullptr,
                      "a known sender takes a share once");
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
    PLNET_CHECK(peer->share.used > 0, "a record that comes back was taken");
    --peer->share.used;
    if (!peer->share.waiting.empty() || peer->share.stalled) [[unlikely]]
      on_record_returned(*peer);
  }

  // Its connection or its link is gone. True: it waited here, and is the caller's.
  [[nodiscard]] bool leave(Receive& receive);
  // The port is about to be free; messages that came from it may stay.
  void forget(const PeerPort& peer);
  // Now and then, while requests wait.
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
