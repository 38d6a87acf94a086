// SPDX-License-Identifier: BSD-3-Clause
// The TCP LND of one interface on one shard: an lnet::Lnd over byte streams. The peers whose home
// is this shard have their connections here; what others make is brought by the acceptor
// (peer_homes.hpp). Bulk connections beyond the first of their kind may lie on other shards of the
// CPT (lane.hpp). Sans-IO: it only speaks to its driver, its core and its like on those shards.
// lustre-release lnet/klnds/socklnd/socklnd.c, socklnd_cb.c.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/socklnd/complaints.hpp"
#include "lib/socklnd/connection.hpp"
#include "lib/socklnd/facts.hpp"
#include "lib/socklnd/lane_exchange.hpp"
#include "lib/socklnd/lnd_counters.hpp"
#include "lib/socklnd/outgoing.hpp"
#include "lib/socklnd/peer.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "lib/socklnd/stream_switch.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::socklnd {

struct SockLndConfig {
  lnet::Nid nid;
  std::uint32_t pid = lnet::kLustrePid;
  // Of this life of the interface: the same on all its shards, another after a restart.
  std::uint64_t incarnation = 1;
  const ArenaTable* arenas = nullptr;
  Tunables tunables;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // if sock_timeout is 0
  std::uint32_t link_mbps = 0;                           // 0: unknown
  bool privileged = true;    // we may use reserved ports; else peers must accept all
  LaneEnd* lanes = nullptr;  // of this shard, if it has any
  std::size_t peers_max = 64;
  std::size_t connections_max = 256;
  // A payload that is forwarded and of which so much is still to come may go from socket to socket;
  // 0: none does. For less than 128 KiB a copy is cheaper than waiting, two options and a pipe.
  std::uint32_t relay_bytes_min = 0;
  // Payloads up to this size may be copied on their way out; 0: the LND reads no payload.
  // How long our interface may be down, or the peer's by its own word while its TCP does not
  // answer, before its connections are closed; 0: they stay, and TCP may get over it.
  Duration down_grace{};
  // How long the peer's TCP may leave unanswered what ours sends; 0: as long as all else.
  Duration silence_max{};
  // The least bytes a second of a payload that comes in, else its connection is closed: it occupies
  // a router buffer, or memory of ours. 0: whatever makes some progress within the timeout.
  std::uint32_t payload_rate_min = 0;
  std::uint32_t copied_bytes_max = Outgoing::kCopiedPayloadMax;
  Instant start{};
  Complaints* complaints = nullptr;  // null: nobody wants to hear
};

