// SPDX-License-Identifier: BSD-3-Clause
// The calls of a program that embeds LNet: attach memory, put, get. There is one object for each
// shard; all calls are made on that shard, between or inside its turns, and never block. Results
// come to the MD's EventHandler on the same shard.
#pragma once

#include <cstdint>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct PutSpec {
  ProcessId target;
  Nid from = Nid::any();  // the NID of this node to send from; any: the best
  PortalId portal = 0;
  std::uint64_t match_bits = 0;
  std::uint64_t header_data = 0;
  std::uint32_t offset = 0;  // used by remotely managed MDs
  bool ack = true;
  bool recovery = false;  // to this NID only, never sent again
};

struct GetSpec {
  ProcessId target;
  Nid from = Nid::any();
  PortalId portal = 0;
  std::uint64_t match_bits = 0;
  std::uint32_t offset = 0;
  bool recovery = false;
};

struct Attached {
  MeHandle me;
  MdHandle md;
};

class DataOperations {
 public:
  virtual ~DataOperations() = default;

  // Messages that match may use the MD from now on. kNotPermitted: the portal is used for the other
  // kind of match (unique or wildcard). kNoMemory: all descriptors are in use. kInvalid: options,
  // lengths or portal.
  [[nodiscard]] virtual Result<Attached> attach(const MeSpec& me, const MdSpec& md) = 0;
  // Makes an MD to put from or get into.
  [[nodiscard]] virtual Result<MdHandle> bind(const MdSpec& md) = 0;
  // No new operation begins. The last event, now or at the end of those under way, has `unlinked`
  // set. kNotFound: the MD is gone.
  virtual Result<void> unlink(MdHandle md) = 0;
  virtual Result<void> unlink(MeHandle me) = 0;

  // A failure returned here has no event. Any other operation ends in a SEND event, and in an ACK,
  // a REPLY or the MD's response timeout. Each event uses one of the MD's threshold.
  virtual Result<void> put(MdHandle md, const PutSpec& put) = 0;
  virtual Result<void> get(MdHandle md, const GetSpec& get) = 0;

  [[nodiscard]] virtual ShardId shard() const = 0;

  // True: a message sent from our NID to theirs, or its answer, may be lost. Our NI has failed or
  // is gone, or the peer NI cannot be connected or is marked down. Cold: callers do not ask for
  // each message.
  [[nodiscard]] virtual bool is_down(const Nid& /*ours*/, const Nid& /*theirs*/) const {
    return false;
  }
};

}  // namespace plnet::lnet
