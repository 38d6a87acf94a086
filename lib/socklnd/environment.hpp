// SPDX-License-Identifier: BSD-3-Clause
// The parts of one TCP LND share its configuration, its core, its streams and its counters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/socklnd/complaints.hpp"
#include "lib/socklnd/lane_exchange.hpp"
#include "lib/socklnd/lnd_counters.hpp"
#include "lib/socklnd/outgoing.hpp"
#include "lib/socklnd/peer.hpp"
#include "lib/socklnd/stream_switch.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::socklnd {

struct SockLndConfig {
  lnet::Nid nid;
  std::uint32_t pid = lnet::kLustrePid;
  // Identifies this life of the interface: the same on all its shards, another after a restart.
  std::uint64_t incarnation = 1;
  const ArenaTable* arenas = nullptr;
  Tunables tunables;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // if sock_timeout is 0
  std::uint32_t link_mbps = 0;                           // 0: unknown
  bool privileged = true;    // we may use reserved ports; else peers must accept all
  LaneEnd* lanes = nullptr;  // of this shard; null: the shard is alone in its CPT
  std::size_t peers_max = 64;
  std::size_t connections_max = 256;
  // A forwarded payload of which so much is still to come may go from socket to socket; 0: none
  // does. Below 128 KiB a copy costs less than the wait, two socket options and a pipe.
  std::uint32_t relay_bytes_min = 0;
  // The time that our interface may be down, or that the peer's may be down by its own word while
  // its TCP does not answer, before its connections are closed. 0: they stay open.
  Duration down_grace{};
  // The time that the peer's TCP may leave data of ours unanswered; 0: the LND timeout.
  Duration silence_max{};
  // The least bytes a second of an incoming payload, else its connection is closed: the payload
  // occupies a router buffer or local memory. 0: any progress within the timeout is enough.
  std::uint32_t payload_rate_min = 0;
  // Payloads up to this size may be copied on their way out; 0: the LND reads no payload.
  std::uint32_t copied_bytes_max = Outgoing::kCopiedPayloadMax;
  Instant start{};
  Complaints* complaints = nullptr;  // null: complaints are not reported
};

// Payloads from this size on make messages of min_bulk bytes.
[[nodiscard]] std::uint32_t bulk_bytes_min(const SockLndConfig& config);
// The address of an interface; an IPv4 address is v4-mapped.
[[nodiscard]] SocketAddress address_of(const lnet::Nid& nid, std::int64_t port);

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the counters lie apart
struct Environment {
  using Id = SockLndCounters::Id;

  Environment(const SockLndConfig& the_config, lnet::LndUpcalls& the_core,
              StreamSwitch& the_streams);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  [[nodiscard]] StreamDriver& driver() const { return streams.driver(); }
  void count(Id id, std::uint64_t amount = 1) { counters.add(id, amount); }
  // Reports a peer that broke a rule. The caller counts it.
  void complain(const lnet::Nid& nid, Id why) const;
  void set_tunables(const Tunables& tunables);

  // The version that a first HELLO to this peer has.
  [[nodiscard]] Protocol usual_protocol(const Peer& peer) const {
    const bool large = config.nid.is_large() || peer.id.nid.is_large();
    return large ? Protocol::kV4 : Protocol::kV3;
  }
  // Messages of a V2 connection have checksums if the site wants them.
  [[nodiscard]] bool has_checksums(Protocol protocol) const {
    return protocol == Protocol::kV2 && config.tunables.enable_csum != 0;
  }
  // A message may reach a lane before the note that makes it: notes are taken a few at a time.
  [[nodiscard]] bool has_all_notes() const {
    return config.lanes == nullptr || config.lanes->empty();
  }

  SockLndConfig config;  // constant but for the tunables
  Duration timeout;
  ConnectionQuota quota;
  lnet::LndUpcalls& core;
  StreamSwitch& streams;
  bool shutting_down = false;
  std::size_t receiving = 0;  // messages that were offered to the core and are not over
  Instant flushed{};          // the time of the last flush
  Counters<SockLndCounters> counters;
};

}  // namespace plnet::socklnd
