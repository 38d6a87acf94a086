// SPDX-License-Identifier: BSD-3-Clause
// The contract between the LNet core and a network driver (LND). doc/architecture.md walks PUT,
// GET, a routed GET, a parked receive and a timeout through it for three kinds of network.
//
// Threads: there is one Lnd for each NI and each shard that serves it. Only that shard calls it,
// and it calls only that shard's LndUpcalls; the core crosses between shards. Time: upcalls happen
// inside the shard's poll of the driver. The core never calls an Lnd from within an upcall; it
// collects messages and hands them over at the end of the turn, in bursts. No call blocks,
// allocates or reads a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/api/shard_id.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// The record of one remote interface on one shard, shared by core and LND. The core owns it and
// keeps it in place until on_peer_released(); each side keeps its own data beside it, so that
// neither looks up a NID for each message.
struct PeerLink {
  Nid nid;
  std::uint32_t pid = kLustrePid;
  void* lnd_peer = nullptr;  // the LND's; opaque to the core
  // The known state of the remote interface, kNiUp or kNiDown; null: unknown.
  const Relaxed<std::uint32_t>* status = nullptr;

  // The remote interface, if it is connected, has reported itself down.
  [[nodiscard]] bool is_down() const { return status != nullptr && status->get() != kNiUp; }
};

// A path to a peer: its connections, queue pairs or endpoint contexts on one shard. Lane 0 lies
// where the LND has the peer, always exists and queues messages while there is no connection.
// on_lane() announces the others: lane_of_shard(s) leads to the peer from shard s.
using LaneId = std::uint16_t;
static_assert(kShardsMax < UINT16_MAX, "each shard has a lane, and lane 0 is none of them");
[[nodiscard]] constexpr LaneId lane_of_shard(std::uint16_t shard) {
  return static_cast<LaneId>(shard + 1U);
}

// A message on its way out. The core owns it and lends it to the LND from send() to on_sent().
struct Transmit {
  MessageHeader header;  // ready for the wire
  PeerLink* next_hop = nullptr;
  LaneId lane = 0;          // 0 also on the shard of lane 0
  bool routed : 1 = false;  // forwarded: a GET of these never has a sink
  bool next_hop_is_router : 1 = false;
  std::uint8_t detours : 3 = 0;  // the core's: times that its gateway was lost while it waited
  bool kept : 1 = false;         // `source` is incomplete: see kept_payload(). The LND clears it
  bool lost : 1 = false;         // the core's: `source` was kept and could not be brought
  std::uint8_t retries = 0;      // the core's: times that it was sent again, kRetriesMax at most
  std::uint32_t core_state = 0;  // the core's; opaque to the LND
  Payload source;                // PUT and REPLY: the bytes to send; constant until on_sent()
  // GET: the memory for the data. An LND whose wire can write there may do so
  // (Completion::reply_placed); with any other a REPLY arrives.
  Payload sink;
  Instant deadline = Instant::max();  // past it the LND stops trying

  // The LND's while it has the message: a list hook and a word of state.
  Transmit* lnd_next = nullptr;
  std::uintptr_t lnd_state = 0;
};

// The end of a Transmit.
struct Completion {
  Transmit* transmit = nullptr;
  Result<void> status{};        // for the sender's event
  Health health = Health::kOk;  // for the NIs; not derived from status
  bool reply_placed = false;    // GET: the data is in the sink, no REPLY will arrive
  // Failed before any of its bytes left: the message can be sent again and does not arrive twice.
  bool unsent = false;
  std::uint32_t reply_length = 0;
  // The peer may still write to the sink: the core reports the failure to its user, but keeps
  // memory and Transmit until on_quarantine_over().
  bool quarantined = false;
};

// Names a message that arrives. `generation` makes late decisions harmless: an Lnd ignores and
// counts a resume() for a message that is gone.
struct RxHandle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const RxHandle&, const RxHandle&) = default;
};

// A payload that has arrived on this machine and that its LND keeps outside its target. The LND of
// the next hop, if it is of the same family, may take it from there. Before the core reads the
// target or gives it away, it calls bring().
class PayloadKeeper {
 public:
  // Hot. The payload is in its target when this returns, even if it was not kept any more. An
  // error: it is lost, and nothing may use the target. No upcall but on_kept_lost() is made from
  // here, so the core may call this from within one.
  [[nodiscard]] virtual Result<void> bring(RxHandle rx) = 0;
  // Identifies the LNDs that can take a kept payload from this one: equal for two such LNDs.
  [[nodiscard]] virtual const void* family() const = 0;

