// SPDX-License-Identifier: BSD-3-Clause
// What one LND knows of one peer: where it listens, by which keys it and we name things, and
// whether it may be sent to. lustre-release lnet/klnds/kfilnd/kfilnd_peer.c.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"
#include "lib/kfilnd/transaction.hpp"
#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::kfilnd {

// Values and names are the kernel's.
enum class PeerState : std::uint8_t {
  kNew = 1,
  kUpToDate = 2,
  kStale = 3,  // something has failed: still sent to, and greeted again
  kDown = 4,   // the fabric says that it is not there
  kWaitResponse = 5,
};
[[nodiscard]] std::string_view name_of(PeerState state);

enum class HelloState : std::uint8_t {
  kNone,
  kInit,     // it is about to go, or waits for others to end
  kSending,  // until it is answered or has failed
};

struct ForStamp;
struct ForGreeting;

struct Peer : ListNode<ForStamp>, ListNode<ForGreeting> {
  lnet::Nid nid;
  std::uint64_t nid64 = 0;
  PeerAddress address = kNoAddress;
  lnet::PeerLink* link = nullptr;
  Peer* next_in_bucket = nullptr;

  PeerState state = PeerState::kNew;
  HelloState hello_state = HelloState::kNone;
  const Transaction* hello = nullptr;  // the last HELLO that was sent; names it, no more
  bool greeted_in_vain = false;        // nothing was heard of it since a HELLO failed
  bool removed = false;                // from the cache; transactions finish on it
  bool guest = false;  // it has its home on another receive context of the interface
  std::uint8_t rx_base = 0;
  std::uint16_t version = 0;  // 0: nothing negotiated yet
  std::uint32_t local_session_key = 0;
  std::uint32_t remote_session_key = 0;
  std::uint32_t users = 0;   // transactions
  std::uint32_t parked = 0;  // of those, messages that wait for the core
  Instant last_alive{};
  Instant hello_at{};
  IntrusiveList<Transaction, ForTurn> throttled;  // until a handshake ends

  // Whether messages may go to it, or wait.
  [[nodiscard]] bool is_usable() const {
    return state == PeerState::kUpToDate || state == PeerState::kStale;
  }
  // There were too many HELLOs under way.
  [[nodiscard]] bool waits_for_greeting() const { return ListNode<ForGreeting>::linked(); }
  void stop_waiting_for_greeting() {
    if (waits_for_greeting()) ListNode<ForGreeting>::unlink();
  }
  // Whether a HELLO has to go first. `proactive` also when nothing was heard for long; that is for
  // the path of what we send.
  [[nodiscard]] bool needs_hello(Instant now, Duration timeout, bool proactive) const;
  [[nodiscard]] Target untagged_target() const { return {address, rx_base}; }
  // What we may say to it: before a HELLO has come, the newest.
  [[nodiscard]] std::uint16_t spoken_version() const {
    return version == 0 ? kVersionMax : version;
  }
};

// What a failed transaction does to a peer.
enum class PeerFate : std::uint8_t {
  kStays,
  kLost,    // stays, and has become DOWN
  kDelete,  // silent for long, or its tags are not ours to use again
};
// A tagged buffer of ours may be known to the peer and is open no more: then it must be deleted,
// for a new object has a new session key and a late operation finds no tag.
[[nodiscard]] PeerFate transaction_failed(Peer& peer, Errc cause, bool tag_exposed, Instant now,
                                          Duration timeout);

inline constexpr int kPurgeTimeouts = 5;      // of silence, before a failing peer is forgotten
inline constexpr int kProactiveTimeouts = 2;  // of silence, before it is greeted again

}  // namespace plnet::kfilnd
