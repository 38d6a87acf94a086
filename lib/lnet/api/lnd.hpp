// SPDX-License-Identifier: BSD-3-Clause
// The contract between the LNet core and a network driver (LND). doc/architecture.md walks PUT,
// GET, a routed GET, a parked receive and a timeout through it for three kinds of network.
//
// Who calls: there is one Lnd for each NI and each shard that serves it. Only that shard calls it,
// and it calls only that shard's LndUpcalls; what has to cross shards crosses inside the core.
// When: upcalls happen inside the shard's poll of the driver. The core never calls an Lnd from
// within an upcall; it collects what it wants to send and hands it over at the end of the turn, in
// bursts. Nothing here blocks, allocates or reads a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// What core and LND know of one remote interface on one shard. The core owns it and keeps it at its
// address until on_peer_released(); each side keeps its own half behind it or beside it, so that
// neither looks the other's up by NID for every message.
struct PeerLink {
  Nid nid;
  std::uint32_t pid = kLustrePid;
  void* lnd_peer = nullptr;  // the LND's; opaque to the core
  // The known state of the remote interface, kNiUp or kNiDown; null: unknown.
  const Relaxed<std::uint32_t>* status = nullptr;

  // By its own word, if it is connected.
  [[nodiscard]] bool is_down() const { return status != nullptr && status->get() != kNiUp; }
};

// A way to a peer: its connections, queue pairs or endpoint contexts on one shard. Lane 0 lies
// where the LND has the peer, always exists and queues while nothing is connected. Others are
// announced by on_lane(): lane_of_shard(s) is what leads there from shard s.
using LaneId = std::uint16_t;
[[nodiscard]] constexpr LaneId lane_of_shard(std::uint16_t shard) {
  return static_cast<LaneId>(shard + 1U);
}

// A message on its way out. The core owns it and lends it to the LND from send() to on_sent().
struct Transmit {
  MessageHeader header;  // ready for the wire
  PeerLink* next_hop = nullptr;
  LaneId lane = 0;          // 0 also for the shard's own, where lane 0 is
  bool routed : 1 = false;  // forwarded, not ours: a GET among these never gets a sink
  bool next_hop_is_router : 1 = false;
  std::uint8_t detours : 3 = 0;  // the core's: so often its gateway was lost while it waited
  bool kept : 1 = false;         // `source` is not all there: see kept_payload(). The LND clears it
  std::uint8_t retries = 0;      // the core's: so often it was sent again, kRetriesMax at most
  std::uint32_t core_state = 0;  // the core's; opaque to the LND
  Payload source;                // PUT and REPLY: the bytes to send. They stay put until on_sent()
  Payload sink;  // GET: where its data shall land. An LND whose wire can write there may do so
                 // (Completion::reply_placed); any other leaves it alone and a REPLY arrives
  Instant deadline = Instant::max();  // past it the LND stops trying

  // The LND's while it has the message: a list hook and a word of state.
  Transmit* lnd_next = nullptr;
  std::uintptr_t lnd_state = 0;
};

// How a Transmit ended.
struct Completion {
  Transmit* transmit = nullptr;
  Result<void> status{};        // for the sender's event
  Health health = Health::kOk;  // for the interfaces; set by who saw it, not derived from status
  bool reply_placed = false;    // GET: the data is in the sink, there will be no REPLY message
  // It failed, and none of its bytes has left: it can be sent again and does not arrive twice.
  bool unsent = false;
  std::uint32_t reply_length = 0;
  // The peer may still write to the sink: the core reports the failure to its user, but keeps
  // memory and Transmit until on_quarantine_over().
  bool quarantined = false;
};

// Names a message that is being received. `generation` makes a late answer harmless: an Lnd ignores
// and counts a resume() for a message that has died meanwhile.
struct RxHandle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const RxHandle&, const RxHandle&) = default;
};

// A payload that has arrived on this machine and that its LND has not put into its target yet: it
// may hand it on to where it goes next without doing so. Nobody but an LND of its own family can
// use it like that; who is to read the target, or give it away, has it brought there before.
class PayloadKeeper {
 public:
  // Hot. It is all in its target when this returns, as it is if it was not kept any more. No upcall
  // is made from here, so the core may call this from within one.
  virtual void bring(RxHandle rx) = 0;
  // What can take from it: the same for two LNDs that can.
  [[nodiscard]] virtual const void* family() const = 0;

 protected:
  ~PayloadKeeper() = default;
};

struct KeptPayload {
  PayloadKeeper* keeper = nullptr;  // null: none is kept
  RxHandle rx{};
};

// A message whose header has arrived. Valid during the upcall only; the core copies what it keeps.
struct RxOffer {
  const MessageHeader& header;
  Nid from;                  // the directly connected sender: a router, or header.source itself
  PeerLink* link = nullptr;  // what a decision or a send for this peer has brought, else null
  RxHandle rx{};
  // GET: the requester has laid its buffer open. The bytes named by the decision are written there
  // by the LND itself; the core sends no REPLY.
  bool reply_by_lnd = false;
};

// A message that will be offered soon.
struct HeaderAhead {
  const MessageHeader* header = nullptr;
  PeerLink* link = nullptr;  // as in its RxOffer
};

enum class RxVerdict : std::uint8_t {
  kReceive,  // put `length` payload bytes into `target`; skip the rest. For reply_by_lnd: send them
             // from `target`. Ends with on_received(). A length of 0 is an ordinary case
  kDrop,     // nobody wants it: skip the payload, keep the connection. No upcall follows
  kPark,     // the answer is not known yet. Nothing more is read from this sender on this lane, so
             // order is kept. The core calls resume() with one of the others
  kReject,   // the peer broke the protocol: close the connection and its siblings. No upcall
             // follows, whether returned or brought by resume()
};

