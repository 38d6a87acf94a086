// SPDX-License-Identifier: BSD-3-Clause
// One peer of an LND: its address, the session keys of both sides, and whether messages may be sent
// to it. lustre-release lnet/klnds/kfilnd/kfilnd_peer.c.
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
  kStale = 3,  // a transaction has failed: still sent to, after a new HELLO
  kDown = 4,   // absent, says the fabric
  kWaitResponse = 5,
};
[[nodiscard]] std::string_view name_of(PeerState state);

enum class HelloState : std::uint8_t {
  kNone,
  kInit,     // waits until fewer HELLOs are under way
  kSending,  // until the peer answers or the HELLO fails
};

struct ForStamp;
struct ForHello;

struct Peer : ListNode<ForStamp>, ListNode<ForHello> {
  lnet::Nid nid;
  std::uint64_t nid64 = 0;
  PeerAddress address = kNoAddress;
  lnet::PeerLink* link = nullptr;
  Peer* next_in_bucket = nullptr;

  PeerState state = PeerState::kNew;
  HelloState hello_state = HelloState::kNone;
  const Transaction* hello = nullptr;  // the last HELLO that was sent; only compared
  bool hello_failed = false;           // nothing was heard of it since a HELLO failed
  bool removed = false;                // from the cache; its transactions still end
  bool guest = false;                  // its home is another receive context of the interface
  std::uint8_t rx_base = 0;
  std::uint16_t version = 0;  // 0: nothing negotiated yet
  std::uint32_t local_session_key = 0;
  std::uint32_t remote_session_key = 0;
  std::uint32_t users = 0;   // transactions
  std::uint32_t parked = 0;  // of those, messages that wait for the core
  Instant last_alive{};
  Instant hello_at{};
  IntrusiveList<Transaction, ForTurn> throttled;  // until a handshake ends

  // Messages may be sent to it; otherwise they wait.
  [[nodiscard]] bool is_usable() const {
    return state == PeerState::kUpToDate || state == PeerState::kStale;
  }
  // Its HELLO waits until fewer are under way.
  [[nodiscard]] bool waits_for_hello_turn() const { return ListNode<ForHello>::linked(); }
  void leave_hello_queue() {
    if (waits_for_hello_turn()) ListNode<ForHello>::unlink();
  }
  // A HELLO has to be sent first. `proactive`: also after a long silence, which only messages that
  // we send ask for.
  [[nodiscard]] bool needs_hello(Instant now, Duration timeout, bool proactive) const;
  [[nodiscard]] Target untagged_target() const { return {address, rx_base}; }
  // The version of messages to it: before a HELLO has come, the newest.
  [[nodiscard]] std::uint16_t spoken_version() const {
    return version == 0 ? kVersionMax : version;
  }
  // The HELLO is of another life of the peer. Its keys count up, one for each record that it makes:
  // a few more, and it has only made another record of us.
  [[nodiscard]] bool has_restarted(const Hello& received) const {
    return version != 0 && received.session_key - remote_session_key > kForgottenMax;
  }
  static constexpr std::uint32_t kForgottenMax = 1U << 16U;
};

// The effect of a failed transaction on its peer.
enum class PeerFate : std::uint8_t {
  kStays,
  kLost,    // stays, and has become DOWN
  kDelete,  // it was silent for long, or its tags must not be used again
};
// `tag_exposed`: the peer may know the tag of a buffer of ours that is not laid open any more. Then
// its record is deleted: the next one has another session key, and a late operation finds no tag.
[[nodiscard]] PeerFate transaction_failed(Peer& peer, Errc cause, bool tag_exposed, Instant now,
                                          Duration timeout);

inline constexpr int kPurgeTimeouts = 5;      // of silence, before a failing peer is forgotten
inline constexpr int kProactiveTimeouts = 2;  // of silence until the next HELLO

}  // namespace plnet::kfilnd
