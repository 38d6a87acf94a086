// SPDX-License-Identifier: BSD-3-Clause
// What the acceptor asks of whoever knows all shards: which interfaces are ours, and to bring a
// stream whose maker has introduced itself to the home shard of that peer.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/lnet/names/nid.hpp"
#include "lib/socklnd/byte_stream.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

// A stranger no longer. The home judges races, incarnations and duplicates, and answers.
struct Arrival {
  DetachedStream stream;
  Hello hello;
  bool swapped = false;  // its frames come in the other byte order
  lnet::Nid local;       // the interface of ours that it asked for
  lnet::ProcessId peer;  // who it is to us: not what it says if its port is not a reserved one
  ConnectionType type = ConnectionType::kControl;  // as we see it
  bool proven = true;  // its address is the NID's, or one that the NID has listed
};

struct LocalInterface {
  std::uint32_t pid = lnet::kLustrePid;
  std::uint64_t incarnation = 0;
};

enum class Room : std::uint8_t {
  kFree,
  kLater,  // it comes free by itself, or the peer's turn comes: ask again
  kNone,
};

class PeerHomes {
 public:
  virtual ~PeerHomes() = default;
  // Nothing unless the NID is exactly one of our TCP interfaces.
  [[nodiscard]] virtual std::optional<LocalInterface> local(const lnet::Nid& nid) const = 0;
  // The site lets this peer connect to that interface. All may, unless somebody has rules.
  [[nodiscard]] virtual bool admits(const Arrival& /*arrival*/) { return true; }
  // Whether hand_over() can take one more now. Comes first, since a stream that has been detached
  // cannot be closed here any more.
  [[nodiscard]] virtual Room room_for(const Arrival& arrival) = 0;
  // Ends in SockLnd::take() on the home shard, from between two of its turns.
  virtual void hand_over(const Arrival& arrival) = 0;
};

}  // namespace plnet::socklnd
