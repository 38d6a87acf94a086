// SPDX-License-Identifier: BSD-3-Clause
// The memory that one shard offers: its MDs and MEs, the bytes that each message may use, and the
// events about them. Rules and order are the kernel's (lustre-release lnet/lnet/lib-ptl.c,
// lib-md.c, lib-me.c, lib-msg.c: lnet_msg_detach_md()).
//
// An ME and its MD live on the shard that attached them, an MD to send from or get into on the
// shard that bound it. Only that shard calls here; others ask it with a MatchRequest or
// RespondRequest and get a Grant. A grant pins the MD: no event has `unlinked` set, and the MD is
// not reused, before all its grants have been finished.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/result.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/match/descriptor.hpp"
#include "lib/lnet/match/event.hpp"
#include "lib/lnet/match/grant.hpp"
#include "lib/lnet/match/match_entries.hpp"
#include "lib/lnet/match/portal_directory.hpp"
#include "lib/lnet/match/wire_handle.hpp"

namespace plnet::lnet {

#define PLNET_MATCH_COUNTERS(X)                                                                   \
  X(kMdsInUse, "mds_in_use", "mds", kGauge,                                                       \
    "memory descriptors attached or bound, including unlinked ones with operations under way")    \
  X(kMesInUse, "mes_in_use", "mes", kGauge, "match entries attached")                             \
  X(kQuarantined, "mds_quarantined", "operations", kGauge,                                        \
    "operations that failed while a peer may still access their memory")                          \
  X(kAwaited, "responses_awaited", "mds", kGauge,                                                 \
    "memory descriptors that await an ACK or REPLY with a deadline")                              \
  X(kNoDescriptor, "md_alloc_failures", "calls", kCount,                                          \
    "calls to attach or bind refused: all memory descriptors are in use")                         \
  X(kStarted, "operations_started", "operations", kCount, "PUTs and GETs begun by this shard")    \
  X(kStartRefused, "start_refused", "operations", kCount,                                         \
    "PUTs and GETs refused: MD unlinked, attached or exhausted")                                  \
  X(kPuts, "puts_matched", "messages", kCount, "PUTs that matched an MD on this shard")           \
  X(kGets, "gets_matched", "messages", kCount, "GETs that matched an MD on this shard")           \
  X(kAcks, "acks_matched", "messages", kCount, "ACKs that found their MD")                        \
  X(kReplies, "replies_matched", "messages", kCount,                                              \
    "REPLY messages that found their MD, including those by RDMA")                                \
  X(kSamePeer, "matches_by_other_nid", "messages", kCount,                                        \
    "messages that matched an ME that names another NID of the sender's peer")                    \
  X(kNoEntry, "no_entry", "messages", kCount, "PUTs and GETs that match no ME of this shard")     \
  X(kDropTooLong, "drop_too_long", "messages", kCount,                                            \
    "messages longer than the room of their MD, which does not truncate")                         \
  X(kDropBadPortal, "drop_bad_portal", "messages", kCount,                                        \
    "messages for a portal that does not exist")                                                  \
  X(kDropIncarnation, "drop_incarnation", "messages", kCount,                                     \
    "ACK and REPLY messages for an earlier start of this node, or for another node")              \
  X(kDropGone, "drop_md_gone", "messages", kCount, "ACK and REPLY messages whose MD is unlinked") \
  X(kDropAttached, "drop_md_attached", "messages", kCount,                                        \
    "ACK and REPLY messages for an MD that belongs to an ME")                                     \
  X(kDropExhausted, "drop_md_exhausted", "messages", kCount,                                      \
    "ACK and REPLY messages for an MD whose threshold is used up")                                \
  X(kEvents, "events", "events", kCount, "events delivered to users")                             \
  X(kEndedAborted, "ended_aborted", "operations", kCount,                                         \
    "operations that succeeded after their MD had been unlinked")                                 \
  X(kResponseTimeouts, "response_timeouts", "mds", kCount,                                        \
    "memory descriptors unlinked because an ACK or REPLY did not arrive in time")

PLNET_COUNTERS(MatchCounters, PLNET_MATCH_COUNTERS);

// The knowledge of the peer directory. Asked only for an ME whose NID is neither the sender's
// primary NID nor the one in the header.
class PeerIdentity {
 public:
  virtual ~PeerIdentity() = default;
  [[nodiscard]] virtual bool same_peer(const Nid& entry, const Nid& source) const = 0;
};

struct ResponseTimeout {
  MdHandle md;  // gone, or waiting for its last operation
  NextHop next_hop;
};

// Calls to the layer above, made before the call that caused them returns. Cold.
class MatchHooks {
 public:
  virtual ~MatchHooks() = default;
  // An ME with an MD is attached to a lazy portal: messages that wait at its home may match. Called
  // within attach(), before its caller knows the handle: the hook must not search for a match.
  virtual void on_lazy_attach(PortalId portal) = 0;
  // Follows the MD's event, if there was one. The next hop, if there was one, gets a remote
  // failure.
  virtual void on_response_timeout(const ResponseTimeout& timeout) = 0;
  // The user unlinks the MD of a request to a peer beyond a gateway, before an answer or timeout.
  virtual void on_given_up(const Nid& beyond) = 0;
};

struct MatchTableSetup {
  ShardId shard = 0;
  // Names this run of the node, never all ones: handles of earlier runs find nothing.
  std::uint64_t interface_cookie = 0;
  std::uint32_t own_pid = kLustrePid;
  std::size_t descriptors = 4096;  // attached and bound together
  std::size_t entries = 4096;
};

// The parameters of a PUT or GET of this shard.
struct StartRequest {
  MessageType type = MessageType::kPut;
  bool ack = false;       // PUT: with an ACK
  bool internal = false;  // LNet's own ping or push
  ResponseTracking tracking = ResponseTracking::kAll;
  Instant response_deadline = Instant::max();  // if it is tracked
};

class MatchTable {
 public:
  // Allocates everything. The referenced objects outlive the table.
  MatchTable(const MatchTableSetup& setup, PortalDirectory& portals, TimerWheel& timers,
             const PeerIdentity& peers, MatchHooks& hooks);
  // No MD is pinned. MDs that are left get no event.
  ~MatchTable();
  MatchTable(const MatchTable&) = delete;
  MatchTable& operator=(const MatchTable&) = delete;

