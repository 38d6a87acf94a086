// SPDX-License-Identifier: BSD-3-Clause
// A connection that lies on another shard than the home of its peer, and the words of the two
// shards about it. The home decides when it is made, accepts the peer, judges its answers and
// closes the connection. The other shard has the queue pair, its messages, credits and timeouts.
// Messages take another path: the core brings them to the lane (lnet::LaneId).
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
  // Words of the home.
  kDial,   // connect
  kTake,   // accept this request, which the home has approved
  kOpen,   // both sides have agreed: messages may flow
  kClose,  // close the connection in any state
  // Words of the other shard.
  kEstablished,   // the queue pair is up; received messages wait for kOpen
  kRejected,      // the peer has turned our request down
  kDisconnected,  // the connection has ended, or was never established
  kDrained,       // the other shard has released the connection
};

// From the home's pool. Each half has one writer and cache lines of its own. The other shard reads
// it after the word that announces it.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Lane {
  using Word = LaneWord;
  static constexpr Word kGone = LaneWord::kDrained;
  static constexpr std::size_t kWordsOfHome = 3;  // kDial or kTake, kOpen, kClose
  // kEstablished, kRejected or kDisconnected, kDrained, one more for each late word.
  static constexpr std::size_t kWordsOfOther = 5;

  // Written by the home. The offer and the peer's incarnation are the wanted ones until kOpen, then
  // the agreed ones. The rest is constant from the first word on, or read by the home alone.
  lnet::Nid local;
  lnet::Nid peer;
  std::uint64_t own_incarnation = 0;  // tells a replaced interface from the new one
  Offer offer;
  std::uint64_t incarnation = 0;
  HandedRequest request;  // kTake
  lnet::ShardId home = 0;
  lnet::ShardId shard = 0;
  std::uint32_t at_home = 0;  // slot of the stand-in
  std::uint8_t said = 0;      // number of words to the other shard

  // Written by the other shard.
  alignas(kNoSharing) Offer asked;  // less deep than wanted, if memory is short
  RejectKind reject_kind = RejectKind::kOther;
  bool rejected = false;
  bool over = false;          // the connection has gone
  std::uint8_t heard = 0;     // number of words from the home
  std::uint32_t at_lane = 0;  // slot of the connection itself
  std::uint32_t data_bytes = 0;
  std::array<std::byte, kAcceptDataBytesMax> data{};  // private data of the peer's answer
  // Time of the last sign of the peer on that shard, updated at each check of the connections.
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