class SockLnd : public lnet::Lnd, public StreamUser, private lnet::PayloadKeeper {
 public:
  SockLnd(const SockLndConfig& config, lnet::LndUpcalls& core, StreamSwitch& streams);
  ~SockLnd() override;

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::uint64_t unsent_bytes(Instant since) override;
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return counters_.view(); }

  // Somebody has connected, and this is the peer's home. Between two turns.
  void take(const Arrival& arrival);
  // A word about a lane from here or to here. Between two turns.
  void hear(const LaneNote& note);
  // Other values of those that change live; the rest has to be as before. Between two turns.
  void set_tunables(const Tunables& tunables);
  // The interface's address has gone, or its link, or they are back. Between two turns.
  void set_usable(bool usable);
  // Whether take() can have one more.
  [[nodiscard]] bool has_room() const { return connections_.free_count() > 0; }

  std::span<std::byte> destination(std::uint32_t slot) override;
  std::size_t on_bytes(std::uint32_t slot, std::size_t direct,
                       std::span<const std::byte> staged) override;
  void on_writable(std::uint32_t slot) override;
  void on_awaited(std::uint32_t slot) override;
  void on_connected(std::uint32_t slot, const StreamAddresses& addresses) override;
  void on_closed(std::uint32_t slot, Errc cause, std::uint64_t unacknowledged_bytes) override;

  [[nodiscard]] std::uint64_t count(SockLndCounters::Id id) const { return counters_.get(id); }
  // For reports and tests; nullptr if unknown.
  [[nodiscard]] const Peer* peer(const lnet::ProcessId& id) const { return peers_by_id_.find(id); }
  // For reports, slot by slot, so that a long list can be told in pieces; nothing of an empty slot.
  [[nodiscard]] std::uint32_t connection_slots() const;
  [[nodiscard]] std::optional<ConnectionFacts> connection_facts(std::uint32_t slot,
                                                                Instant now) const;
  [[nodiscard]] std::uint32_t peer_slots() const;
  [[nodiscard]] std::optional<PeerFacts> peer_facts(std::uint32_t slot, Instant now);

 private:
  friend struct Peer;  // its timer
  using Id = SockLndCounters::Id;
  using State = Connection::State;
  using Rx = Connection::Rx;

  static constexpr std::size_t kReportedAtOnce = 32;
  // Sockets that unsent_bytes() asks in a call: some microseconds each.
  static constexpr unsigned kAskedAtOnce = 256;
  // Timers are in whole quarters of timeouts; this is fine enough.
  static constexpr Duration kTick = std::chrono::milliseconds(5);
  static constexpr Duration kKeepaliveAgain = std::chrono::seconds(10);
  // Less is what any network loses now and then.
  static constexpr std::uint32_t kUnansweredLeast = 2;
  // While something is under way that may be lost.
  static constexpr Duration kLookForSilence = std::chrono::seconds(1);
  // An attempt without an answer for so long is reported, though it goes on.
  static constexpr Duration kDialPatience = std::chrono::seconds(10);
  // Over how long the pace of a payload is taken: longer than a network loses packets for.
  static constexpr Duration kPaceSpan = std::chrono::seconds(10);
  // The share of connections of one address: one in so many, at least these or a full set.
  static constexpr std::size_t kAddressConnectionsPart = 8;
  static constexpr std::size_t kAddressConnectionsLeast = 64;
  // Connections that are looked at for an unused one, and how old that has to be.
  static constexpr std::size_t kUnusedLooks = 64;
  static constexpr Duration kUnusedAfter = std::chrono::seconds(60);
  // Between two looks at our own address: a few system calls.
  static constexpr Duration kInterfaceAgain = std::chrono::seconds(1);

  // lnd.cpp
  [[nodiscard]] Peer* new_peer(const lnet::ProcessId& id);
  [[nodiscard]] Peer* bound_peer(lnet::PeerLink& link);
  [[nodiscard]] Peer* peer_for(const lnet::Transmit& transmit);
  void drop_peer(Peer& peer);
  void look_at(Peer& peer);
  void look_at(Connection& connection);
  // Whether a message that failed may have left this machine in part.
  enum class Left : std::uint8_t { kPerhaps, kNothing };
  void end(lnet::Transmit& transmit, Result<void> status, Health health,
           Left left = Left::kPerhaps);
  void report();
  void end_all(TransmitQueue& queue, Errc cause, Health health, Left left = Left::kPerhaps);
  void check_interface(Instant now);
  void tell_interface(Errc cause);
  [[nodiscard]] bool is_given_up() const { return interface_.given_up; }
  void watch_outage(Instant now);

  // lnd_peers.cpp: what a flush does for a peer
  void serve(Peer& peer, Instant now);
  void finish(Peer& peer);
  void sweep(Peer& peer, Instant now);
  [[nodiscard]] bool has_lapsed(Peer& peer, lnet::Transmit& transmit, Instant now);
  void stamp(Peer& peer, Instant now);
  void close_all(Peer& peer);
  void settle_outcome(Peer& peer, Instant now);
  void attempt_failed(Peer& peer, Errc cause, Instant now);
  void start_attempt(Peer& peer, ConnectionType type);
  void attempt_ended(Peer& peer, Errc cause);
  [[nodiscard]] Protocol usual_protocol(const Peer& peer) const {
    const bool large = config_.nid.is_large() || peer.id.nid.is_large();
    return large ? Protocol::kV4 : Protocol::kV3;
  }
  [[nodiscard]] Result<Connection*> dial(Peer& peer, ConnectionType type, Protocol protocol);
  void drain_waiting(Peer& peer);
  void tell(Peer& peer, Instant now);
  [[nodiscard]] bool may_try(Peer& peer, Instant now) const;
  void check_progress(Peer& peer, Instant now);
  void check_connection(Connection& connection, Instant now);
  void check_transfer(Connection& connection, Instant now);
  bool ask_acknowledged(Connection& connection);
  [[nodiscard]] Duration silence_max_of(const Peer& peer) const;
  [[nodiscard]] bool is_slow(Connection& connection, Instant now) const;
  bool note_acknowledged(Connection& connection, std::uint64_t under_way);
  void leave_interface(Peer& peer);
  void send_keepalive(Peer& peer, Instant now);
  void arm(Peer& peer, Instant now);
  void on_peer_timer(Peer& peer);

  // lnd_connections.cpp
  [[nodiscard]] Connection* new_connection(Peer& peer, StreamId stream, ConnectionType type);
  [[nodiscard]] Connection* adopt(Peer& peer, const Arrival& arrival);
  void begin(Connection& connection, Peer& peer, ConnectionType type);
  void end_stream(Connection& connection, Errc cause);
  void mourn(Connection& connection, Errc cause);
  void bury(Connection& connection);
  void greet(Connection& connection);
  void leave_open(Connection& connection, Errc cause);
  void forget(Peer& peer);
  void on_reply(Connection& connection);
  void judge_reply(Connection& connection, const Hello& reply);
  [[nodiscard]] static bool fits(const Peer& peer, const Hello& hello);
  [[nodiscard]] bool accept_identity(Peer& peer, const Hello& hello);
  [[nodiscard]] std::optional<Id> refusal(Peer& peer, const Arrival& arrival);
  void answer(Connection& connection, std::int32_t type);
  void open(Connection& connection, bool swapped);
  void give_up(Connection& connection, Id why, Outcome outcome, Errc cause);
  void complain(const lnet::Nid& nid, Id why);
  [[nodiscard]] bool has_share(const lnet::Nid& nid) const;
  void close_unused();
  void close_connection(Connection& connection, Id why, Errc cause, bool siblings = true);
  void count_end(const Connection& connection, Errc cause);
  void count_lost(const Connection& connection, std::uint64_t unacknowledged);
  void end_transmits(Connection& connection, Errc cause);
  void end_receive(Connection& connection, Errc cause);
  [[nodiscard]] SocketAddress address_of(const lnet::Nid& nid, std::int64_t port) const;

  // lnd_lanes.cpp: as home
  [[nodiscard]] std::optional<lnet::ShardId> shard_for(Peer& peer, ConnectionType type) const;
  [[nodiscard]] Connection* stand_in(Peer& peer, ConnectionType type);
  [[nodiscard]] bool dial_away(Peer& peer, ConnectionType type);
  [[nodiscard]] bool take_away(Peer& peer, const Arrival& arrival);
  void lane_closed(const LaneNote& note);
  void announce(Peer& peer);
  // And as the shard on which a lane lies
  [[nodiscard]] Peer* peer_of(Lane& lane);
  void give_lane(Lane& lane, Connection& connection);
  void dial_for(Lane& lane);
  void take_for(Lane& lane);
  void told(Lane& lane, LaneWord word, Errc cause);
  // A message may get to a lane before the word that makes it: words are heard a few at a time.
  [[nodiscard]] bool heard_all() const {
    return config_.lanes == nullptr || config_.lanes->empty();
  }
  [[nodiscard]] static bool is_lane(const Connection& connection) {
    return connection.lane != nullptr && !connection.away;
  }

  // lnd_tx.cpp
  template <class FitOf>
  [[nodiscard]] Connection* choose_by(Peer& peer, FitOf&& fit_of);
  [[nodiscard]] Connection* choose(Peer& peer, const lnet::Transmit& transmit);
  [[nodiscard]] Connection* choose_for_noop(Peer& peer, bool nonblocking);
  void enqueue(Connection& connection, lnet::Transmit& transmit);
  void pump(Connection& connection, Instant now);
  void write_greeting(Connection& connection);
  void write_some(Connection& connection);
  void gather(const Connection& connection);
  void count_taken(Connection& connection, std::size_t taken);
  void noops_have_room(Connection& connection);

  // lnd_kept.cpp: large payloads that go from socket to socket
  void wait_for_rest(Connection& connection);
  void bring(lnet::RxHandle rx) override;
  [[nodiscard]] const void* family() const override { return &streams_; }
  [[nodiscard]] Connection* keeps(lnet::RxHandle rx);
  void finish_kept(Connection& connection);
  void bring_old();
  void passed_by(Connection& connection, std::size_t bytes);
  [[nodiscard]] bool may_relay(const Connection& connection, const lnet::Transmit& transmit) const;
  void bring_source(lnet::Transmit& transmit);
  void relay_front(Connection& connection);

  // lnd_rx.cpp
  std::size_t receive(Connection& connection, std::span<const std::byte> staged);
  void on_header(Connection& connection);
  void carry_out(Connection& connection);
  void on_wanted(Connection& connection);
  void acknowledge(Connection& from, std::uint64_t cookie);
  void on_failure(Connection& connection);
  void on_decided(Connection& connection);
  void keep_link(Peer& peer, lnet::PeerLink* link);
  [[nodiscard]] lnet::RxHandle handle_of(const Connection& connection) const;

  SockLndConfig config_;  // but for the tunables constant
  Duration timeout_;
  lnet::LndTraits traits_;
  ConnectionQuota quota_;
  lnet::LndUpcalls& core_;
  StreamSwitch& streams_;

  Pool<Connection> connections_;  // before those that list them: lists go first
  Pool<Peer> peers_;
  PeerTable peers_by_id_;
  TimerWheel timers_;
  IntrusiveList<Peer> quiet_;
  IntrusiveList<Peer> busy_;  // the next flush serves these
  IntrusiveList<Connection, ForFlush> fresh_;

  // What keeps a payload: since this turn, and what nobody has taken it from in the one before.
  IntrusiveList<Connection, Keeping> kept_;
  IntrusiveList<Connection, Keeping> kept_before_;
  std::size_t messages_ = 0;  // that the core has lent us
  std::size_t receiving_ = 0;
  std::size_t releases_ = 0;
  std::uint64_t posts_ = 0;
  bool shutting_down_ = false;
  Instant unsent_since_ = Instant::min();  // what unsent_bytes() looks at
  bool spoil_checksum_;                    // of the next message that has one: inject_csum_error
  struct Interface {
    bool usable = true;      // as we were told: set_usable()
    bool suspected = false;  // something has failed since the last look
    bool gone = false;       // as seen then
    bool up = true;          // as the core was told
    bool given_up = false;   // for so long it was not that its connections were closed
    Instant down_since = Instant::max();
    Instant again_at = Instant::min();
  };
  Interface interface_;
  Instant flushed_{};
  std::uint32_t unused_hand_ = 0;  // where looking for an unused connection goes on
  TransmitQueue ended_;            // lnd_state says how
  std::array<lnet::Completion, kReportedAtOnce> reported_{};
  Outgoing outgoing_;
  Counters<SockLndCounters> counters_;
};

}  // namespace plnet::socklnd
