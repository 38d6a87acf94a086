// SPDX-License-Identifier: BSD-3-Clause
// The writer's records of peers, with the links between peer, peer nets and peer NIs in LNet's
// order. Only the coordinator's shard uses the members added here.
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

struct PeerRecord;
struct PeerNetRecord;
struct ViewBlock;

// Flags of an operation on a peer are those of its state: kPeerConfigured, kPeerMultiRail,
// kPeerLockPrimary, kPeerRouterNiForceDelete.
using PeerFlags = std::uint32_t;

enum class PeerNiStage : std::uint8_t {
  kFree,
  kLive,
  kDetached,   // without a peer; flush() removes it unless a peer takes it first
  kLeaving,    // readers may still hold it
  kReleasing,  // its home shard gives up all that refers to it
  kGone,       // messages that have ended may still name it
};

// A base class, so that it uses the free bytes of PeerNi's last word: a record is two lines.
struct PeerNiStaged {
  PeerNiStage stage = PeerNiStage::kFree;
  // An NI of a gateway that has not answered a check. While it is silent, only its own messages
  // take it up, not the reports of others.
  bool silent = false;
};

// In one list at a time: of its peer net while it is live, then of its stage.
struct PeerNiRecord : PeerNi, PeerNiStaged, ListNode<> {
  union {
    PeerNetRecord* in_net = nullptr;  // kLive
    Qsbr::Grace grace;                // kLeaving, kGone
  };
};

struct PeerNetRecord : ListNode<> {
  NetId net = 0;
  std::uint32_t priority = kPriorityLowest;
  std::uint16_t count = 0;
  PeerRecord* peer = nullptr;
  IntrusiveList<PeerNiRecord> nis;  // the primary first, then as they came
  Qsbr::Grace grace = 0;
};

// The list node: the peer waits for a new view, or is dead.
struct PeerRecord : Peer, ListNode<> {
  Nid primary;
  std::uint16_t ni_count = 0;
  std::uint8_t view_class = 0;
  bool dead = false;
  IntrusiveList<PeerNetRecord> nets;
  std::uint32_t holds = 0;         // users that need it to stay: discovery, waiting messages
  std::uint32_t gateway_refs = 0;  // routes through it
  std::uint32_t leaving_nis = 0;   // interfaces that still name it
  std::uint32_t lock_order = 0;    // the order in which primary NIDs were locked
  ViewBlock* block = nullptr;
  Instant created{};
  Qsbr::Grace grace = 0;

  void add_state(std::uint32_t bits) { set_state(state.get() | bits); }
  void drop_state(std::uint32_t bits) { set_state(state.get() & ~bits); }
  [[nodiscard]] bool has(std::uint32_t any_of) const { return (state.get() & any_of) != 0; }
};

static_assert(sizeof(PeerNiRecord) == 2 * kCacheLine && sizeof(PeerRecord) == 2 * kCacheLine,
              "a peer with one interface costs little");

[[nodiscard]] inline PeerRecord& record_of(Peer& peer) {
  return static_cast<PeerRecord&>(peer);
}
[[nodiscard]] inline const PeerRecord& record_of(const Peer& peer) {
  return static_cast<const PeerRecord&>(peer);
}
[[nodiscard]] inline PeerNiRecord& record_of(PeerNi& ni) {
  return static_cast<PeerNiRecord&>(ni);
}
[[nodiscard]] inline const PeerNiRecord& record_of(const PeerNi& ni) {
  return static_cast<const PeerNiRecord&>(ni);
}

}  // namespace plnet::lnet
