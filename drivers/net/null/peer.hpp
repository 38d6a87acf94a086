// SPDX-License-Identifier: BSD-3-Clause
// A remote interface as the null driver simulates it: one lane, at most one message parked on it.
// Records come from a fixed pool and never move, so a PeerLink may point to one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "drivers/net/null/tx.hpp"
#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::drivers {

// The NIDs in the ping buffer of such a peer: 0@lo, its own NID, and behind them that one again if
// it is large.
inline constexpr std::size_t kNullPingBytes =
    sizeof(lnet::PingInfoWire) + 2 * sizeof(lnet::NiStatusWire) + sizeof(lnet::NiLargeStatusWire);

enum class NullRxState : std::uint8_t {
  kFree,     // no message of this peer is being received
  kParked,   // the core owes a resume()
  kResumed,  // resume() was called; the next flush() runs the decision
};

struct alignas(kCacheLine) NullPeer {
  // The fields that each message uses: one cache line.
  lnet::PeerLink* link = nullptr;
  TxQueue waiting;  // Transmits whose answer cannot be offered while a message is parked
  lnet::Nid nid;
  std::uint32_t in_flight = 0;  // Transmits to this peer that have not ended
  // The message being received. The index of the record is the index of its handle.
  std::uint32_t generation = 0;
  std::uint32_t payload_length = 0;
  NullRxState rx_state = NullRxState::kFree;
  bool answers_ping = false;
  bool closing = false;    // release_peer() was called
  bool permanent = false;  // belongs to the source: outlives its links
  bool event_pending = false;

  lnet::RxDecision decision;                     // kResumed
  std::array<std::byte, kNullPingBytes> ping{};  // the payload if it answers a ping
  NullPeer* next_free = nullptr;
  NullPeer* next_event = nullptr;  // hook of the device's list of peers with events
};
static_assert(offsetof(NullPeer, decision) == kCacheLine);

class NullPeers {
 public:
  // Allocates; called at start.
  explicit NullPeers(std::size_t capacity)
      : capacity_(capacity), records_(std::make_unique<NullPeer[]>(capacity)) {
    PLNET_CHECK(capacity > 0, "a null device needs room for a peer");
    for (std::size_t i = capacity; i-- > 0;)
      put(records_[i]);
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] NullPeer& at(std::size_t index) {
    PLNET_DEBUG_CHECK(index < capacity_, "a handle names a record");
    return records_[index];
  }
  [[nodiscard]] std::uint32_t index_of(const NullPeer& peer) const {
    return static_cast<std::uint32_t>(&peer - records_.get());
  }

  // Null: all are in use.
  [[nodiscard]] NullPeer* take() {
    NullPeer* const peer = free_;
    if (peer != nullptr) free_ = peer->next_free;
    return peer;
  }
  void put(NullPeer& peer) {
    PLNET_CHECK(peer.in_flight == 0 && peer.link == nullptr, "a free record has no messages");
    peer.next_free = free_;
    free_ = &peer;
  }

 private:
  const std::size_t capacity_;
  const std::unique_ptr<NullPeer[]> records_;
  NullPeer* free_ = nullptr;
};

}  // namespace plnet::drivers
