// SPDX-License-Identifier: BSD-3-Clause
// The kfi LND of one interface on one shard: an lnet::Lnd over a fabric endpoint. Sans-IO: it only
// speaks to its driver and its core. lustre-release lnet/klnds/kfilnd.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/link_hold.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/kfilnd/context_mail.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"
#include "lib/kfilnd/facts.hpp"
#include "lib/kfilnd/keys.hpp"
#include "lib/kfilnd/lnd_counters.hpp"
#include "lib/kfilnd/multi_receive.hpp"
#include "lib/kfilnd/peer_cache.hpp"
#include "lib/kfilnd/peer_gate.hpp"
#include "lib/kfilnd/peer_homes.hpp"
#include "lib/kfilnd/statistics.hpp"
#include "lib/kfilnd/transaction.hpp"
#include "lib/kfilnd/transitions.hpp"
#include "lib/kfilnd/tunables.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::kfilnd {

struct KfiLndConfig {
  lnet::Nid nid;
  const ArenaTable* arenas = nullptr;
  Tunables tunables;
  TrafficClass traffic_class = TrafficClass::kBestEffort;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // if kfi_timeout is 0
  Fragment receive_memory;                               // cut into immediate_rx_buf_count buffers
  std::size_t peers_max = 1024;                          // up to PeerCache::kPeersMax
  std::size_t receives_max = 1024;                       // messages that have come and are not over
  std::size_t backlog_max = 16384;  // that have come beyond those, and wait in their buffers
  // HELLOs of ours under way, and at most a quarter of what the driver takes at once: a peer that
  // is not there keeps one until the fabric gives up, and messages for others need operations too.
  // Peers beyond wait for their turn, in a list through the peers: however many are gone, that
  // takes no memory.
  std::size_t hellos_max = 256;
  // Messages that wait outside the receive buffers. Fewer than receives_max: one that finds no
  // place keeps its buffer, 2 MiB, from the NIC for as long as it waits.
  std::size_t copies_max = 1024;
  // Another one for each life of a node, more than 65536 away, keeps what peers still do for the
  // last one from matching, and tells them that it is another life.
  std::uint32_t first_session_key = 1;
  bool always_bulk = false;  // payloads lie in memory that the CPU does not reach (a GPU's)
  // Of an interface with several receive contexts, one for the LND of each of its shards: both, or
  // neither. They outlive the LND.
  ContextEnd* mail = nullptr;
  PeerHomes* homes = nullptr;
  PeerGate* gate = nullptr;  // null: whoever comes is heard. Outlives the LND
  Instant start{};
};