 protected:
  ~PayloadKeeper() = default;
};

struct KeptPayload {
  PayloadKeeper* keeper = nullptr;  // null: none is kept
  RxHandle rx{};
  bool lost = false;  // on_kept_lost() has said so: the message must not be sent
};

// A message whose header has arrived. Valid during the upcall only; the core copies what it keeps.
struct RxOffer {
  const MessageHeader& header;
  Nid from;                  // the directly connected sender: a router, or header.source itself
  PeerLink* link = nullptr;  // the link of a decision or send for this peer, else null
  RxHandle rx{};
  // GET: the requester offers its buffer. The LND writes the bytes of the decision there; the core
  // sends no REPLY.
  bool reply_by_lnd = false;
};

// A message that will be offered soon.
struct HeaderAhead {
  const MessageHeader* header = nullptr;
  PeerLink* link = nullptr;  // as in its RxOffer
};

enum class RxVerdict : std::uint8_t {
  // Put `length` payload bytes into `target`; skip the rest. For reply_by_lnd: send them from
  // `target`. Ends with on_received(). A length of 0 is an ordinary case.
  kReceive,
  // Skip the payload, keep the connection. No upcall follows.
  kDrop,
  // The decision is not known yet. The LND reads nothing more from this sender on this lane, which
  // keeps the order. The core calls resume() with one of the others.
  kPark,
  // The peer broke the protocol: close the connection and its siblings. No upcall follows, neither
  // after the return nor after resume().
  kReject,
};

struct RxDecision {
  RxVerdict verdict = RxVerdict::kDrop;
  Payload target{};
  std::uint32_t length = 0;
  bool may_keep = false;  // kReceive: on_kept() may take the place of on_received()
  // kDrop: the answer to a requester that waits for one; kReject: the reason.
  Errc reason = Errc::kNoData;
  PeerLink* link = nullptr;  // not null: the LND stores it with the sender
};

// The promise of each decision that LNDs rely on: the target has room for all bytes, and only a
// received message has any.
[[nodiscard]] constexpr bool is_sound(const RxDecision& decision) {
  if (decision.verdict == RxVerdict::kReceive) return decision.length <= decision.target.length;
  return decision.length == 0 && !decision.may_keep;
}

enum class InterfaceState : std::uint8_t { kUp, kDown, kFatal };
enum class PeerNotice : std::uint8_t {
  kAlive,
  kAliveAfterRestart,
  kLost,  // no connection is left: messages under way may never have arrived
  kDown,  // the peer cannot be reached
};

// The calls of an LND to the core, which implements them once for each shard.
class LndUpcalls {
 public:
  virtual ~LndUpcalls() = default;

  // Hot. The headers that follow, in this order, each by an on_header() of its own. Nothing is
  // decided: the core prefetches memory for them. An LND with a single header need not call it.
  virtual void on_headers_ahead(std::span<const HeaderAhead> /*next*/) {}
  // Hot.
  [[nodiscard]] virtual RxDecision on_header(const RxOffer& offer) = 0;
  // The end of kReceive: the payload is in place (or sent, for reply_by_lnd), or has failed.
  virtual void on_received(RxHandle rx, Result<void> status, Health health) = 0;
  virtual void on_sent(std::span<const Completion> burst) = 0;
  // Hot. For a decision with may_keep: the whole payload has arrived, and the LND keeps it. The
  // core treats it as received; on_received() does not follow.
  virtual void on_kept(RxHandle rx, PayloadKeeper& keeper) {
    const Result<void> brought = keeper.bring(rx);
    on_received(rx, brought, brought ? Health::kOk : Health::kLocalError);
  }
  // Cold. A kept payload could not be read from its socket. The LND closes the connection. The core
  // takes a note only, and ends the message later: this is called from within bring().
  virtual void on_kept_lost(RxHandle /*rx*/) {}
  // Hot. For a message that the core has lent to this LND with `kept` set.
  [[nodiscard]] virtual KeptPayload kept_payload(const Transmit& /*transmit*/) const { return {}; }