  // As in DataOperations. The event handler of an MD may unlink it, and attach and bind others.
  [[nodiscard]] Result<Attached> attach(const MeSpec& me, const MdSpec& md);
  [[nodiscard]] Result<MdHandle> bind(const MdSpec& md);
  // The event of the last operation under way has `unlinked` set; without one, an UNLINK event
  // comes from inside this call. kNotFound: the MD is gone, or has unlinked itself.
  Result<void> unlink(const MdHandle& handle);
  // Unlinks its MD too, with any `unlink_with_md`. Without an MD there is no event.
  Result<void> unlink(const MeHandle& handle);

  // A message from a peer. No event comes from inside these. The grant, if kMatched, is written to
  // its final place: copying it right after it was built from small pieces would stall on the store
  // buffer and cost more than the rest.
  [[nodiscard]] MatchAnswer match(const MatchRequest& request, Grant& grant);
  [[nodiscard]] MatchAnswer respond(const RespondRequest& request, Grant& grant);
  // The same with a decoded handle.
  [[nodiscard]] MatchAnswer respond(MessageType type, const MdHandle& handle,
                                    std::uint32_t payload_length, Grant& grant);
  // The same, with a copy.
  [[nodiscard]] MatchResult match(const MatchRequest& request) {
    MatchResult result;
    static_cast<MatchAnswer&>(result) = match(request, result.grant);
    return result;
  }
  [[nodiscard]] MatchResult respond(const RespondRequest& request) {
    MatchResult result;
    static_cast<MatchAnswer&>(result) = respond(request, result.grant);
    return result;
  }
  // The LND has placed the data of a GET under way: `length` bytes, no REPLY arrives. Ends like a
  // REPLY, with a header that the caller builds. kDrop: more bytes than the sink has.
  [[nodiscard]] MatchResult reply_placed(const Grant& get, std::uint32_t length);

