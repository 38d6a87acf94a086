// SPDX-License-Identifier: BSD-3-Clause
// The simulator's LND of the RDMA kind over queue pairs. Small messages travel with their header;
// a large PUT asks for its sink and writes there, a GET brings its sink along and is answered by
// a write. A queue pair serves the requests of who connected it; answers come back on it. Requests
// are bounded by credits, one for each record that the other side keeps; what answers them finds a
// posted receive always.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "apps/lnet-sim/rdma_wire.hpp"
#include "drivers/net/sim/lazy_memory.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/lnd.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::sim {

#define PLNET_SIM_RDMA_LND_COUNTERS(X)                                                           \
  X(kImmediates, "immediates", "messages", kCount, "sent with their header")                     \
  X(kPutRequests, "put_requests", "messages", kCount, "PUT and REPLY that asked for their sink") \
  X(kGetRequests, "get_requests", "messages", kCount, "GET with an open sink")                   \
  X(kReceived, "received", "messages", kCount, "headers handed to the core")                     \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                         \
  X(kConnectFailures, "connect_failures", "connections", kCount, "attempts that failed")         \
  X(kLost, "lost_connections", "connections", kCount, "queue pairs that ended unasked")          \
  X(kFailed, "failed", "messages", kCount, "messages that ended with an error")                  \
  X(kExpired, "expired", "messages", kCount, "messages whose deadline passed here")              \
  X(kQuarantined, "quarantined", "messages", kCount, "ended while a peer could reach the sink")  \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")                \
  X(kNaks, "naks", "messages", kCount, "requests of which nobody wanted a byte")                 \
  X(kStaleResumes, "stale_resumes", "calls", kCount, "decisions for messages that had gone")     \
  X(kProtocolErrors, "protocol_errors", "connections", kCount, "ended for what the peer sent")   \
  X(kStalled, "stalled", "connections", kCount, "ended because a transfer did not come on")      \
  X(kPostsRefused, "posts_refused", "chains", kCount, "chains to be posted again")               \
  X(kRefused, "refused", "connections", kCount, "incoming connections for which there is no room")
PLNET_COUNTERS(RdmaLndCounters, PLNET_SIM_RDMA_LND_COUNTERS);

struct RdmaLndConfig {
  lnet::Nid nid;  // its address is the host's IPv4 address
  std::uint16_t port = 987;
  unsigned shard = 0;   // of the host
  unsigned shards = 1;  // its shards share the ports
  const ArenaTable* arenas = nullptr;
  drivers::LazyMemory* lazy = nullptr;
  BufferAddress memory;  // memory_bytes() of it
  std::size_t peers_max = 64;
  std::size_t pairs_max = 64;
  std::uint32_t inline_bytes_max = 512;
  Duration lnd_timeout = std::chrono::seconds(50);
};

