// SPDX-License-Identifier: BSD-3-Clause
// A bulk connection that lies on another shard than the home of its peer, and what the two shards
// say to one another about it. The home decides: whether there shall be one, whether a HELLO is
// welcome, when it ends. The other shard has the stream. Messages do not come by here: the core
// brings them (lnet::LaneId).
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

// From the home's pool. Each half has one writer; the other shard reads it after the word that says
// that it is there.
struct Lane {
  using Word = LaneWord;
  static constexpr Word kGone = LaneWord::kClosed;
  static constexpr std::size_t kWordsOfHome = 3;   // kDial or kTake, kOpen, kClose
  static constexpr std::size_t kWordsOfOther = 4;  // kReply, kClosed, one more for each late word

  // The home's. Constant from the first word on, but for what only the home looks at.
  Arrival arrival;  // of theirs; of ours: whom to connect to, as what, in which version
  std::uint64_t incarnation = 0;  // of the interface: of one that is replaced there are two
  lnet::ShardId home = 0;
  lnet::ShardId shard = 0;
  std::uint32_t at_home = 0;  // the connection that stands for it there
  std::uint8_t said = 0;      // words to the other shard

  // The other shard's.
  alignas(kNoSharing) Hello reply;  // to our HELLO
  std::uint32_t at_lane = 0;        // the connection itself
  std::uint8_t heard = 0;           // words of the home
  bool was_open = false;
  bool over = false;  // the connection has gone
  // When something was last heard from the peer there. Told as often as connections are looked at.
  Relaxed<Instant> peer_heard;
};

}  // namespace plnet::socklnd
