// SPDX-License-Identifier: BSD-3-Clause
// The state of one connection and of one peer for reports: copies, made without a system call. The
// driver reports the state of the socket (StreamDetails).
// lustre-release lnet/klnds/socklnd/socklnd.c: ksocknal_ctl(), IOC_LIBCFS_GET_CONN and GET_PEER.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/socklnd/byte_stream.hpp"
#include "lib/socklnd/connection.hpp"
#include "lib/socklnd/peer.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

struct ConnectionFacts {
  lnet::ProcessId peer;
  StreamId stream;
  ConnectionType type = ConnectionType::kControl;
  Connection::State state = Connection::State::kDialing;
  Protocol protocol = Protocol::kV3;
  bool by_us = false;
  bool parked = false;  // reading waits for a decision, or for room
  // Absent before the first such event; all are absent of a connection that has not opened.
  std::optional<Duration> age{};
  std::optional<Duration> since_sent{};
  std::optional<Duration> since_heard{};
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;  // that TCP has taken
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint32_t messages_queued = 0;  // that TCP has not taken whole
  std::uint64_t bytes_queued = 0;
};

enum class PeerState : std::uint8_t {
  kIdle,        // no connection, and none is wanted
  kConnecting,  // an attempt is under way, and there is no connection yet
  kOpen,
  kBackingOff,  // the last attempt has failed, the next is to come
  kClosing,
};

struct PeerFacts {
  lnet::ProcessId id;
  PeerState state = PeerState::kIdle;
  std::uint32_t references = 0;                        // its table, its link, its connections
  std::array<std::uint16_t, kConnectionTypes> open{};  // by type
  std::uint16_t wanted = 0;                            // connections in all, if we make them
  bool attempt = false;                                // one is under way
  std::optional<Protocol> protocol{};
  std::uint64_t incarnation = 0;       // 0: not known
  std::uint32_t messages_waiting = 0;  // for a connection
  std::uint32_t messages_queued = 0;   // on connections
  Duration backoff{};                  // 0: the last attempt did not fail
  Duration retry_in{};
  std::optional<Duration> since_heard{};
};

[[nodiscard]] ConnectionFacts facts_of(const Connection& connection, Instant now);
[[nodiscard]] PeerFacts facts_of(Peer& peer, const ConnectionQuota& quota, Instant now);

}  // namespace plnet::socklnd
