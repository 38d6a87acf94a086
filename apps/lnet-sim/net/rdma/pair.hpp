// SPDX-License-Identifier: BSD-3-Clause
// A queue pair of RdmaLnd: the requests that it carries one way, and those that came over it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "apps/lnet-sim/net/rdma/wire.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::sim {

struct RdmaPair;

// A remote interface, what waits for it, and our queue pair to it. Lives as long as its link is
// known.
struct RdmaPeer : ListNode<> {
  lnet::PeerLink* link = nullptr;
  lnet::Transmit* first = nullptr;
  lnet::Transmit* last = nullptr;
  std::uint32_t incoming = 0;  // connections of theirs that hold the link
  bool releasing = false;
  RdmaPair* pair = nullptr;
};

// A request of ours.
struct RdmaRequest {
  enum class State : std::uint8_t {
    kFree,
    kSending,      // immediate: until the send is done
    kAsking,       // until the answer comes
    kMustWrite,    // the sink is known, the chain not posted
    kWriting,      // until the chain is done
    kQuarantined,  // told; until the queue pair has drained
  };
  lnet::Transmit* transmit = nullptr;
  std::uint32_t generation = 0;
  State state = State::kFree;
  bool open_sink = false;
  std::uint32_t answer = 0;
  std::uint32_t length = 0;
  std::uint32_t piece_count = 0;
  std::array<RdmaPiece, kRdmaPiecesMax> pieces;
};

// A request of the peer's.
struct RdmaInbound {
  enum class State : std::uint8_t {
    kFree,
    kQueued,  // not offered yet
    kParked,
    kDecided,
    kMustAck,
    kWaiting,    // for the peer's writes
    kMustReply,  // the bytes of a GET
    kReplying,
    kMustSay,  // that there is nothing to transfer
  };
  lnet::MessageHeader header;
  RdmaKind kind = RdmaKind::kImmediate;
  State state = State::kFree;
  std::uint8_t slot = 0;  // kImmediate: where its payload lies
  bool failed = false;
  std::uint32_t rx_generation = 0;
  std::uint32_t request = 0;
  std::uint32_t generation = 0;
  std::uint32_t piece_count = 0;
  std::array<RdmaPiece, kRdmaPiecesMax> pieces;
  lnet::RxDecision decision;
  Instant progress{};
};

struct RdmaPair : ListNode<> {
  static constexpr std::size_t kDepth = 8;           // requests under way
  static constexpr std::size_t kSlots = 2 * kDepth;  // frames, each way
  enum class State : std::uint8_t { kOpening, kOpen, kError };

  // For another use; requests and records keep their generations.
  void begin(o2iblnd::QueuePairId with, bool ours);

  o2iblnd::QueuePairId id;
  State state = State::kOpening;
  bool active = false;  // ours
  bool was_open = false;
  Errc cause = Errc::kReset;
  RdmaPeer* peer = nullptr;
  lnet::Nid from;
  lnet::PeerLink* link = nullptr;
  unsigned credits = 0;
  unsigned owed = 0;
  std::uint8_t used = 0;  // requests, records
  std::uint8_t free_slots = 0;
  std::array<std::uint8_t, kSlots> slots{};  // a stack of those to send from
  std::array<RdmaRequest, kDepth> requests;
  std::array<RdmaInbound, kDepth> inbound;
  std::array<std::uint8_t, kDepth> order{};  // of those not offered yet
  std::uint8_t order_head = 0;
  std::uint8_t order_count = 0;
  bool parked = false;
};

inline void RdmaPair::begin(o2iblnd::QueuePairId with, bool ours) {
  id = with;
  state = State::kOpening;
  active = ours;
  was_open = parked = false;
  cause = Errc::kReset;
  peer = nullptr;
  link = nullptr;
  credits = ours ? kDepth : 0;
  owed = 0;
  used = 0;
  order_head = order_count = 0;
  free_slots = kSlots;
  for (std::size_t i = 0; i < kSlots; ++i)
    slots[i] = static_cast<std::uint8_t>(i);
}

}  // namespace plnet::sim
