// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/match/match_table.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/match/response_tracking.hpp"

namespace plnet::lnet {

namespace {

// lustre-release lnet/lnet/lib-md.c: lnet_md_build(), lnet_md_validate().
bool is_valid(const MdSpec& spec) {
  if (spec.fragments.size() > kFragmentsMax) return false;
  if (spec.threshold < kThresholdInfinite) return false;
  if ((spec.options & kMdMaxSize) != 0 && spec.max_size > spec.length) return false;
  std::uint64_t laid_open = 0;
  for (const Fragment& fragment : spec.fragments)
    laid_open += fragment.length;
  return spec.length <= laid_open;
}

PortalKind kind_of(const MeSpec& spec) {
  const bool unique =
      spec.ignore_bits == 0 && !spec.match.nid.is_any() && spec.match.pid != kPidAny;
  return unique ? PortalKind::kUnique : PortalKind::kWildcard;
}

}  // namespace

MatchTable::MatchTable(const MatchTableSetup& setup, PortalDirectory& portals, TimerWheel& timers,
                       const PeerIdentity& peers, MatchHooks& hooks)
    : setup_(setup),
      portals_(portals),
      timers_(timers),
      peers_(peers),
      hooks_(hooks),
      mds_(setup.descriptors),
      entries_(setup.entries) {
  PLNET_CHECK(setup.descriptors <= kDescriptorsMax, "more descriptors than handles can name");
  PLNET_CHECK(setup.shard < kShardsMax, "no such shard");
  PLNET_CHECK(setup.interface_cookie != ~0ULL, "means that there is no handle");
  for (std::uint32_t index = 0; index < mds_.capacity(); ++index)
    mds_.at(index).table = this;
}

MatchTable::~MatchTable() {
  for (std::uint32_t index = 0; index < mds_.capacity(); ++index) {
    Descriptor& md = mds_.at(index);
    PLNET_CHECK(md.pins == 0, "the table goes while a message uses its memory");
    if (md.state != Descriptor::State::kFree) retire(md);
  }
}

// --- Life of an MD ---

Result<Attached> MatchTable::attach(const MeSpec& me, const MdSpec& md) {
  if (me.portal >= kPortalsMax || (md.options & (kMdPut | kMdGet)) == 0 || !is_valid(md))
    return std::unexpected(Errc::kInvalid);
  if (mds_.free_count() == 0 || entries_.free_count() == 0) {
    counters_.add(Id::kNoDescriptor);
    return std::unexpected(Errc::kNoMemory);
  }
  if (const auto claimed = portals_.claim(me.portal, kind_of(me)); !claimed)
    return std::unexpected(claimed.error());

  Descriptor* attached = take_descriptor(md, true);
  attached->entry = entries_.insert(me, mds_.index_of(attached));
  PLNET_CHECK(attached->entry != MatchEntries::kNone, "an entry was free a moment ago");
  counters_.set(Id::kMesInUse, entries_.capacity() - entries_.free_count());
  portals_.added(me.portal, setup_.shard);
  const Attached handles{entries_.handle_of(attached->entry, setup_.shard), handle_of(*attached)};
  if (portals_.lazy(me.portal)) hooks_.on_lazy_attach(me.portal);
  return handles;
}

Result<MdHandle> MatchTable::bind(const MdSpec& md) {
  if ((md.options & (kMdPut | kMdGet)) != 0 || !is_valid(md) || md.length > kPayloadBytesMax)
    return std::unexpected(Errc::kInvalid);
  const Descriptor* bound = take_descriptor(md, false);
  if (bound == nullptr) {
    counters_.add(Id::kNoDescriptor);
    return std::unexpected(Errc::kNoMemory);
  }
  return handle_of(*bound);
}

Descriptor* MatchTable::take_descriptor(const MdSpec& spec, bool attached) {
  Descriptor* md = mds_.take();
  if (md == nullptr) return nullptr;
  PLNET_CHECK(md->state == Descriptor::State::kFree && md->pins == 0, "taken while in use");
  md->threshold = spec.threshold;
  md->options = spec.options;
  md->offset = 0;
  md->length = spec.length;
  md->max_size = spec.max_size;
  md->entry = MatchEntries::kNone;
  md->state = Descriptor::State::kLive;
  md->attached = attached;
  md->auto_unlink = spec.unlink_when_exhausted;
  md->aborted.set(false);
  md->fragments = spec.fragments;
  md->handler = spec.handler;
  md->user = spec.user;
  counters_.add(Id::kMdsInUse);
  return md;
}

Result<void> MatchTable::unlink(const MdHandle& handle) {
  Descriptor* md = find(handle);
  if (md == nullptr) return std::unexpected(Errc::kNotFound);
  if (md->response_timer.running() && !md->next_hop.beyond.is_any())
    hooks_.on_given_up(md->next_hop.beyond);
  abort(*md);
  return {};
}

Result<void> MatchTable::unlink(const MeHandle& handle) {
  MatchEntry* entry = handle.shard == setup_.shard ? entries_.find(handle) : nullptr;
  if (entry == nullptr) return std::unexpected(Errc::kNotFound);
  if (entry->linked) {
    entry->unlink_with_md = true;
    abort(mds_.at(entry->md));
  } else {
    entries_.give(*entry);
    counters_.set(Id::kMesInUse, entries_.capacity() - entries_.free_count());
  }
  return {};
}

// lustre-release lnet/lnet/lib-md.c: LNetMDUnlink()
void MatchTable::abort(Descriptor& md) {
  PLNET_CHECK(md.state == Descriptor::State::kLive, "a descriptor is unlinked once");
  md.aborted.set(true);
  if (md.pins == 0) {
    end_with_unlink_event(md);
  } else {
    retire(md);
  }
}

void MatchTable::end_with_unlink_event(Descriptor& md) {
  PLNET_CHECK(md.pins == 0, "an UNLINK event follows the last operation");
  EventHandler* handler = md.handler;
  Event event;
  event.unlinked = true;
  event.md = handle_of(md);
  event.user = md.user;
  event.md_options = md.options;
  retire(md);
  if (handler == nullptr) return;
  counters_.add(Id::kEvents);
  handler->on_event(event);
}

// No handle or message finds the MD from now on; it is free if no operation is under way
// (lustre-release lnet/lnet/lib-md.c: lnet_md_unlink()).
void MatchTable::retire(Descriptor& md) {
  PLNET_CHECK(md.state != Descriptor::State::kFree, "a free descriptor has no end");
  if (md.state == Descriptor::State::kLive) {
    md.state = Descriptor::State::kUnlinked;
    stop_waiting(md);
    if (md.attached) leave_entry(md);
  }
  if (md.pins != 0) return;
  md.state = Descriptor::State::kFree;
  if (++md.generation == 0) md.generation = 1;
  mds_.give(&md);
  counters_.subtract(Id::kMdsInUse);
}

void MatchTable::leave_entry(Descriptor& md) {
  PLNET_CHECK(md.entry != MatchEntries::kNone && entries_.at(md.entry).md == mds_.index_of(&md),
              "an attached descriptor and its entry name each other");
  MatchEntry& entry = entries_.at(md.entry);
  entries_.unlink(entry);
  portals_.removed(entry.portal, setup_.shard);
  md.entry = MatchEntries::kNone;
  if (!entry.unlink_with_md) return;
  entries_.give(entry);
  counters_.set(Id::kMesInUse, entries_.capacity() - entries_.free_count());
}

Descriptor* MatchTable::find(const MdHandle& handle) {
  if (handle.shard != setup_.shard || handle.index >= mds_.capacity()) return nullptr;
  Descriptor& md = mds_.at(handle.index);
  const bool same = md.generation == handle.generation && md.state == Descriptor::State::kLive;
  return same ? &md : nullptr;
}

const Descriptor& MatchTable::pinned(const Grant& grant) const {
  const Descriptor& md = mds_.at(grant.md.index);
  PLNET_CHECK(grant.md.shard == setup_.shard, "a grant of another shard");
  PLNET_CHECK(md.generation == grant.md.generation && md.pins != 0, "a grant ended twice");
  return md;
}

Descriptor& MatchTable::pinned(const Grant& grant) {
  return const_cast<Descriptor&>(static_cast<const MatchTable*>(this)->pinned(grant));
}

// --- Messages from peers ---

MatchAnswer MatchTable::match(const MatchRequest& request, Grant& grant) {
  PLNET_CHECK(request.type == MessageType::kPut || request.type == MessageType::kGet,
              "only PUT and GET look for an ME");
  Finding result{{.cause = MatchCause::kNoEntry}, grant};
  if (request.portal < kPortalsMax) {
    search(request, result);
    if (result.cause == MatchCause::kNoEntry) counters_.add(Id::kNoEntry);
  } else {
    refuse(result, MatchVerdict::kDrop, MatchCause::kBadPortal, Id::kDropBadPortal);
  }
  return static_cast<const MatchAnswer&>(result);
}

// lustre-release lnet/lnet/lib-ptl.c: lnet_mt_match_md()
void MatchTable::search(const MatchRequest& request, Finding& result) {
  const std::uint32_t ignoring = entries_.first_with_ignore_bits(request.portal);
  if (ignoring != MatchEntries::kNone) walk(ignoring, request, Naming::kSamePeer, result);
  if (result.cause != MatchCause::kNoEntry) return;
  const std::uint32_t exact = entries_.first_exact(request.portal, request.match_bits);
  if (exact == MatchEntries::kNone) return;
  if (portals_.kind(request.portal) != PortalKind::kUnique) {
    walk(exact, request, Naming::kSamePeer, result);
    return;
  }
  // The kernel searches here, by the sender's primary NID, and hardly ever elsewhere.
  const bool other_nids = walk(exact, request, Naming::kExact, result);
  if (other_nids && result.cause == MatchCause::kNoEntry)
    walk(exact, request, Naming::kSamePeer, result);
}

// lustre-release lnet/lnet/lib-ptl.c: lnet_try_match_md()
bool MatchTable::walk(std::uint32_t first, const MatchRequest& request, Naming naming,
                      Finding& result) {
  const std::uint32_t operation = request.type == MessageType::kPut ? kMdPut : kMdGet;
  bool passed_over = false;
  for (std::uint32_t at = first; at != MatchEntries::kNone;) {
    const MatchEntry& entry = entries_.at(at);
    PLNET_DEBUG_CHECK(entry.linked && entry.md < mds_.capacity(),
                      "an entry that can be matched has a descriptor");
    at = entry.next;
    if (((entry.match_bits ^ request.match_bits) & ~entry.ignore_bits) != 0) continue;
    if (entry.portal != request.portal) continue;
    if (entry.match.pid != kPidAny && entry.match.pid != request.sender.pid) continue;
    Descriptor& md = mds_.at(entry.md);
    PLNET_DEBUG_CHECK(md.state == Descriptor::State::kLive && md.attached,
                      "an entry in a list has a live descriptor");
    if (md.exhausted() || (md.options & operation) == 0) continue;
    const Nid& nid = entry.match.nid;
    if (!nid.is_any() && nid != request.sender.nid) {
      if (naming == Naming::kExact) {
        passed_over = true;
        continue;
      }
      if (nid != request.source && !peers_.same_peer(nid, request.source)) continue;
      counters_.add(Id::kSamePeer);
    }
    commit(md, request, result);
    break;
  }
  return passed_over;
}

void MatchTable::commit(Descriptor& md, const MatchRequest& request, Finding& result) {
  const bool remote = (md.options & kMdManageRemote) != 0;
  const std::uint32_t at = remote ? request.offset : md.offset;
  const std::uint32_t room = md.room(at);
  if (request.requested_length > room && (md.options & kMdTruncate) == 0) {
    refuse(result, MatchVerdict::kDrop, MatchCause::kTooLong, Id::kDropTooLong);
    return;
  }
  const bool put = request.type == MessageType::kPut;
  const std::uint32_t length = std::min(request.requested_length, room);
  PLNET_DEBUG_CHECK(length == 0 || std::uint64_t{at} + length <= md.length,
                    "a grant stays within its descriptor");
  pin(md);
  md.offset = at + length;
  fill(result.grant, md, put ? EventKind::kPut : EventKind::kGet, at, length);
  result.grant.ack_allowed = put && (md.options & kMdAckDisable) == 0;
  result.conclude(MatchVerdict::kMatched, MatchCause::kNone);
  counters_.add(put ? Id::kPuts : Id::kGets);
  if (md.auto_unlink && md.exhausted()) retire(md);
}

MatchAnswer MatchTable::respond(const RespondRequest& request, Grant& grant) {
  const auto handle = decode_handle(request.handle, setup_.interface_cookie);
  if (handle || handle.error() != Errc::kStale) {
    return respond(request.type, handle.value_or(MdHandle{}), request.payload_length, grant);
  }
  Finding result{{}, grant};
  refuse(result, MatchVerdict::kNoMatch, MatchCause::kOtherIncarnation, Id::kDropIncarnation);
  return static_cast<const MatchAnswer&>(result);
}

// lustre-release lnet/lnet/lib-move.c: lnet_parse_ack(), lnet_parse_reply()
MatchAnswer MatchTable::respond(MessageType type, const MdHandle& handle,
                                std::uint32_t payload_length, Grant& grant) {
  const bool reply = type == MessageType::kReply;
  PLNET_CHECK(reply || type == MessageType::kAck, "only ACK and REPLY name an MD");
  Finding result{{}, grant};
  Descriptor* md = find(handle);
  const std::uint32_t payload = reply ? payload_length : 0;
  if (md == nullptr) {
    refuse(result, MatchVerdict::kNoMatch, MatchCause::kGone, Id::kDropGone);
  } else if (md->attached) {
    refuse(result, MatchVerdict::kNoMatch, MatchCause::kAttached, Id::kDropAttached);
  } else if (md->threshold == 0) {
    refuse(result, MatchVerdict::kNoMatch, MatchCause::kExhausted, Id::kDropExhausted);
  } else if (payload > md->length && (md->options & kMdTruncate) == 0) {
    refuse(result, MatchVerdict::kDrop, MatchCause::kTooLong, Id::kDropTooLong);
  } else {
    answer(result, *md, reply ? EventKind::kReply : EventKind::kAck, std::min(payload, md->length));
  }
  return static_cast<const MatchAnswer&>(result);
}

// lustre-release lnet/lnet/lib-move.c: lnet_create_reply_msg(), lnet_set_reply_msg_len()
MatchResult MatchTable::reply_placed(const Grant& get, std::uint32_t length) {
  Descriptor& md = pinned(get);
  PLNET_CHECK(get.kind == EventKind::kSend, "only what we began gets an answer");
  MatchResult placed;
  Finding result{{}, placed.grant};
  if (md.threshold == 0) {
    refuse(result, MatchVerdict::kNoMatch, MatchCause::kExhausted, Id::kDropExhausted);
  } else if (length > md.length) {
    refuse(result, MatchVerdict::kDrop, MatchCause::kTooLong, Id::kDropTooLong);
  } else {
    answer(result, md, EventKind::kReply, length);
  }
  static_cast<MatchAnswer&>(placed) = static_cast<const MatchAnswer&>(result);
  return placed;
}

void MatchTable::answer(Finding& result, Descriptor& md, EventKind kind, std::uint32_t length) {
  pin(md);
  fill(result.grant, md, kind, 0, length);
  result.grant.ack_allowed = false;
  result.conclude(MatchVerdict::kMatched, MatchCause::kNone);
  counters_.add(kind == EventKind::kReply ? Id::kReplies : Id::kAcks);
}

void MatchTable::refuse(Finding& result, MatchVerdict verdict, MatchCause cause, Id counter) {
  result.conclude(verdict, cause);
  counters_.add(counter);
}

// lustre-release lnet/lnet/lib-msg.c: lnet_msg_attach_md()
void MatchTable::pin(Descriptor& md) {
  PLNET_DEBUG_CHECK(md.state != Descriptor::State::kFree,
                    "an operation uses a descriptor that exists");
  ++md.pins;
  if (md.threshold == kThresholdInfinite) return;
  PLNET_CHECK(md.threshold > 0, "used more often than its threshold allows");
  --md.threshold;
}

void MatchTable::fill(Grant& grant, const Descriptor& md, EventKind kind, std::uint32_t at,
                      std::uint32_t length) const {
  PLNET_DEBUG_CHECK(length == 0 || std::uint64_t{at} + length <= md.length,
                    "a window stays within its descriptor");
  grant.window.fragments = md.fragments;
  grant.window.offset = length != 0 ? at : 0;
  grant.window.length = length;
  grant.md.index = mds_.index_of(&md);
  grant.md.generation = md.generation;
  grant.md.shard = setup_.shard;
  grant.offset = at;
  grant.accepted_length = length;
  grant.options = md.options;
  grant.kind = kind;
}

// --- Operations of ours ---

// lustre-release lnet/lnet/lib-move.c: LNetPut(), LNetGet()
Result<void> MatchTable::start(const MdHandle& handle, const StartRequest& request, Grant& grant) {
  const bool get = request.type == MessageType::kGet;
  PLNET_CHECK(get || request.type == MessageType::kPut, "only PUT and GET can be begun");
  Descriptor* md = find(handle);
  if (md == nullptr || md->attached || md->threshold == 0) {
    counters_.add(Id::kStartRefused);
    return std::unexpected(Errc::kNotFound);
  }
  pin(*md);
  counters_.add(Id::kStarted);
  // One timer for the MD, not for each operation: the latest deadline counts.
  if ((get || request.ack) &&
      tracks_response(request.type, md->options, request.tracking, request.internal)) {
    if (!md->response_timer.running()) {
      md->next_hop.peer_ni = kNoPeerNi;
      md->next_hop.beyond.type = Nid::kAnyType;
      counters_.add(Id::kAwaited);
    }
    timers_.start(md->response_timer, request.response_deadline);
  }
  fill(grant, *md, EventKind::kSend, 0, md->length);
  grant.ack_allowed = false;
  return {};
}

// A NextHop made by the caller would be copied before its stores have left the store buffer.
void MatchTable::set_next_hop(const Grant& grant, std::uint32_t peer_ni, const Nid& nid,
                              const Nid& beyond) {
  PLNET_CHECK(grant.kind == EventKind::kSend, "only what we began has a next hop");
  Descriptor& md = pinned(grant);
  if (!md.response_timer.running()) return;
  md.next_hop.peer_ni = peer_ni;
  md.next_hop.nid = nid;
  md.next_hop.beyond = beyond;
}

void Descriptor::on_response_timeout(Timer& /*timer*/, Instant /*now*/) {
  table->expire(*this);
}

// lustre-release lnet/lnet/lib-move.c: lnet_finalize_expired_responses()
void MatchTable::stop_waiting(Descriptor& md) {
  if (timers_.cancel(md.response_timer)) counters_.subtract(Id::kAwaited);
}

void MatchTable::expire(Descriptor& md) {
  PLNET_CHECK(counters_.get(Id::kAwaited) > 0, "a response that is awaited is counted");
  counters_.subtract(Id::kAwaited);
  PLNET_CHECK(md.state == Descriptor::State::kLive, "tracked beyond its end");
  ResponseTimeout timeout{.md = handle_of(md)};
  if (md.next_hop.peer_ni != kNoPeerNi) timeout.next_hop = md.next_hop;
  counters_.add(Id::kResponseTimeouts);
  abort(md);
  hooks_.on_response_timeout(timeout);
}

// --- Ends ---

// lustre-release lnet/lnet/lib-msg.c: lnet_msg_detach_md()
template <class Describe>
Result<void> MatchTable::end(const Grant& grant, Result<void> status, bool unpin,
                             Describe&& describe_message) {
  Descriptor& md = pinned(grant);
  if (unpin) --md.pins;
  const bool unlinked = md.unlinkable();
  if (md.pins == 0 && md.threshold == kThresholdInfinite) stop_waiting(md);
  EventHandler* handler = md.handler;
  if (handler == nullptr) {
    if (unlinked) retire(md);
    return status;
  }
  if (md.aborted.get() && status) {
    status = std::unexpected(Errc::kTimedOut);
    counters_.add(Id::kEndedAborted);
  }
  Event event;
  event.offset = grant.offset;
  event.accepted_length = grant.accepted_length;
  event.md = grant.md;
  event.md_options = grant.options;
  event.user = md.user;
  event.unlinked = unlinked;
  event.status = status;
  describe_message(event);
  if (unlinked) retire(md);
  counters_.add(Id::kEvents);
  // The last statement: the handler may unlink the MD.
  handler->on_event(event);
  return status;
}

Result<void> MatchTable::finish(const Grant& grant, const ReceivedMessage& message,
                                Result<void> status) {
  return end(grant, status, true, [&](Event& event) { describe(message, grant.kind, event); });
}

Result<void> MatchTable::finish(const Grant& grant, const SentMessage& message,
                                Result<void> status) {
  return end(grant, status, true, [&](Event& event) { describe(message, setup_.own_pid, event); });
}

void MatchTable::quarantine(const Grant& grant, const ReceivedMessage& message, Errc cause) {
  counters_.add(Id::kQuarantined);
  (void)end(grant, std::unexpected(cause), false,
            [&](Event& event) { describe(message, grant.kind, event); });
}

void MatchTable::quarantine(const Grant& grant, const SentMessage& message, Errc cause) {
  counters_.add(Id::kQuarantined);
  (void)end(grant, std::unexpected(cause), false,
            [&](Event& event) { describe(message, setup_.own_pid, event); });
}

void MatchTable::end_quarantine(const Grant& grant) {
  Descriptor& md = pinned(grant);
  PLNET_CHECK(counters_.get(Id::kQuarantined) > 0, "a quarantine that ends is counted");
  counters_.subtract(Id::kQuarantined);
  --md.pins;
  if (md.unlinkable()) {
    end_with_unlink_event(md);
  } else if (md.pins == 0 && md.threshold == kThresholdInfinite) {
    stop_waiting(md);
  }
}

}  // namespace plnet::lnet
