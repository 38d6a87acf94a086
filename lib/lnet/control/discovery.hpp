// SPDX-License-Identifier: BSD-3-Clause
// Learns the interfaces of peers, and tells them ours: a state machine for each peer, driven by the
// events of pings and pushes. Used by the coordinator; nothing here blocks or allocates. Checked
// against lustre-release lnet/lnet/peer.c at v2_17_0: lnet_peer_discovery() and its callees.
//
// Departures from the kernel: a peer has one ping and one push under way, never two; the number of
// repeats after useless replies is bounded; an answer from a peer that has been removed is dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/check.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/control/discovery_counters.hpp"
#include "lib/lnet/control/peer_discovery.hpp"
#include "lib/lnet/control/peer_merge.hpp"
#include "lib/lnet/control/ping_target.hpp"
#include "lib/lnet/control/push_target.hpp"
#include "lib/lnet/peers/peer_readiness.hpp"
#include "lib/lnet/peers/peer_rules.hpp"

namespace plnet::lnet {

class Discovery final : public EventHandler, public PushReader {
 public:
  // Useless replies in one discovery before it fails.
  static constexpr std::uint16_t kRetriesMax = 8;
  // Rounds of discovery for one request: a NID may move from peer to peer.
  static constexpr std::uint32_t kRoundsMax = 8;

  struct Parts {
    PeerDirectory& directory;
    PeerRules& rules;
    DataOperations& operations;
    const Parameters& parameters;
    PingTarget& ping_target;
    PingExchanges& exchanges;
    DiscoveryObserver& observer;
  };
  // Allocates the state of all peers; start-up only.
  explicit Discovery(const Parts& parts);
  // Empties lists; shut_down() has ended all waits before.
  ~Discovery() override;
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // The message returns by pop_ended() when the peer is up to date, or with the error.
  void wait_for(PeerRecord& peer, Message& message);
  void discover(DiscoverRequest& request);
  // Ends messages without a user with kCancelled, and messages made before `before` with kTimedOut:
  // a silent peer is pinged and then pushed to, and many such peers may be in front of it. Repeats
  // questions that may not have arrived, and those that found no message record.
  void serve_waiting(Instant before);
  // serve_waiting() has work.
  [[nodiscard]] bool waiting() const { return parked_ > 0 || !working_.empty() || !short_.empty(); }
  // The peer has acknowledged this buffer of ours, or a later one.
  [[nodiscard]] bool has_acknowledged(const PeerRecord& peer, std::uint32_t sequence) const {
    const PeerDiscovery& state = states_[peer.number];
    return state.peer == &peer && state.acked_sequence >= sequence;
  }
  // Discards the known NIDs of the peer; with `force` pings and pushes in any case.
  static void make_stale(PeerRecord& peer, bool force);
  // For a gateway: discovers it again, from this NID of ours to this NID of the gateway.
  void check(PeerRecord& peer, const Nid& from, const Nid& target);
  // The number of gateways to check.
  void gateways_are(std::size_t count) { gateways_ = count; }
  // Ends a discovery whose answer is too late.
  void give_up(PeerRecord& peer, Result<void> why);
  // The peer was not asked yet, or has answered and waits behind other peers.
  [[nodiscard]] bool waits_for_turn(const PeerRecord& peer) const;
  // The ping of its last check was sent, so the result says something about its target.
  [[nodiscard]] bool was_asked(const PeerRecord& peer) const { return states_[peer.number].asked; }
  // It has answered; the check only waits for a push of ours.
  [[nodiscard]] bool has_answered(const PeerRecord& peer) const {
    return states_[peer.number].answered;
  }
  // The LND still has a check of this interface that was given up.
  [[nodiscard]] bool has_left_check(const PeerRecord& peer, const Nid& target) const {
    return exchanges_.has_left(&states_[peer.number], target);
  }
  // False: it was queued already.
  bool queue(PeerRecord& peer);
  // Pushes to all multi-rail peers that have not acknowledged the present buffer; `force`: to all
  // of them, unless discovery is off. In bounded pieces, by step().
  void push_to_all(bool force);

  // A network that reached the peer has been removed: pings and pushes by it are repeated.
  void on_network_removed(PeerRecord& peer);

  // Called by the directory.
  void peer_gone(PeerRecord& peer);
  void peer_ni_released();

  // Looks at `budget` peers at most. Returns the work done.
  unsigned step(unsigned budget);
  [[nodiscard]] bool has_work();
  // The next message whose wait is over, with its outcome; nullptr: none.
  [[nodiscard]] Parcel* pop_ended() { return ended_.pop_front(); }
  // Ends all waits with kShutdown; sends nothing more.
  void shut_down();
  // No descriptor of a ping or push is in use.
  [[nodiscard]] bool quiet() const { return out_ == 0; }

  // The largest buffer seen: the push target should have this size.
  [[nodiscard]] std::uint32_t wanted_push_bytes() const { return wanted_push_bytes_; }
  [[nodiscard]] const DiscoveryCounters& counters() const { return counters_; }

  void on_event(const Event& event) override;
  void on_push(const Event& event, std::span<const std::byte> bytes) override;