class KfiLnd : public lnet::Lnd, public EndpointEvents {
 public:
  KfiLnd(const KfiLndConfig& config, lnet::LndUpcalls& core, EndpointDriver& driver);
  ~KfiLnd() override;

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::size_t receives_free() const override {
    return config_.receives_max - used_[static_cast<std::size_t>(Quota::kReceives)];
  }
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return counters_.view(); }

  void on_completions(std::span<const FabricCompletion> burst) override;
  void on_link(bool usable, std::uint64_t nic_address) override;

  [[nodiscard]] std::uint64_t count(KfiLndCounters::Id id) const { return counters_.get(id); }
  // For reports and tests; nullptr if unknown.
  [[nodiscard]] const Peer* peer(const lnet::Nid& nid) const;
  [[nodiscard]] std::uint32_t peer_slots() const { return peers_.slots(); }
  [[nodiscard]] std::optional<PeerFacts> peer_facts(std::uint32_t slot, Instant now) const;
  // What `net show -v` says of the interface beside its tunables.
  [[nodiscard]] InterfaceFacts interface_facts() const;
  // The NIC has got another address, and this is the NID that goes with it: the core was told that
  // the interface is fatal and routes around it, and whoever made the interface takes it down and
  // makes one with this NID. Nothing while the address is that of our own NID, as it may be again.
  // Any thread.
  [[nodiscard]] std::optional<lnet::Nid> moved_to() const;
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  void reset_statistics() { statistics_ = {}; }
  [[nodiscard]] std::size_t transactions() const {
    return transactions_.capacity() - transactions_.free_count();
  }
  [[nodiscard]] const MultiReceive& receive_buffers() const { return receive_; }

 private:
  friend struct Transaction;  // its timer
  using Id = KfiLndCounters::Id;
  using State = TransactionState;
  using Event = TransactionEvent;
  using Action = TransactionAction;
  using Handler = void (KfiLnd::*)(Transaction&, const EventStatus&);
  enum class Quota : std::uint8_t { kTransmits, kReceives, kHellos };

  static constexpr std::size_t kReportedAtOnce = 32;
  static constexpr unsigned kRetriedAtOnce = 32;  // operations that the NIC had no room for
  static constexpr Duration kTick = std::chrono::milliseconds(1);
  static constexpr Duration kReplayInterval = std::chrono::milliseconds(100);
  // Events bring no time with them, so it must not be too old.
  static constexpr Duration kLookInterval = std::chrono::seconds(1);
  // For the NIC to say that it has let go of a buffer; then the core hears without it.
  static constexpr Duration kCancelGrace = std::chrono::seconds(1);
  static constexpr int kRetiredTimeouts = 3;
  // A peer that has made so many peers since has rather begun anew.
  static constexpr std::uint32_t kForgottenMax = 1U << 16U;
  static constexpr unsigned kStrangersPerTurn = 16;  // peers made for those who write to us
  static constexpr unsigned kLettersAtOnce = 16;     // of each other context
  static constexpr unsigned kLookedAtAgain = 64;     // messages in the backlog, to wait once more

  // lnd.cpp: the contract with the core, and the turn
  [[nodiscard]] Transaction* take(Quota quota);
  void give(Transaction& transaction);
  [[nodiscard]] std::size_t& used(Quota quota) { return used_[static_cast<std::size_t>(quota)]; }
  [[nodiscard]] std::size_t limit(Quota quota) const;
  void run_again(Transaction& transaction);
  unsigned run_blocked();
  unsigned run_turn();
  void serve_releases();
  void sweep(const lnet::PeerLink* link);
  void abandon(Transaction& transaction);
  [[nodiscard]] bool is_releasing(const lnet::PeerLink& link) const;
  void report();
  void repost();

  // lnd_events.cpp: what the driver says, and which action it means
  void run(Transaction& transaction, Event event, const EventStatus& what = {});
  void on_completion(const FabricCompletion& completion);
  void on_buffer(const FabricCompletion& completion);
  [[nodiscard]] Transaction* find(std::uint64_t cookie, std::uint8_t outstanding);
  [[nodiscard]] std::uint64_t cookie_of(const Transaction& transaction) const;
  void on_timer(Transaction& transaction);
  void enter(Transaction& transaction, State state);
  void end(Transaction& transaction);
  void finalize(Transaction& transaction);
  void tell_core(Transaction& transaction);
  void block(Transaction& transaction, Event again);
  void unexpected(Transaction& transaction, const EventStatus& what);
  [[nodiscard]] bool has_moved() const { return nic_address_.get() != nic_address_of(config_.nid); }
  void tell_link();
  void look_at_held_link();

  // lnd_initiator.cpp
  void start(Transaction& transaction);
  [[nodiscard]] bool may_go(Transaction& transaction);
  void fail_at_once(Transaction& transaction, Errc cause, Health health);
  void throttle(Transaction& transaction);
  [[nodiscard]] Result<void> post_message(Transaction& transaction, const Message& message,
                                          const lnet::Payload& payload);
  [[nodiscard]] Message message_of(const Transaction& transaction) const;
  void note_transfer(Transaction& transaction, const EventStatus& what);
  void begin_immediate(Transaction& transaction, const EventStatus& what);
  void begin_bulk(Transaction& transaction, const EventStatus& what);
  void send_request(Transaction& transaction, const EventStatus& what);
  void take_back(Transaction& transaction, const EventStatus& what);

  // lnd_ends.cpp: how transactions of ours end
  void buffer_back(Transaction& transaction, const EventStatus& what);
  void transfer_after_all(Transaction& transaction, const EventStatus& what);
  void buffer_lost_early(Transaction& transaction, const EventStatus& what);
  void sent(Transaction& transaction, const EventStatus& what);
  void send_failed(Transaction& transaction, const EventStatus& what);
  void send_is_late(Transaction& transaction, const EventStatus& what);
  void request_sent(Transaction& transaction, const EventStatus& what);
  void transfer_before_sent(Transaction& transaction, const EventStatus& what);
  void request_failed(Transaction& transaction, const EventStatus& what);
  void buffer_lost(Transaction& transaction, const EventStatus& what);
  void request_is_late(Transaction& transaction, const EventStatus& what);
  void sent_badly(Transaction& transaction, const EventStatus& what);
  void transferred(Transaction& transaction, const EventStatus& what);
  void transfer_failed(Transaction& transaction, const EventStatus& what);
  void transfer_is_late(Transaction& transaction, const EventStatus& what);
  void timed_out(Transaction& transaction, const EventStatus& what);
  void late_failure(Transaction& transaction, const EventStatus& what);
  void quarantine(Transaction& transaction, const EventStatus& what);
  void failing_sent(Transaction& transaction, const EventStatus& what);
  void failing_send_failed(Transaction& transaction, const EventStatus& what);

  // lnd_target.cpp
  [[nodiscard]] bool accept(std::uint32_t buffer, std::span<const std::byte> bytes);
  void put_off(std::uint32_t buffer, std::uint32_t offset, std::uint32_t length);
  unsigned run_backlog();
  void take_message(Transaction& transaction, const EventStatus& what);
  [[nodiscard]] bool wait_for_hello(Transaction& transaction);
  void act_on_decision(Transaction& transaction, const EventStatus& what);
  void receive_immediate(Transaction& transaction);
  void park(Transaction& transaction);
  void refuse_to_park(Transaction& transaction);
  void leave_buffer(Transaction& transaction);
  [[nodiscard]] bool copy_out(Transaction& transaction);
  [[nodiscard]] Tag remote_tag(const Transaction& transaction) const;
  [[nodiscard]] Target bulk_target(const Transaction& transaction) const;
  void posted_remote(Transaction& transaction, Result<void> posted, State next, Event again);
  void move_payload(Transaction& transaction, const EventStatus& what);
  void answer_instead(Transaction& transaction, const EventStatus& what);
  void remote_done(Transaction& transaction, const EventStatus& what);
  void remote_failed(Transaction& transaction, const EventStatus& what);

  // lnd_contexts.cpp
  [[nodiscard]] Result<std::uint8_t> home_of(const lnet::Nid& nid);
  [[nodiscard]] Result<Peer*> sender_of(const Message& message);
  [[nodiscard]] Result<Peer*> heard_of(const Message& message, Peer& known);
  [[nodiscard]] Result<Peer*> stranger(const lnet::Nid& nid, std::uint64_t nid64);
  [[nodiscard]] Result<Peer*> of_another_home(const Message& message, Peer* known,
                                              std::uint8_t home);
  void become_guest(Peer& peer);
  void settle(Peer& peer);
  void report_guest(Peer& peer);
  unsigned read_mail();
  [[nodiscard]] bool take_letter(const Letter& letter);

  // lnd_peers.cpp
  [[nodiscard]] Result<Peer*> peer_for(lnet::PeerLink& link);
  [[nodiscard]] Result<Peer*> find_or_make(const lnet::Nid& nid, std::uint64_t nid64);
  void bind(Peer& peer, lnet::PeerLink* link);
  void heard(Peer& peer);
  void wake(Peer& peer);
  [[nodiscard]] bool greet(Peer& peer);
  [[nodiscard]] bool send_greeting(Peer& peer);
  unsigned greet_waiting();
  // Somebody waits, and there is room.
  [[nodiscard]] bool can_greet() const {
    const bool any = !greet_next_.empty() || !greet_later_.empty();
    const bool room = used_[static_cast<std::size_t>(Quota::kHellos)] < hellos_max_;
    return any && room && !shutting_down_ && !has_moved();
  }
  void greet_first(Peer& peer);
  void end_greeting(Peer& peer);
  void hello_failed(Peer& peer, const Transaction* which);
  void failed(Transaction& transaction, Errc cause, bool tag_exposed);
  void delete_peer(Peer& peer, bool broken_off);
  void send_hello(Transaction& transaction, const EventStatus& what);
  void take_hello(Transaction& transaction, const EventStatus& what);
  void take_hello_response(Transaction& transaction);
  [[nodiscard]] bool admits(const lnet::Nid& nid);
  [[nodiscard]] static bool introduces_itself(const Peer& peer, const Message& message);
  [[nodiscard]] static bool has_begun_anew(const Peer& peer, const Hello& hello);
  [[nodiscard]] Hello own_hello(const Peer& peer, std::uint16_t version) const;

  static const std::array<Handler, kTransactionActions> kHandlers;

  const KfiLndConfig config_;
  const Duration timeout_;
  const lnet::LndTraits traits_;
  const std::uint64_t nid64_;
  const std::size_t hellos_max_;
  lnet::LndUpcalls& core_;
  EndpointDriver& driver_;
  Relaxed<std::uint64_t> nic_address_;  // as the driver has said last; others ask
  Instant now_;
  LinkHold link_hold_;
  bool link_rises_ = false;  // the next flush sees to it

  Pool<Transaction> transactions_;  // before those that list them: lists go first
  PeerCache peers_;
  TimerWheel timers_;
  IntrusiveList<Transaction, ForTurn> turn_;     // the next flush runs these
  IntrusiveList<Transaction, ForTurn> blocked_;  // until the NIC has room
  IntrusiveList<Peer, ForStamp> heard_;          // of whom something has come since the last flush
  // Who waits to be greeted: those who may well answer, and those whose last HELLO has failed.
  IntrusiveList<Peer, ForGreeting> greet_next_;
  IntrusiveList<Peer, ForGreeting> greet_later_;
  KeyAllocator keys_;
  MultiReceive receive_;
  struct Arrival {
    std::uint32_t buffer = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    Instant until = Instant::max();  // then it is dropped
  };
  std::vector<Arrival> backlog_;  // a ring
  std::size_t backlog_first_ = 0;
  std::size_t backlog_count_ = 0;
  std::vector<std::byte> copies_;
  std::vector<std::uint32_t> free_copies_;
  std::array<std::size_t, 3> used_{};
  std::size_t early_ = 0;  // of kReceives: came before a HELLO
  unsigned strangers_left_ = kStrangersPerTurn;

  std::vector<lnet::PeerLink*> releasing_;
  bool release_asked_ = false;
  bool releases_due_ = false;  // something has ended that one of them may have waited for
  bool shutting_down_ = false;
  bool driver_down_ = false;
  Instant repost_at_ = Instant::min();
  std::array<lnet::Completion, kReportedAtOnce> reported_{};
  std::size_t reported_count_ = 0;
  Statistics statistics_;
  Counters<KfiLndCounters> counters_;
};

}  // namespace plnet::kfilnd
