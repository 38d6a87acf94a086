// SPDX-License-Identifier: BSD-3-Clause
// The state of one peer's discovery, beside the bits of its state that all shards see. The names in
// brackets are the kernel's (lustre-release lnet/include/lnet/lib-types.h: struct lnet_peer).
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/peers/peer_records.hpp"

namespace plnet::lnet {

// Waits until a NID's peer is up to date. Belongs to the caller until done() is called, inside
// Discovery::step().
class DiscoverRequest : public ListNode<> {
 public:
  virtual ~DiscoverRequest() = default;
  virtual void done(Result<void> outcome) = 0;

  Nid nid;
  std::uint32_t rounds = 0;
};

enum class DiscoveryPlace : std::uint8_t {
  kNone,
  kRequested,  // to be looked at
  kWorking,    // an event will come
  kStarved,    // waits for a slot
  kShort,      // waits for a message record, until the next serve_waiting()
};

struct PeerDiscovery : ListNode<> {
  PeerRecord* peer = nullptr;
  DiscoveryPlace place = DiscoveryPlace::kNone;
  bool incomplete = false;           // a NID could not be merged yet
  std::uint16_t retries = 0;         // of useless replies, in this discovery
  std::uint32_t data_bytes = 0;      // the size of the peer's buffer (lp_data_bytes)
  std::uint32_t peer_sequence = 0;   // of its buffer (lp_peer_seqno)
  std::uint32_t acked_sequence = 0;  // of our buffer, as acknowledged by the peer (lp_node_seqno)
  Nid source = Nid::any();           // ours that the ping went from (lp_disc_src_nid)
  Nid target = Nid::any();           // the NID of the peer that answered (lp_disc_dst_nid)
  Nid check_from = Nid::any();       // the source of the next ping; any: the best
  Nid check_target = Nid::any();
  bool asked = false;     // such a ping was sent, though its connection may be lost since
  bool answered = false;  // and there was a reply
  Result<void> error;     // of the last discovery (lp_dc_error)
  Result<void> ping_error;
  Result<void> push_error;
  PingExchange* ping = nullptr;
  PingExchange* push = nullptr;
  PingExchange* data = nullptr;   // received, to be merged (lp_data)
  IntrusiveList<Parcel> parcels;  // messages that wait (lp_dc_pendq)
  IntrusiveList<DiscoverRequest> waiters;

  // It is the check of a gateway.
  [[nodiscard]] bool is_check() const { return !check_target.is_any(); }
};

}  // namespace plnet::lnet
