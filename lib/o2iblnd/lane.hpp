// SPDX-License-Identifier: BSD-3-Clause
// A connection that lies on another shard than the home of its peer, and what the two shards say to
// one another about it. The home decides: whether there shall be one, who may connect, what an
// answer is worth, when it ends. The other shard has the queue pair, its messages, credits and
// timeouts. Messages do not come by here: the core brings them (lnet::LaneId).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/flow/lane_exchange.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/o2iblnd/negotiation.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::o2iblnd {

enum class LaneWord : std::uint8_t {
  // The home's.
  kDial,   // connect
  kTake,   // the request of a peer that is welcome: accept it
  kOpen,   // both sides have agreed: messages may flow
  kClose,  // whatever it is doing
  // The other shard's.
  kEstablished,   // the queue pair is up; what is received waits for kOpen
  kRejected,      // the peer has turned our request down
  kDisconnected,  // it has ended, or never came to anything
  kDrained,       // nothing is left of it
};

// From the home's pool. Each half has one writer; the other shard reads it after the word that says
// that it is there.
struct Lane {
  using Word = LaneWord;
  static constexpr Word kGone = LaneWord::kDrained;
  static constexpr std::size_t kWordsOfHome = 3;  // kDial or kTake, kOpen, kClose
  // kEstablished, kRejected or kDisconnected, kDrained, one more for each late word.
  static constexpr std::size_t kWordsOfOther = 5;

  // The home's. The offer and the peer's incarnation are those to ask for, and with kOpen those
  // that hold; the rest is constant from the first word on, but for what only the home looks at.
  lnet::Nid local;
  lnet::Nid peer;
  std::uint64_t own_incarnation = 0;  // of the interface: of one that is replaced there are two
  Offer offer;
  std::uint64_t incarnation = 0;
  HandedRequest request;  // kTake
  lnet::ShardId home = 0;
  lnet::ShardId shard = 0;
  std::uint32_t at_home = 0;  // the connection that stands for it there
  std::uint8_t said = 0;      // words to the other shard

  // The other shard's.
  alignas(kNoSharing) Offer asked;  // less deep than wanted, if memory is short
  RejectKind reject_kind = RejectKind::kOther;
  bool rejected = false;
  bool over = false;          // the connection has gone
  std::uint8_t heard = 0;     // words of the home
  std::uint32_t at_lane = 0;  // the connection itself
  std::uint32_t data_bytes = 0;
  std::array<std::byte, kAcceptDataBytesMax> data{};  // of the peer's answer
  // When something was last heard from the peer there. Told as often as connections are looked at.
  Relaxed<Instant> peer_heard;

  void keep(std::span<const std::byte> answer) {
    data_bytes = static_cast<std::uint32_t>(std::min(answer.size(), data.size()));
    std::copy_n(answer.begin(), data_bytes, data.begin());
  }
  [[nodiscard]] std::span<const std::byte> answer() const { return {data.data(), data_bytes}; }
};
static_assert(kRejectDataBytesMax <= kAcceptDataBytesMax);

using LaneNote = lnet::LaneNoteOf<Lane>;
using LaneEnd = lnet::LaneEndOf<Lane>;
using LaneExchange = lnet::LaneExchangeOf<Lane>;

}  // namespace plnet::o2iblnd