class RdmaLnd final : public lnet::Lnd, public o2iblnd::VerbsEvents {
 public:
  RdmaLnd(const RdmaLndConfig& config, lnet::LndUpcalls& core);
  ~RdmaLnd() override;
  [[nodiscard]] static std::uint64_t memory_bytes(const RdmaLndConfig& config);
  // The driver is made with this for its events; then the LND listens.
  void attach(o2iblnd::VerbsDriver& driver);

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] Instant next_deadline() const override { return next_check_; }
  [[nodiscard]] CounterView counters() const override { return counters_.view(); }

  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override;
  void on_connect_request(o2iblnd::QueuePairId request, const o2iblnd::Ipv4Endpoint& from,
                          const o2iblnd::Ipv4Endpoint& to,
                          std::span<const std::byte> data) override;
  void on_established(o2iblnd::QueuePairId id, std::span<const std::byte> data) override;
  void on_rejected(o2iblnd::QueuePairId id, o2iblnd::RejectKind kind,
                   std::span<const std::byte> data) override;
  void on_disconnected(o2iblnd::QueuePairId id, Errc cause) override;
  void on_drained(o2iblnd::QueuePairId id) override;
  void on_device(bool usable, Errc cause) override;

  [[nodiscard]] std::uint64_t count(RdmaLndCounters::Id id) const { return counters_.get(id); }

 private:
  using Id = RdmaLndCounters::Id;
  static constexpr std::size_t kDepth = 8;           // requests of a queue pair under way
  static constexpr std::size_t kSlots = 2 * kDepth;  // frames of a queue pair, each way
  static constexpr std::size_t kPorts = 4;
  static constexpr std::size_t kChainMax = 2 * kRdmaPiecesMax + 1;

  struct Pair;
  struct Peer : ListNode<> {
    lnet::PeerLink* link = nullptr;
    lnet::Transmit* first = nullptr;
    lnet::Transmit* last = nullptr;
    Pair* pair = nullptr;
    std::uint32_t incoming = 0;
    bool releasing = false;
  };
  // A request of ours.
  struct Request {
    enum class State : std::uint8_t {
      kFree,
      kSending,      // immediate: until the send is done
      kAsking,       // until the answer comes
      kMustWrite,    // the sink is known, the chain not posted
      kWriting,      // until the chain is done
      kQuarantined,  // told; until the queue pair has drained
    };
    lnet::Transmit* transmit = nullptr;
    std::uint32_t generation = 0;
    State state = State::kFree;
    bool open_sink = false;
    std::uint32_t answer = 0;
    std::uint32_t length = 0;
    std::uint32_t piece_count = 0;
    std::array<RdmaPiece, kRdmaPiecesMax> pieces;
  };
  // A request of the peer's.
  struct Inbound {
    enum class State : std::uint8_t {
      kFree,
      kQueued,  // not offered yet
      kParked,
      kDecided,
      kMustAck,
      kWaiting,    // for the peer's writes
      kMustReply,  // the bytes of a GET
      kReplying,
      kMustSay,  // that there is nothing to transfer
    };
    lnet::MessageHeader header;
    RdmaKind kind = RdmaKind::kImmediate;
    State state = State::kFree;
    std::uint8_t slot = 0;  // kImmediate: where its payload lies
    bool failed = false;
    std::uint32_t rx_generation = 0;
    std::uint32_t request = 0;
    std::uint32_t generation = 0;
    std::uint32_t piece_count = 0;
    std::array<RdmaPiece, kRdmaPiecesMax> pieces;
    lnet::RxDecision decision;
    Instant progress{};
  };
  struct Pair : ListNode<> {
    enum class State : std::uint8_t { kOpening, kOpen, kError };
    o2iblnd::QueuePairId id;
    State state = State::kOpening;
    bool active = false;  // ours
    bool was_open = false;
    Errc cause = Errc::kReset;
    Peer* peer = nullptr;
    lnet::Nid from;
    lnet::PeerLink* link = nullptr;
    unsigned credits = 0;
    unsigned owed = 0;
    std::uint8_t used = 0;  // requests, records
    std::uint8_t free_slots = 0;
    std::array<std::uint8_t, kSlots> slots{};  // a stack of those to send from
    std::array<Request, kDepth> requests;
    std::array<Inbound, kDepth> inbound;
    std::array<std::uint8_t, kDepth> order{};  // of those not offered yet
    std::uint8_t order_head = 0;
    std::uint8_t order_count = 0;
    bool parked = false;
  };

  [[nodiscard]] Peer* peer_of(lnet::PeerLink& link);
  [[nodiscard]] Pair* pair_of(o2iblnd::QueuePairId id);
  [[nodiscard]] Pair* open_pair(o2iblnd::QueuePairId id, bool active);
  [[nodiscard]] Fragment slot_memory(const Pair& pair, std::size_t slot, bool receive) const;
  void post_receive(const Pair& pair, std::size_t slot);
  void connect(Peer& peer);
  void pump(Peer& peer);
  [[nodiscard]] bool begin(Peer& peer, Pair& pair, lnet::Transmit& transmit);
  [[nodiscard]] bool post(Pair& pair, const RdmaFrame& frame, std::uint32_t payload,
                          const lnet::Transmit* inline_source, std::uint64_t cookie);
  [[nodiscard]] bool post_writes(Pair& pair, const lnet::Payload& source, std::uint32_t length,
                                 std::span<const RdmaPiece> sink, const RdmaFrame& last,
                                 std::uint64_t cookie);
  void lay_open(const lnet::Payload& window, std::uint32_t length, RdmaFrame& frame) const;
  void go_on(Pair& pair);
  void sent(Pair& pair, std::uint64_t cookie);
  void end_request(Pair& pair, Request& request, Result<void> status, Health health,
                   std::uint32_t placed = 0);
  void complete(const lnet::Completion& completion);
  void report();
  void fail_queue(Peer& peer, Errc cause, Health health);
  void drop_marked(Peer& peer, Instant now);
  void check_deadlines(Instant now);
  void break_pair(Pair& pair, Errc cause);
  void quarantine_open_sinks(Pair& pair);
  void finish_releases();
  // rdma_lnd_rx.cpp
  void received(Pair& pair, const o2iblnd::WorkCompletion& completion);
  void answered(Pair& pair, const RdmaFrame& frame);
  void asked(Pair& pair, const RdmaFrame& frame, std::uint32_t bytes, std::size_t slot);
  void offer_queued(Pair& pair);
  void carry_out(Pair& pair, Inbound& inbound);
  void place_immediate(Pair& pair, Inbound& inbound, std::uint32_t length);
  [[nodiscard]] bool advance(Pair& pair, Inbound& inbound);
  void release(Pair& pair, Inbound& inbound);
  void tell_received(Pair& pair, Inbound& inbound, Result<void> status, Health health);
  void return_credits(Pair& pair);
  void keep_link(Pair& pair, lnet::PeerLink* link);
  void end_inbound(Pair& pair);
  [[nodiscard]] lnet::RxHandle handle_of(const Pair& pair, const Inbound& inbound) const;

  const RdmaLndConfig config_;
  const lnet::LndTraits traits_;
  const std::uint32_t slot_bytes_;
  lnet::LndUpcalls& core_;
  o2iblnd::VerbsDriver* driver_ = nullptr;
  Pool<Peer> peers_;
  Pool<Pair> pairs_;
  std::vector<std::uint32_t> owners_;  // pair by index of the queue pair
  IntrusiveList<Peer> dirty_;
  IntrusiveList<Peer> quiet_;
  IntrusiveList<Pair> again_;  // something could not be posted
  lnet::Transmit* orphans_ = nullptr;
  std::vector<std::uint32_t> decided_;  // handles' indices; room for all from the start
  std::size_t messages_ = 0;
  std::size_t receiving_ = 0;
  unsigned releases_ = 0;
  Instant now_{};
  Instant next_check_ = Instant::max();
  bool cancel_wanted_ = false;
  bool shutting_down_ = false;
  std::array<lnet::Completion, 32> ended_;
  std::size_t ended_count_ = 0;
  Counters<RdmaLndCounters> counters_;
};

}  // namespace plnet::sim
