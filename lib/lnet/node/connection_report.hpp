// SPDX-License-Identifier: BSD-3-Clause
// Reports of network drivers with connections for `lnetctl conn`: copies of one moment, as plain
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

// Selects connections; an absent field matches all.
struct ConnectionQuery {
  std::optional<NetId> net;
  std::optional<Nid> nid;  // of the peer
};

// The state of a socket in the transport.
struct TransportReport {
  std::uint64_t unsent_bytes = 0;          // in the socket, not sent yet
  std::uint64_t unacknowledged_bytes = 0;  // these, and those under way
  std::uint64_t unread_bytes = 0;
  std::uint32_t send_buffer_bytes = 0;
  std::uint32_t receive_buffer_bytes = 0;
  bool nagle = false;
  std::uint64_t retransmits = 0;
  std::uint32_t round_trip_usec = 0;
  std::uint32_t round_trip_variance_usec = 0;
  std::string congestion_control{};     // the system's name for it; "" without one
  std::uint32_t congestion_window = 0;  // segments
  std::uint32_t segment_bytes = 0;
  std::uint32_t napi_id = 0;
};

// The state of a queue pair in its driver.
struct QueuePairReport {
  std::uint32_t depth = 0;          // credits of each side
  std::uint32_t fragments_max = 0;  // in one transfer
  std::uint32_t credits = 0;        // credits for our sends
  std::uint32_t reserved = 0;       // transfers that may begin
  std::uint32_t owed = 0;           // credits to return
  std::uint32_t posted = 0;         // sends that have not completed
  std::uint32_t held = 0;           // messages of the peer in work
  std::uint64_t incarnation = 0;    // of the peer
};

struct ConnectionReport {
  Nid local;
  ProcessId peer;
  ShardId shard = 0;
  std::string type;            // in lctl's notation: A any, C control, I bulk in, O bulk out
  std::string state;           // in the words of its driver
  std::string local_address;   // 10.0.0.1:988; "" if there is none
  std::string remote_address;  // the same
  unsigned protocol = 0;       // its version
  bool by_us = false;          // this node has made it
  bool parked = false;         // this node does not read from it for now
  // Absent: not yet.
  std::optional<Duration> age{};
  std::optional<Duration> since_sent{};
  std::optional<Duration> since_heard{};
  std::uint64_t send_count = 0;
  std::uint64_t send_length = 0;
  std::uint64_t recv_count = 0;
  std::uint64_t recv_length = 0;
  std::uint32_t queued_count = 0;  // messages that the transport has not taken whole
  std::uint64_t queued_length = 0;
  std::optional<TransportReport> transport{};   // of a socket
  std::optional<QueuePairReport> queue_pair{};  // or this
};

// A peer as a network driver has it on one shard.
struct ConnectionPeerReport {
  Nid local;
  ProcessId peer;
  ShardId shard = 0;
  std::string state;
  std::string remote_address;  // where it is connected to
  std::uint32_t references = 0;
  std::uint32_t control = 0;  // connections that are open, by type
  std::uint32_t bulk_in = 0;
  std::uint32_t bulk_out = 0;
  std::uint32_t other = 0;
  std::uint32_t wanted = 0;  // in all
  bool attempt = false;      // one more is being made
  unsigned protocol = 0;     // 0: not known
  std::uint64_t incarnation = 0;
  std::uint32_t waiting_count = 0;  // messages that wait for a connection
  std::uint32_t queued_count = 0;   // messages on connections
  std::int32_t tx_credits = 0;
  std::int32_t tx_credits_max = 0;
  Duration backoff{};
  Duration retry_in{};
  std::optional<Duration> since_heard{};

  [[nodiscard]] std::uint32_t connections() const { return control + bulk_in + bulk_out + other; }
};

}  // namespace plnet::lnet