  // Begins an operation of this node. The window is all of the MD: the bytes to send, or the memory
  // for the data. kNotFound: unlinked, attached to an ME, or threshold used up.
  [[nodiscard]] Result<void> start(const MdHandle& handle, const StartRequest& request,
                                   Grant& grant);
  [[nodiscard]] Result<Grant> start(const MdHandle& handle, const StartRequest& request) {
    Result<Grant> grant;
    if (const auto started = start(handle, request, *grant); !started)
      grant = std::unexpected(started.error());
    return grant;
  }
  // The next hop of a started operation, each time that it has one.
  void set_next_hop(const Grant& grant, std::uint32_t peer_ni, const Nid& nid, const Nid& beyond);
  // The MD was unlinked: a message that is still queued need not be sent (kCancelled).
  [[nodiscard]] bool aborted(const Grant& grant) const { return pinned(grant).aborted.get(); }
  // The same, readable by any shard that holds up the operation.
  [[nodiscard]] const Relaxed<bool>& aborted_flag(const Grant& grant) const {
    return pinned(grant).aborted;
  }

  // The operation is over: unpins the MD, delivers the event, and unlinks the MD if it was the last
  // operation. Returns the status of the event, which decides about an ACK: a success on an MD that
  // was unlinked meanwhile is kTimedOut, as in the kernel. The grant is void.
  Result<void> finish(const Grant& grant, const ReceivedMessage& message, Result<void> status);
  Result<void> finish(const Grant& grant, const SentMessage& message, Result<void> status);

  // The operation is over for its user, but a peer may still write to the memory: delivers the
  // event like finish(), and keeps the pin. Neither this event nor a later one has `unlinked` set
  // before end_quarantine(), which must follow. If the MD waits for nothing else then, an UNLINK
  // event ends it.
  void quarantine(const Grant& grant, const ReceivedMessage& message, Errc cause);
  void quarantine(const Grant& grant, const SentMessage& message, Errc cause);
  void end_quarantine(const Grant& grant);

  [[nodiscard]] WireHandle wire_handle(const MdHandle& md) const {
    return encode_handle(md, setup_.interface_cookie);
  }
  [[nodiscard]] ShardId shard() const { return setup_.shard; }
  [[nodiscard]] const Counters<MatchCounters>& counters() const { return counters_; }

 private:
  friend struct Descriptor;
  using Id = MatchCounters::Id;
  // Whether a match by another NID of the peer counts.
  enum class Naming : std::uint8_t { kExact, kSamePeer };

  [[nodiscard]] Descriptor* take_descriptor(const MdSpec& spec, bool attached);
  [[nodiscard]] Descriptor* find(const MdHandle& handle);
  [[nodiscard]] const Descriptor& pinned(const Grant& grant) const;
  [[nodiscard]] Descriptor& pinned(const Grant& grant);
  [[nodiscard]] MdHandle handle_of(const Descriptor& md) const {
    return {mds_.index_of(&md), md.generation, setup_.shard};
  }

  // A MatchResult whose grant is stored by the caller.
  struct Finding : MatchAnswer {
    Grant& grant;

    // In one store, because it is read by one load.
    void conclude(MatchVerdict what, MatchCause why) {
      static_cast<MatchAnswer&>(*this) = {what, why};
    }
  };
  void search(const MatchRequest& request, Finding& result);
  // True: an ME did not match only because of its NID.
  bool walk(std::uint32_t first, const MatchRequest& request, Naming naming, Finding& result);
  void commit(Descriptor& md, const MatchRequest& request, Finding& result);
  void answer(Finding& result, Descriptor& md, EventKind kind, std::uint32_t length);
  void refuse(Finding& result, MatchVerdict verdict, MatchCause cause, Id counter);
  void pin(Descriptor& md);
  void fill(Grant& grant, const Descriptor& md, EventKind kind, std::uint32_t at,
            std::uint32_t length) const;

  template <class Describe>
  Result<void> end(const Grant& grant, Result<void> status, bool unpin, Describe&& describe);
  void abort(Descriptor& md);
  void end_with_unlink_event(Descriptor& md);
  void retire(Descriptor& md);
  void leave_entry(Descriptor& md);
  void stop_waiting(Descriptor& md);
  void expire(Descriptor& md);

  const MatchTableSetup setup_;
  PortalDirectory& portals_;
  TimerWheel& timers_;
  const PeerIdentity& peers_;
  MatchHooks& hooks_;
  Pool<Descriptor> mds_;
  MatchEntries entries_;
  Counters<MatchCounters> counters_;
};

}  // namespace plnet::lnet
