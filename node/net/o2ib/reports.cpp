// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/reports.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "node/host/slot_walk.hpp"
#include "node/net/o2ib/host.hpp"

namespace plnet::node {
namespace {

using lnet::ConnectionPeerReport;
using lnet::ConnectionQuery;
using lnet::ConnectionReport;
using lnet::Nid;
using lnet::Reply;

const char* name_of(o2iblnd::Connection::State state) {
  switch (state) {
    case o2iblnd::Connection::State::kFree: break;
    case o2iblnd::Connection::State::kConnecting: return "connecting";
    case o2iblnd::Connection::State::kAccepting: return "accepting";
    case o2iblnd::Connection::State::kEstablished: return "open";
    case o2iblnd::Connection::State::kClosing: return "closing";
  }
  return "?";
}

const char* state_of(const o2iblnd::PeerFacts& facts) {
  if (facts.connections > 0) return "open";
  if (facts.connecting > 0 || facts.accepting > 0) return "connecting";
  return facts.reconnecting > 0 ? "backing off" : "idle";
}

// "10.0.0.2:987"
std::string address_of(const Nid& nid, const O2ibHost& host) {
  return fmt::format("{}:{}", ipv4_text(nid.address32()), host.options().tunables.service);
}

struct O2ibConnections {
  using Report = ConnectionReport;
  using Seen = o2iblnd::ConnectionFacts;
  static std::uint32_t slots(O2ibHost& host, unsigned shard, const Nid& nid) {
    const O2ibNi* const ni = host.place(shard).ni(nid);
    return ni == nullptr ? 0 : ni->connection_slots();
  }
  static std::optional<Seen> look(O2ibHost& host, lnet::Node& node, unsigned shard, const Nid& nid,
                                  std::uint32_t slot, const ConnectionQuery& query) {
    auto facts = host.place(shard).ni(nid)->connection_facts(slot, node.shard(shard).core().now);
    return facts && query.nid && facts->nid != *query.nid ? std::nullopt : facts;
  }
  static Report tell(const Seen& seen, const O2ibHost& host) {
    Report report = connection_report(seen);
    report.remote_address =
        seen.by_us ? address_of(seen.nid, host) : ipv4_text(seen.nid.address32());
    return report;
  }
};

struct O2ibPeers {
  using Report = ConnectionPeerReport;
  struct Seen {
    o2iblnd::PeerFacts facts;
    unsigned wanted = 0;
    std::int32_t tx_credits = 0;
    std::int32_t tx_credits_max = 0;
  };
  static std::uint32_t slots(O2ibHost& host, unsigned shard, const Nid& nid) {
    const O2ibNi* const ni = host.place(shard).ni(nid);
    return ni == nullptr ? 0 : ni->peer_slots();
  }
  static std::optional<Seen> look(O2ibHost& host, lnet::Node& node, unsigned shard, const Nid& nid,
                                  std::uint32_t slot, const ConnectionQuery& query) {
    const lnet::ShardCore& core = node.shard(shard).core();
    const O2ibNi& there = *host.place(shard).ni(nid);
    const auto facts = there.peer_facts(slot, core.now);
    if (!facts || (query.nid && facts->nid != *query.nid)) return std::nullopt;
    Seen seen{.facts = *facts,
              .wanted = static_cast<unsigned>(there.interface_facts().conns_per_peer)};
    if (const lnet::PeerNi* const peer = core.shared.directory->find(facts->nid)) {
      seen.tx_credits = peer->tx_credits.get();
      seen.tx_credits_max = peer->tx_credits_max.get();
    }
    return seen;
  }
  static Report tell(const Seen& seen, const O2ibHost& host) {
    Report report = peer_report(seen.facts);
    report.remote_address = address_of(seen.facts.nid, host);
    report.wanted = seen.wanted;
    report.tx_credits = seen.tx_credits;
    report.tx_credits_max = seen.tx_credits_max;
    return report;
  }
};

}  // namespace

ConnectionReport connection_report(const o2iblnd::ConnectionFacts& facts) {
  return {.peer = {.nid = facts.nid, .pid = lnet::kLustrePid},
          .type = "A",
          .state = name_of(facts.state),
          .protocol = facts.version,
          .by_us = facts.by_us,
          .parked = facts.parked,
          .age = facts.age,
          .since_sent = facts.since_sent,
          .queue_pair = lnet::QueuePairReport{.depth = facts.queue_depth,
                                              .fragments_max = facts.max_frags,
                                              .credits = facts.credits,
                                              .reserved = facts.reserved,
                                              .owed = facts.owed,
                                              .posted = facts.sends_posted,
                                              .held = facts.held,
                                              .incarnation = facts.incarnation}};
}

ConnectionPeerReport peer_report(const o2iblnd::PeerFacts& facts) {
  return {.peer = {.nid = facts.nid, .pid = lnet::kLustrePid},
          .state = state_of(facts),
          .references = facts.connections + facts.connecting + facts.accepting,
          .other = facts.connections,
          .attempt = facts.connecting > 0,
          .protocol = facts.version,
          .incarnation = facts.incarnation,
          .since_heard = facts.silent};
}

void report_o2ib_connections(LnetDesk& desk, O2ibHost& host, const ConnectionQuery& query,
                             Reply<std::vector<ConnectionReport>> reply) {
  report_slots<O2ibConnections>(desk, host, query, std::move(reply));
}

void report_o2ib_peers(LnetDesk& desk, O2ibHost& host, const ConnectionQuery& query,
                       Reply<std::vector<ConnectionPeerReport>> reply) {
  report_slots<O2ibPeers>(desk, host, query, std::move(reply));
}

}  // namespace plnet::node