 private:
  // The result of a look at a peer.
  enum class Verdict : std::uint8_t { kAgain, kWait, kEnd, kGone };
  struct Step {
    Verdict verdict = Verdict::kWait;
    Result<void> outcome;  // kEnd
  };

  [[nodiscard]] PeerDiscovery& state_of(const PeerRecord& peer) {
    PLNET_DEBUG_CHECK(peer.number < directory_.numbers(), "the number of a peer is dense");
    return states_[peer.number];
  }
  [[nodiscard]] bool needs_push(const PeerDiscovery& state) const;
  [[nodiscard]] static bool needs_ping(const PeerRecord& peer);
  [[nodiscard]] bool up_to_date(const PeerDiscovery& state) const;

  void place(PeerDiscovery& state, DiscoveryPlace where, bool front = false);
  // The peer has news: it is looked at next.
  void attend(PeerDiscovery& state, bool front);
  void look_at(PeerDiscovery& state);
  [[nodiscard]] Step examine(PeerDiscovery& state);
  void complete(PeerDiscovery& state, Result<void> outcome);
  void end_parcels(PeerDiscovery& state, Result<void> outcome);
  void end(Parcel& parcel);
  void settle_waiters(PeerDiscovery& state);
  void resume(DiscoverRequest& request, Result<void> error);

  [[nodiscard]] Step begin_anew(PeerDiscovery& state);
  [[nodiscard]] Step process_data(PeerDiscovery& state);
  [[nodiscard]] Step ping_failed(PeerDiscovery& state);
  [[nodiscard]] Step push_failed(PeerDiscovery& state);
  [[nodiscard]] Step wait_for_record(PeerDiscovery& state, std::uint32_t to_send);
  [[nodiscard]] Step send_ping(PeerDiscovery& state);
  [[nodiscard]] Step send_push(PeerDiscovery& state);
  [[nodiscard]] Step discovered(PeerDiscovery& state);

  // Received data: discovery_data.cpp
  [[nodiscard]] Step merge(PeerDiscovery& state, const PingView& buffer);
  [[nodiscard]] Step merge_by_primary(PeerDiscovery& state, const PingView& buffer,
                                      const Nid& primary);
  [[nodiscard]] Step hand_over(PeerDiscovery& state, PeerRecord& to, const PingView& buffer);
  [[nodiscard]] bool lists_primary(const PeerRecord& peer, const PingView& buffer) const;
  [[nodiscard]] bool may_report(const Nid& sender, const PeerRecord& peer, const Nid& source) const;
  void request_claims();
  void ping_event(PingExchange& exchange, const Event& event);
  void reply_event(PeerDiscovery& state, PingExchange& exchange, const Event& event);
  void push_event(PingExchange& exchange, const Event& event);
  void store_reply_features(PeerRecord& peer, const PingView& buffer);
  void store_push_features(PeerRecord& peer, const PingView& buffer);
  void store_multi_rail(PeerRecord& peer);
  void keep_push(PeerDiscovery& state, const PingView& buffer, std::span<const std::byte> bytes);
  void fail_ping(PeerDiscovery& state, Result<void> why);

  // The peer may take a slot if this many are free.
  [[nodiscard]] bool may_take(const PeerDiscovery& state, std::size_t free) const;
  // As many peers as there are free slots try to take one.
  void wake_starved();
  // A slot for a ping or push; null: the peer waits its turn.
  [[nodiscard]] PingExchange* slot_to_send(PeerDiscovery& state, ExchangeKind kind);
  [[nodiscard]] static std::uint32_t losses_of(const PeerRecord& peer);
  void ask_again_if_lost(PeerDiscovery& state);
  void ask_again(PeerDiscovery& state);
  void abandon(PingExchange*& exchange);
  void abandon_all(PeerDiscovery& state);
  void drop_data(PeerDiscovery& state);

  PeerDirectory& directory_;
  PeerRules& rules_;
  DataOperations& operations_;
  const Parameters& parameters_;
  PingTarget& ping_target_;
  PingExchanges& exchanges_;
  DiscoveryObserver& observer_;
  DiscoveryCounters counters_;
  PeerMerge merge_;

  const std::unique_ptr<PeerDiscovery[]> states_;  // by number of the peer
  IntrusiveList<PeerDiscovery> requested_;
  IntrusiveList<PeerDiscovery> working_;
  IntrusiveList<PeerDiscovery> starved_;
  IntrusiveList<PeerDiscovery> short_;
  IntrusiveList<Parcel> ended_;
  std::size_t parked_ = 0;                  // messages that wait for peers
  IntrusiveList<DiscoverRequest> resumed_;  // step() looks at them
  std::uint32_t sweep_at_ = UINT32_MAX;     // the next peer to push to, if needed
  bool sweep_force_ = false;
  bool incomplete_ = false;  // the data of some peer
  bool shut_ = false;
  std::size_t gateways_ = 0;
  std::uint32_t out_ = 0;
  std::uint32_t wanted_push_bytes_ = kPingBytesMin;
};

}  // namespace plnet::lnet
