// SPDX-License-Identifier: BSD-3-Clause
// A bulk connection on another shard than the home of its peer, and the notes that the two shards
// exchange about it. The home decides whether there is one, whether a HELLO is accepted, and when
// it ends. The other shard has the stream. Messages take another way: the core brings them
// (lnet::LaneId).
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/peers/net_interface.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

enum class LaneWord : std::uint8_t {
  // Words of the home.
  kDial,   // connect
  kTake,   // adopt the connection of a peer that the home has accepted
  kOpen,   // the answer to our HELLO is valid
  kClose,  // close the connection in any state
  // Words of the other shard.
  kReply,   // the peer has answered our HELLO; reading stops until kOpen
  kClosed,  // the connection is gone, or was never made
};

// Taken from the home's pool. Each half has one writer; the other shard reads it after the note
// that announces it.
struct Lane {
  using Word = LaneWord;
  static constexpr Word kGone = LaneWord::kClosed;
  static constexpr std::size_t kWordsOfHome = 3;   // kDial or kTake, kOpen, kClose
  static constexpr std::size_t kWordsOfOther = 4;  // kReply, kClosed, one more for each late word

  // Written by the home. Constant from the first word on, except fields that only the home reads.
  Arrival arrival;                // an accepted connection; of ours: its peer, type and version
  std::uint64_t incarnation = 0;  // of the interface: while one is replaced there are two
  lnet::ShardId home = 0;
  lnet::ShardId shard = 0;
  std::uint32_t at_home = 0;  // the slot of its stand-in there
  std::uint8_t said = 0;      // words sent to the other shard

  // Written by the other shard.
  alignas(kNoSharing) Hello reply;  // to our HELLO
  std::uint32_t at_lane = 0;        // the slot of the connection
  std::uint8_t heard = 0;           // words received from the home
  bool was_open = false;
  bool over = false;  // the connection has gone
  // The last time that the peer was heard of there. Updated whenever connections are checked.
  Relaxed<Instant> peer_heard;
};

}  // namespace plnet::socklnd
