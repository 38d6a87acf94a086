// SPDX-License-Identifier: BSD-3-Clause
// The acceptor's view of all shards: our interfaces, and the home shards of peers, to which streams
// go after their HELLO.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/lnet/names/nid.hpp"
#include "lib/socklnd/byte_stream.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

// An introduced connection. The home judges races, incarnations and duplicates, and answers.
struct Arrival {
  DetachedStream stream;
  Hello hello;
  bool swapped = false;  // its frames have the other byte order
  lnet::Nid local;       // the interface of ours that it requested
  lnet::ProcessId peer;  // from its HELLO; from its address if its port is not a reserved one
  ConnectionType type = ConnectionType::kControl;  // from our point of view
  bool proven = true;  // its address is that of the NID, or one that the NID has listed
};

struct LocalInterface {
  std::uint32_t pid = lnet::kLustrePid;
  std::uint64_t incarnation = 0;
};

enum class Room : std::uint8_t {
  kFree,
  kLater,  // there will be room, or the peer's turn comes: ask again
  kNone,
};

class PeerHomes {
 public:
  virtual ~PeerHomes() = default;
  // Nothing unless the NID is one of our TCP interfaces.
  [[nodiscard]] virtual std::optional<LocalInterface> local(const lnet::Nid& nid) const = 0;
  // The site lets this peer connect to that interface. Without rules all peers may.
  [[nodiscard]] virtual bool admits(const Arrival& /*arrival*/) { return true; }
  // Whether hand_over() can take one more now. Asked before the stream is detached, since a
  // detached stream cannot be closed here any more.
  [[nodiscard]] virtual Room room_for(const Arrival& arrival) = 0;
  // Ends in SockLnd::accept() on the home shard, between two of its turns.
  virtual void hand_over(const Arrival& arrival) = 0;
};

}  // namespace plnet::socklnd
