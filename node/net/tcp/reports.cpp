// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/reports.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "drivers/net/tcp/socket.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/lnd.hpp"
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

// What is asked of one slot of one LND on its shard, and what becomes of it on the admin thread.
struct OfConnections {
  using Report = ConnectionReport;
  struct Seen {
    ConnectionFacts facts;
    StreamDetails details;
  };
  static std::uint32_t slots(const SockLnd& lnd) { return lnd.connection_slots(); }
  static std::optional<Seen> look(lnet::Node& node, TcpPlace& place, unsigned shard, SockLnd& lnd,
                                  std::uint32_t slot, const std::optional<Nid>& only) {
    const auto facts = lnd.connection_facts(slot, node.shard(shard).core().now);
    if (!facts || (only && facts->peer.nid != *only)) return std::nullopt;
    return Seen{*facts, place.streams().driver().details(facts->stream)};
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
  static std::uint32_t slots(const SockLnd& lnd) { return lnd.peer_slots(); }
  static std::optional<Seen> look(lnet::Node& node, TcpPlace& /*place*/, unsigned shard,
                                  SockLnd& lnd, std::uint32_t slot,
                                  const std::optional<Nid>& only) {
    const lnet::ShardCore& core = node.shard(shard).core();
    const auto facts = lnd.peer_facts(slot, core.now);
    if (!facts || (only && facts->id.nid != *only)) return std::nullopt;
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

// Shard by shard, NI by NI, slot by slot; a page of it in each order. NIs and connections may come
// and go meanwhile: those that are there all the time are told once.
template <class Of>
class Walk : public std::enable_shared_from_this<Walk<Of>> {
 public:
  using Reports = std::vector<typename Of::Report>;

  Walk(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query, Reply<Reports> reply)
      : desk_(desk), host_(host), query_(query), reply_(std::move(reply)) {}

  void begin() {
    order(
        0, [this](lnet::Node& node) { list_nis(node); },
        [this] {
          if (!listed_) return reply_(failure(Errc::kNetworkDown, "Network is down"));
          go_on();
        });
  }

 private:
  void order(unsigned shard, auto work, auto after) {
    const auto self = this->shared_from_this();
    auto sent = desk_.order(
        shard, [self, work](lnet::Node& node) { work(node); }, [self, after] { after(); });
    if (!sent) reply_(std::unexpected(sent.error()));
  }

  void list_nis(lnet::Node& node) {
    listed_ = true;
    for (const lnet::Ni* const ni : node.coordinator().local().nis) {
      if (!query_.net || *query_.net == ni->net) nids_.push_back(ni->nid);
    }
  }

  void go_on() {
    if (shard_ == host_.shards()) return reply_(std::move(reports_));
    more_ = false;  // if LNet goes down meanwhile
    order(shard_, [this](lnet::Node& node) { look(node); }, [this] { turn_page(); });
  }

  void look(lnet::Node& node) {
    TcpPlace& place = host_.place(shard_);
    unsigned passed = 0;
    for (; ni_ < nids_.size(); ++ni_, slot_ = 0) {
      SockLnd* const lnd = place.inbox().lnd(nids_[ni_]);
      const std::uint32_t slots = lnd == nullptr ? 0 : Of::slots(*lnd);
      for (; slot_ < slots; ++slot_) {
        more_ = page_.size() == kSocketsAtOnce || passed++ == kSlotsAtOnce;
        if (more_) return;
        if (auto seen = Of::look(node, place, shard_, *lnd, slot_, query_.nid))
          page_.emplace_back(nids_[ni_], *seen);
      }
    }
  }

  void turn_page() {
    for (const auto& [local, seen] : page_) {
      auto& report = reports_.emplace_back(Of::tell(seen, host_));
      report.local = local;
      report.shard = static_cast<lnet::ShardId>(shard_);
    }
    page_.clear();
    if (!more_) {
      ++shard_;
      ni_ = slot_ = 0;
    }
    go_on();
  }

  LnetDesk& desk_;
  TcpHost& host_;
  const lnet::ConnectionQuery query_;
  Reply<Reports> reply_;
  std::vector<Nid> nids_;
  bool listed_ = false;
  unsigned shard_ = 0;
  std::size_t ni_ = 0;
  std::uint32_t slot_ = 0;
  bool more_ = false;
  std::vector<std::pair<Nid, typename Of::Seen>> page_;
  Reports reports_;
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
          .transport = {.unsent_bytes = details.unsent_bytes,
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
  std::make_shared<Walk<OfConnections>>(desk, host, query, std::move(reply))->begin();
}

void report_connection_peers(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                             Reply<std::vector<ConnectionPeerReport>> reply) {
  std::make_shared<Walk<OfPeers>>(desk, host, query, std::move(reply))->begin();
}

}  // namespace plnet::node