  // Cold. A parked message is lost before a resume(): with its connection, or at once because its
  // sender has its share of the parked messages (kNoSpace). No resume() follows; the core discards
  // a decision that is on its way from another shard. After a resume() the message ends as its
  // decision says: kReceive in on_received(), the others without an upcall.
  virtual void on_parked_gone(RxHandle rx, Errc cause) = 0;
  virtual void on_quarantine_over(Transmit& transmit) = 0;
  // A lane of the peer is up or down, with its connections. Called on the shard of the peer's lane
  // 0. `bulk` lanes take messages from LndTraits::bulk_bytes_min on; the Lnd of the lane's shard
  // gets them with Transmit::lane set. A message that arrives there after the lane is down ends as
  // if its connection had failed.
  virtual void on_lane(PeerLink& link, LaneId lane, bool up, bool bulk) = 0;
  virtual void on_peer(const Nid& nid, PeerNotice notice, Instant when) = 0;
  // No connection to the peer can be made, or the last one had no answer for too long, for this
  // cause. Holds until on_peer() reports the peer alive. May be repeated.
  virtual void on_unreachable(const Nid& /*nid*/, Errc /*cause*/) {}
  virtual void on_peer_released(PeerLink& link) = 0;
  virtual void on_interface(InterfaceState state, Errc cause) = 0;
};

// The abilities and limits of an LND. Constant after start.
struct LndTraits {
  std::string_view name;  // of the LND, in metrics
  NetType net_type = NetType::kTcp;
  bool places_replies = false;    // may use Transmit::sink
  bool reports_timeouts = false;  // the core derives message deadlines from lnd_timeout
  bool takes_kept =
      false;  // asks for kept_payload() of its messages; other LNDs find it in the target
  bool aborts_messages = false;  // can take back a message under way without the loss of its lane
  bool connects = false;  // on_peer() reports the first connection (kAlive) and the end of the last
  std::uint32_t inline_bytes_max = 0;  // payloads up to this travel with their header
  std::uint32_t bulk_bytes_min = ~0U;  // payloads from this on take bulk lanes
  Duration lnd_timeout{};
};

class Lnd {
 public:
  virtual ~Lnd() = default;

  [[nodiscard]] virtual const LndTraits& traits() const = 0;

  // Hot. Takes a prefix of the burst and returns its length; fewer than offered is back-pressure,
  // and the core offers the rest again next turn. Every message taken ends in exactly one
  // on_sent(), never from inside this call.
  virtual std::size_t send(std::span<Transmit* const> burst) = 0;

  // Hot. The decision for a parked message. The core has brought it from the shard that made it.
  // Must not call back into the core.
  virtual void resume(RxHandle rx, const RxDecision& decision) = 0;

  // Hot. Once a turn, after everything else: does timers, and hands to the device what send() and
  // resume() have queued. Returns pieces of work. Upcalls are allowed in here.
  virtual unsigned flush(Instant now) = 0;

  // Cold. Asks for an early end. A message that has not begun ends with kCancelled; one that cannot
  // be taken back ends later. Either way on_sent() comes, from a later flush() or poll.
  virtual void cancel(Transmit& transmit) = 0;
  // Cold. Ends all messages to and from this peer, closes its connections, forgets the link, then
  // calls on_peer_released(): from a later flush(), or inside this call if the LND has not used the
  // link. Sends to the peer meanwhile end with kShutdown.
  virtual void release_peer(PeerLink& link) = 0;
  // Cold. Takes no more messages and ends those under way. Links stay until they are released.
  // idle() says when the Lnd is quiet.
  virtual void shut_down() = 0;
  [[nodiscard]] virtual bool idle() const = 0;
  // Cold. Between two turns, now and then: bytes of messages that have ended in on_sent() but would
  // be lost if this process ended now, since the transport still has them. The first call with a
  // later `since` records the position of the transport; calls that repeat it return the rest of
  // those bytes, regardless of later messages.
  [[nodiscard]] virtual std::uint64_t unsent_bytes(Instant /*since*/) { return 0; }
  // Free receives of an LND whose parked messages keep theirs and do not hold back their senders.
  // No limit where a parked message holds back its sender.
  [[nodiscard]] virtual std::size_t receives_free() const { return SIZE_MAX; }
  [[nodiscard]] virtual Instant next_deadline() const = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::lnet
