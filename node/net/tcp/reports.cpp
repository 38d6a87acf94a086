// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/reports.hpp"

#include <optional>
#include <utility>

#include "drivers/net/tcp/socket.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/lnd.hpp"
#include "node/host/slot_walk.hpp"
#include "node/net/tcp/host.hpp"
#include "node/net/tcp/place.hpp"

namespace plnet::node {
namespace {

using lnet::ConnectionPeerReport;
using lnet::ConnectionReport;
using lnet::Nid;
using lnet::Reply;
using socklnd::Connection;
using socklnd::ConnectionFacts;
using socklnd::ConnectionType;
using socklnd::PeerFacts;
using socklnd::PeerState;
using socklnd::SockLnd;
using socklnd::StreamDetails;

const char* letter_of(ConnectionType type) {
  switch (type) {
    case ConnectionType::kAny: return "A";
    case ConnectionType::kControl: return "C";
    case ConnectionType::kBulkIn: return "I";
    case ConnectionType::kBulkOut: return "O";
    case ConnectionType::kNone: break;
  }
  return "?";
}

const char* name_of(Connection::State state) {
  switch (state) {
    case Connection::State::kDialing: return "connecting";
    case Connection::State::kGreeting:
    case Connection::State::kJudged: return "introducing";
    case Connection::State::kOpen: return "open";
    case Connection::State::kRefusing: return "refusing";
    case Connection::State::kClosing: return "closing";
  }
  return "?";
}

const char* name_of(PeerState state) {
  switch (state) {
    case PeerState::kIdle: return "idle";
    case PeerState::kConnecting: return "connecting";
    case PeerState::kOpen: return "open";
    case PeerState::kBackingOff: return "backing off";
    case PeerState::kClosing: return "closing";
  }
  return "?";
}

std::string text_of(const socklnd::SocketAddress& address) {
  return address == socklnd::SocketAddress{} ? std::string{} : drivers::text_of(address);
}

SockLnd* lnd_of(TcpHost& host, unsigned shard, const Nid& nid) {
  return host.place(shard).inbox().lnd(nid);
}

// The parts of a report: the look at one slot of an LND on its shard, and the conversion on the
// admin thread.
struct OfConnections {
  using Report = ConnectionReport;
  struct Seen {
    ConnectionFacts facts;
    StreamDetails details;
  };
  static std::uint32_t slots(TcpHost& host, unsigned shard, const Nid& nid) {
    SockLnd* const lnd = lnd_of(host, shard, nid);
    return lnd == nullptr ? 0 : lnd->connection_slots();
  }
  static std::optional<Seen> look(TcpHost& host, lnet::Node& node, unsigned shard, const Nid& nid,
                                  std::uint32_t slot, const lnet::ConnectionQuery& query) {
    const auto facts =
        lnd_of(host, shard, nid)->connection_facts(slot, node.shard(shard).core().now);
    if (!facts || (query.nid && facts->peer.nid != *query.nid)) return std::nullopt;
    return Seen{*facts, host.place(shard).streams().driver().details(facts->stream)};
  }
  static Report tell(const Seen& seen, const TcpHost& /*host*/) {
    return connection_report(seen.facts, seen.details);
  }
};

struct OfPeers {
  using Report = ConnectionPeerReport;
  struct Seen {
    PeerFacts facts;
    std::int32_t tx_credits = 0;
    std::int32_t tx_credits_max = 0;
  };
  static std::uint32_t slots(TcpHost& host, unsigned shard, const Nid& nid) {
    SockLnd* const lnd = lnd_of(host, shard, nid);
    return lnd == nullptr ? 0 : lnd->peer_slots();
  }
  static std::optional<Seen> look(TcpHost& host, lnet::Node& node, unsigned shard, const Nid& nid,
                                  std::uint32_t slot, const lnet::ConnectionQuery& query) {
    const lnet::ShardCore& core = node.shard(shard).core();
    const auto facts = lnd_of(host, shard, nid)->peer_facts(slot, core.now);
    if (!facts || (query.nid && facts->id.nid != *query.nid)) return std::nullopt;
    Seen seen{.facts = *facts};
    if (const lnet::PeerNi* const ni = core.shared.directory->find(facts->id.nid)) {
      seen.tx_credits = ni->tx_credits.get();
      seen.tx_credits_max = ni->tx_credits_max.get();
    }
    return seen;
  }
  static Report tell(const Seen& seen, const TcpHost& host) {
    Report report = peer_report(seen.facts);
    socklnd::SocketAddress remote = socket_address(seen.facts.id.nid);
    remote.port = static_cast<std::uint16_t>(host.options().tunables.accept_port);
    report.remote_address = text_of(remote);
    report.tx_credits = seen.tx_credits;
    report.tx_credits_max = seen.tx_credits_max;
    return report;
  }
};

}  // namespace

ConnectionReport connection_report(const ConnectionFacts& facts, const StreamDetails& details) {
  return {.peer = facts.peer,
          .type = letter_of(facts.type),
          .state = name_of(facts.state),
          .local_address = text_of(details.addresses.local),
          .remote_address = text_of(details.addresses.remote),
          .protocol = static_cast<unsigned>(facts.protocol),
          .by_us = facts.by_us,
          .parked = facts.parked,
          .age = facts.age,
          .since_sent = facts.since_sent,
          .since_heard = facts.since_heard,
          .send_count = facts.messages_sent,
          .send_length = facts.bytes_sent,
          .recv_count = facts.messages_received,
          .recv_length = facts.bytes_received,
          .queued_count = facts.messages_queued,
          .queued_length = facts.bytes_queued,
          .transport =
              lnet::TransportReport{.unsent_bytes = details.unsent_bytes,
                                    .unacknowledged_bytes = details.unacknowledged_bytes,
                                    .unread_bytes = details.unread_bytes,
                                    .send_buffer_bytes = details.send_buffer_bytes,
                                    .receive_buffer_bytes = details.receive_buffer_bytes,
                                    .nagle = details.nagle,
                                    .retransmits = details.retransmits,
                                    .round_trip_usec = details.round_trip_usec,
                                    .round_trip_variance_usec = details.round_trip_variance_usec,
                                    .congestion_control = details.congestion_control,
                                    .congestion_window = details.congestion_window,
                                    .segment_bytes = details.segment_bytes,
                                    .napi_id = details.napi_id}};
}

ConnectionPeerReport peer_report(const PeerFacts& facts) {
  const auto open = [&facts](ConnectionType type) {
    return facts.open[static_cast<std::size_t>(type)];
  };
  return {.peer = facts.id,
          .state = name_of(facts.state),
          .references = facts.references,
          .control = open(ConnectionType::kControl),
          .bulk_in = open(ConnectionType::kBulkIn),
          .bulk_out = open(ConnectionType::kBulkOut),
          .other = open(ConnectionType::kAny),
          .wanted = facts.wanted,
          .attempt = facts.attempt,
          .protocol = facts.protocol ? static_cast<unsigned>(*facts.protocol) : 0U,
          .incarnation = facts.incarnation,
          .waiting_count = facts.messages_waiting,
          .queued_count = facts.messages_queued,
          .backoff = facts.backoff,
          .retry_in = facts.retry_in,
          .since_heard = facts.since_heard};
}

void report_connections(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                        Reply<std::vector<ConnectionReport>> reply) {
  report_slots<OfConnections>(desk, host, query, std::move(reply));
}

void report_connection_peers(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                             Reply<std::vector<ConnectionPeerReport>> reply) {
  report_slots<OfPeers>(desk, host, query, std::move(reply));
}

}  // namespace plnet::node