struct RxDecision {
  RxVerdict verdict = RxVerdict::kDrop;
  Payload target{};
  std::uint32_t length = 0;
  bool may_keep = false;  // kReceive: on_kept() may take the place of on_received()
  Errc reason =
      Errc::kNoData;  // kDrop: what to tell a requester that waits for an answer; kReject: why
  PeerLink* link = nullptr;  // if not null, the LND keeps it with the sender
};

enum class InterfaceState : std::uint8_t { kUp, kDown, kFatal };
enum class PeerNotice : std::uint8_t {
  kAlive,
  kAliveAfterRestart,
  kLost,  // nothing connects us any more: what was under way may never have arrived
  kDown,  // it cannot be reached
};

// What the core does for an LND. The core implements it, once per shard.
class LndUpcalls {
 public:
  virtual ~LndUpcalls() = default;

  // Hot. These come next, in this order, each by an on_header() of its own. Nothing is decided: the
  // core fetches what it will look at, and who has no more than one at hand need not say.
  virtual void on_headers_ahead(std::span<const HeaderAhead> /*next*/) {}
  // Hot.
  [[nodiscard]] virtual RxDecision on_header(const RxOffer& offer) = 0;
  // The kReceive ended: payload in place (or sent, for reply_by_lnd), or failed.
  virtual void on_received(RxHandle rx, Result<void> status, Health health) = 0;
  virtual void on_sent(std::span<const Completion> burst) = 0;
  // Hot. Of a decision that said may_keep: the whole payload has arrived, and is kept by the LND.
  // For the core it is as good as received; on_received() does not follow.
  virtual void on_kept(RxHandle rx, PayloadKeeper& keeper) {
    keeper.bring(rx);
    on_received(rx, {}, Health::kOk);
  }
  // Hot. Of a message that the core has lent to this LND with `kept` set.
  [[nodiscard]] virtual KeptPayload kept_payload(const Transmit& /*transmit*/) const { return {}; }

  // Cold.
  // A parked message is gone before a resume() came: with its connection, or at once because its
  // sender has its share of the parked messages (kNoSpace). The core does not resume it; a decision
  // on its way from another shard is dropped when it gets here. After a resume() the message ends
  // as its decision says: kReceive in on_received(), the others silently.
  virtual void on_parked_gone(RxHandle rx, Errc cause) = 0;
  virtual void on_quarantine_over(Transmit& transmit) = 0;
  // Lanes come and go with connections; told where the peer's lane 0 is, and by that of its shard
  // how it compares with the others. `bulk` lanes take messages from LndTraits::bulk_bytes_min on,
  // each handed to the Lnd of its lane's shard with Transmit::lane set. One that gets there when
  // the lane has gone ends as if its connection had failed under it.
  virtual void on_lane(PeerLink& link, LaneId lane, bool up, bool bulk) = 0;
  virtual void on_peer(const Nid& nid, PeerNotice notice, Instant when) = 0;
  // No connection to the peer can be made, or the last one had no answer for too long, and why;
  // until on_peer() says that it is alive. May be repeated.
  virtual void on_unreachable(const Nid& /*nid*/, Errc /*cause*/) {}
  virtual void on_peer_released(PeerLink& link) = 0;
  virtual void on_interface(InterfaceState state, Errc cause) = 0;
};

// What an LND can do and how it wants to be treated. Constant after start.
struct LndTraits {
  std::string_view name;  // of the LND, in metrics
  NetType net_type = NetType::kTcp;
  bool places_replies = false;    // may use Transmit::sink
  bool reports_timeouts = false;  // the core derives message deadlines from lnd_timeout (10.5)
  bool takes_kept = false;       // asks for kept_payload() of what it sends; others find it brought
  bool aborts_messages = false;  // a message under way can be taken back without killing its lane
  bool connects = false;  // on_peer() tells of the first connection (kAlive) and the last one's end
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

  // Hot. The decision for a message that was parked. It may have been made on any shard; the core
  // has brought it to this one. May do everything but call back into the core.
  virtual void resume(RxHandle rx, const RxDecision& decision) = 0;

  // Hot. Once a turn, after everything else: time for timers, and for handing to the device what
  // send() and resume() have queued. Returns pieces of work. Upcalls are allowed in here.
  virtual unsigned flush(Instant now) = 0;

  // Cold. Asks for an early end. What was not begun ends with kCancelled; what cannot be taken back
  // ends when it ends. Either way on_sent() comes, from a later flush() or poll.
  virtual void cancel(Transmit& transmit) = 0;
  // Cold. End what is under way to this peer, close what leads there, forget the link, then
  // on_peer_released(): from a later flush(), or inside this call if the link was never known.
  // Sends to it meanwhile end with kShutdown.
  virtual void release_peer(PeerLink& link) = 0;
  // Cold. Stop taking messages; end all there are. Links stay until they are released. The Lnd is
  // quiet when idle() says so.
  virtual void shut_down() = 0;
  [[nodiscard]] virtual bool idle() const = 0;
  // Cold. Between two turns, now and then: bytes of messages that have ended in on_sent() and would
  // yet be lost if this process ended now, since the transport still has them. The first call with
  // a later `since` looks at what the transport has then; those that repeat it tell what is left of
  // that, whatever has come after.
  [[nodiscard]] virtual std::uint64_t unsent_bytes(Instant /*since*/) { return 0; }
  // Receives that no message has, of an LND whose parked messages keep them and do not hold back
  // their senders. Without limit where a parked message holds back its sender.
  [[nodiscard]] virtual std::size_t receives_free() const { return SIZE_MAX; }
  [[nodiscard]] virtual Instant next_deadline() const = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::lnet
