// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/connection_choice.hpp"

namespace plnet::socklnd {

namespace {

enum class Fit : std::uint8_t { kNo, kMaybe, kYes };
enum class Kind : std::uint8_t { kMessage, kNoop, kNonblockingNoop };

// lustre-release socklnd_proto.c: ksocknal_match_tx(), ksocknal_match_tx_v3().
Fit fit_of(const Connection& connection, Kind kind, bool large) {
  const bool v2 = connection.protocol == Protocol::kV2;
  const bool elsewhere = kind == Kind::kNonblockingNoop && !v2;
  switch (connection.type) {
    case ConnectionType::kAny: return v2 ? Fit::kYes : Fit::kNo;
    case ConnectionType::kControl:
      if (elsewhere) return Fit::kNo;
      return large ? Fit::kMaybe : Fit::kYes;
    case ConnectionType::kBulkOut:
      if (elsewhere) return Fit::kNo;
      return large ? Fit::kYes : Fit::kMaybe;
    case ConnectionType::kBulkIn:
      if (elsewhere) return Fit::kYes;
      return v2 || kind != Kind::kMessage ? Fit::kMaybe : Fit::kNo;
    default: return Fit::kNo;
  }
}

bool is_large(std::uint64_t wire_bytes, const Tunables& tunables) {
  return wire_bytes >= static_cast<std::uint64_t>(tunables.min_bulk);
}

// Bytes in socket buffers are not counted: a query costs a system call.
template <class FitOf>
Connection* choose_by(Peer& peer, const Tunables& tunables, FitOf&& fit_of) {
  Connection* best = nullptr;
  Fit best_fit = Fit::kNo;
  peer.connections.for_each([&](Connection& connection) {
    if (connection.state != Connection::State::kOpen || connection.away) return;
    const Fit fit = fit_of(connection);
    if (fit == Fit::kNo || fit < best_fit) return;
    const bool emptier = best == nullptr || connection.queued_bytes < best->queued_bytes;
    const bool turn = best != nullptr && tunables.round_robin != 0 &&
                      connection.queued_bytes == best->queued_bytes &&
                      connection.last_post < best->last_post;
    if (fit > best_fit || emptier || turn) {
      best = &connection;
      best_fit = fit;
    }
  });
  return best;
}

}  // namespace

// While the peer is closing, its other connections are closed in the same turn, and would lose the
// message.
Connection* choose_connection(Peer& peer, const lnet::Transmit& transmit,
                              const Tunables& tunables) {
  if (peer.closing) return nullptr;
  return choose_by(peer, tunables, [&](const Connection& connection) {
    const std::uint64_t bytes = wire_bytes(connection.protocol, transmit);
    return fit_of(connection, Kind::kMessage, is_large(bytes, tunables));
  });
}

Connection* choose_for_noop(Peer& peer, bool nonblocking, const Tunables& tunables) {
  const Kind kind = nonblocking ? Kind::kNonblockingNoop : Kind::kNoop;
  return choose_by(peer, tunables, [&](const Connection& connection) {
    return fit_of(connection, kind, is_large(kFrameBytes, tunables));
  });
}

}  // namespace plnet::socklnd
