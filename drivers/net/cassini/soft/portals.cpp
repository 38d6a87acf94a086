// SPDX-License-Identifier: BSD-3-Clause
// Matching and delivery.
#include "drivers/net/cassini/soft/portals.hpp"

#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/layout_event.hpp"
#include "drivers/net/cassini/soft/request_header.hpp"

namespace plnet::cassini::soft {
namespace {

bool wants(const Entry& entry, std::uint32_t initiator) {
  const std::uint32_t pid = entry.match_id >> (32 - kPidBits);
  const std::uint32_t nic = entry.match_id & kNicAddressAny;
  return (pid == kPidAnyValue || pid == initiator >> (32 - kPidBits)) &&
         (nic == kNicAddressAny || nic == (initiator & kNicAddressAny));
}

EventType event_of(Operation operation) {
  switch (operation) {
    case Operation::kPut: return EventType::kPut;
    case Operation::kAtomic: return EventType::kAtomic;
    case Operation::kFetchingAtomic: return EventType::kFetchAtomic;
    case Operation::kGet: break;
  }
  return EventType::kGet;
}

// The offset in the entry at which a message begins, and the room from there on.
struct Room {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
Room room(const Entry& entry, const Message& message, bool clear_remote_offset) {
  std::uint64_t offset = entry.local_offset;
  if (!entry.manage_local)
    offset = clear_remote_offset || message.rendezvous ? 0 : message.remote_offset;
  return {offset, offset < entry.length ? entry.length - offset : 0};
}

void through(const Entry& entry, Delivery& delivery) {
  delivery.group = entry.group;
  delivery.lac = entry.lac;
  delivery.buffer_id = entry.buffer_id;
  delivery.ct = entry.ct;
  delivery.success_disable = entry.success_disable;
  delivery.comm_disable = entry.comm_disable;
  delivery.ct_bytes = entry.event_ct_bytes;
  delivery.ct_comm = entry.event_ct_comm;
}

// Bytes that a message takes in an entry of that list.
std::uint64_t bytes_in(ListKind list, const Message& message) {
  switch (list) {
    case ListKind::kPriority: return message.length;
    case ListKind::kRequest: return kRequestHeaderBytes + eager_bytes(message);
    default: return eager_bytes(message);
  }
}

}  // namespace

ReturnCode Portals::find_portal(const Message& message, unsigned& number) {
  const std::uint32_t key = Tables::domain_key(message.vni, message.pid);
  if (last_domain_ == nullptr || key != last_key_) {
    DomainEntry* const found = tables_.domain(message.vni, message.pid);
    if (found == nullptr) {
      const bool vni_known = std::ranges::any_of(
          tables_.domains, [&](const auto& one) { return one.second->vnis.has(message.vni); });
      return vni_known ? ReturnCode::kPtlteNotFound : ReturnCode::kVniNotFound;
    }
    last_key_ = key;
    last_domain_ = found;
  }
  number = last_domain_->portals[message.index];
  return number != 0 ? ReturnCode::kOk : ReturnCode::kPtlteNotFound;
}

Portals::Found Portals::walk(PortalTable& portal, ListKind list, const Message& message) {
  std::uint32_t next = kNoEntry;
  const std::uint64_t bytes = bytes_in(list, message);
  for (std::uint32_t at = portal.list(list).head; at != kNoEntry; at = next) {
    const Entry& entry = tables_.pool[at];
    next = entry.next;
    if (portal.matching) {
      if (((message.match_bits ^ entry.match_bits) & ~entry.ignore_bits) != 0) continue;
      if (!wants(entry, message.initiator)) continue;
    }
    const bool allowed = (entry.op_put || !stores(message.operation)) &&
                         (entry.op_get || !fetches(message.operation));
    if (!allowed) return {at, list, ReturnCode::kOpViolation};
    if ((entry.no_truncate || portal.space_check) &&
        bytes > room(entry, message, portal.clear_remote_offset).bytes) {
      if (portal.space_check) return {at, list, ReturnCode::kNoSpace};
      continue;
    }
    return {at, list, ReturnCode::kOk};
  }
  return {};
}

Portals::Found Portals::find_entry(PortalTable& portal, const Message& message) {
  if (portal.state == PortalState::kSoftwareManaged)
    return message.operation == Operation::kPut ? walk(portal, ListKind::kRequest, message)
                                                : Found{};
  Found found = walk(portal, ListKind::kPriority, message);
  if (found.entry != kNoEntry || message.operation != Operation::kPut) return found;
  found = walk(portal, ListKind::kOverflow, message);
  if (found.entry != kNoEntry) return found;
  return walk(portal, ListKind::kRequest, message);
}

ReturnCode Portals::refuse(unsigned number, StateChangeReason reason) {
  PortalTable& portal = tables_.portals[number];
  portal.state = PortalState::kDisabled;
  tables_.stats.add(NicStats::Id::kStateChanges);
  ++portal.dropped;
  state_change(number, reason, true);
  return ReturnCode::kPtDisabled;
}

ReturnCode Portals::nothing_matched(unsigned number) {
  const PortalTable& portal = tables_.portals[number];
  tables_.stats.add(NicStats::Id::kNoMatch);
  if (portal.state == PortalState::kSoftwareManaged)
    return refuse(number, StateChangeReason::kRequestFull);
  if (portal.flow_control) return refuse(number, StateChangeReason::kNoMatch);
  return ReturnCode::kEntryNotFound;
}

Delivery Portals::begin(const Message& message) {
  Delivery delivery;
  unsigned number = 0;
  ReturnCode code = find_portal(message, number);
  if (code == ReturnCode::kOk && !message.restricted && tables_.strict &&
      !is_atomic(message.operation) &&
      (message.operation == Operation::kGet) != (message.index >= kPidGranule / 2))
    code = ReturnCode::kInvalidEndpoint;
  if (code == ReturnCode::kOk) {
    PortalTable& portal = tables_.portals[number];
    EventQueue* const eq = tables_.eq(portal.eq);
    if (portal.state != PortalState::kEnabled && portal.state != PortalState::kSoftwareManaged) {
      code = ReturnCode::kPtDisabled;
      portal.dropped = std::min(portal.dropped + 1, kDropCountIgnored - 1);
    } else if (message.restricted && portal.matching) {
      code = ReturnCode::kOpViolation;
    } else if (portal.flow_control && eq != nullptr && eq->slots_free() <= eq->slots_reserved()) {
      code = refuse(number, StateChangeReason::kEqFull);
    } else {
      const Found found = find_entry(portal, message);
      if (found.entry == kNoEntry) {
        code = nothing_matched(number);
      } else if (found.code != ReturnCode::kOk) {
        code = found.code;
      } else {
        if (message.restricted) tables_.stats.add(NicStats::Id::kRestricted);
        if (message.flush) tables_.stats.add(NicStats::Id::kFlushes);
        place(portal, number, found, message, delivery);
        code = delivery.outcome.code;
      }
    }
  }
  if (code != ReturnCode::kOk) {
    tables_.stats.add(NicStats::Id::kRefused);
    delivery.outcome = {.code = code, .target_error = true};
    delivery.portal = 0;
  }
  return delivery;
}

void Portals::place(PortalTable& portal, unsigned number, const Found& found,
                    const Message& message, Delivery& delivery) {
  Entry& entry = tables_.pool[found.entry];
  Room space = room(entry, message, portal.clear_remote_offset);
  const bool is_request = found.list == ListKind::kRequest && message.operation == Operation::kPut;
  if (is_request) {
    if (space.bytes < kRequestHeaderBytes) {
      delivery.outcome.code = refuse(number, StateChangeReason::kRequestFull);
      return;
    }
    delivery.header_bytes = kRequestHeaderBytes;
    space.bytes -= kRequestHeaderBytes;
  }
  delivery.outcome.list = found.list;
  const auto fitting = [&space](std::uint32_t bytes) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, space.bytes));
  };
  delivery.outcome.mlength = fitting(eager_bytes(message));
  delivery.portal = static_cast<std::uint16_t>(number);
  delivery.portal_generation = portal.generation;
  through(entry, delivery);
  delivery.start = entry.start + space.offset;
  delivery.long_event = found.list != ListKind::kPriority || entry.manage_local;

  const bool is_short = delivery.outcome.mlength < eager_bytes(message);
  if (is_atomic(message.operation) && is_short)
    return fail(portal, message, ReturnCode::kAtomicLength, delivery);
  // The initiator gave the offset into an entry that stays: an access beyond its end is an error.
  if (!tables_.strict && is_short && !entry.manage_local && !entry.use_once)
    return fail(portal, message, ReturnCode::kNoSpace, delivery);
  const Translated there = memory(delivery, message.operation, 0, delivery.outcome.mlength);
  if (there.code != ReturnCode::kOk) {
    tables_.stats.add(NicStats::Id::kTranslationFaults);
    delivery.outcome.code = there.code;
    return;
  }
  if (found.list != ListKind::kPriority && portal.state != PortalState::kSoftwareManaged &&
      !entry.unexpected_header_disable && !add_header(portal, message, delivery)) {
    without_header(portal, number, message, delivery);
    return;
  }
  if (is_request) {
    const Translated header =
        tables_.group(entry.group)
            ->space.translate(entry.lac, delivery.start, kRequestHeaderBytes, Access::kWrite);
    if (header.code != ReturnCode::kOk) {
      tables_.stats.add(NicStats::Id::kTranslationFaults);
      delivery.outcome.code = header.code;
      return;
    }
    std::memcpy(header.memory, request_header(message).data(), kRequestHeaderBytes);
  }
  // The rest of a rendezvous follows in the same entry, unless it is an overflow entry.
  if (entry.manage_local)
    entry.local_offset += found.list == ListKind::kPriority
                              ? fitting(message.length)
                              : delivery.header_bytes + delivery.outcome.mlength;
  const bool used_up = entry.manage_local && entry.length - entry.local_offset < entry.min_free;
  if (entry.use_once || used_up) {
    delivery.auto_unlinked = true;
    delivery.unlink_event = !entry.unlink_disable;
    drop_entry(portal, portal.list(found.list), found.entry);
  }
  tables_.stats.add(NicStats::Id::kDelivered);
  tables_.stats.add(NicStats::Id::kBytesDelivered, delivery.outcome.mlength);
  if (delivery.outcome.mlength < eager_bytes(message)) tables_.stats.add(NicStats::Id::kTruncated);
  if (portal.event_match) target_event(message, delivery, EventType::kMatch);
}

// The message has matched, and both ends hear that it was not executed. A strict NIC tells the
// initiator alone.
void Portals::fail(const PortalTable& portal, const Message& message, ReturnCode code,
                   Delivery& delivery) {
  delivery.outcome.mlength = 0;
  if (!tables_.strict) {
    if (portal.event_match) target_event(message, delivery, EventType::kMatch);
    if (delivery.ct_comm) tables_.count(delivery.ct, false, 1);
  }
  delivery.outcome.code = code;
  if (!tables_.strict && !delivery.comm_disable)
    target_event(message, delivery, event_of(message.operation));
}

// There is no entry for the header of an unexpected message. A portal that may go over to software
// does so, and its request list takes the message.
void Portals::without_header(PortalTable& portal, unsigned number, const Message& message,
                             Delivery& delivery) {
  delivery = {};
  if (!portal.hybrid) {
    delivery.outcome.code = portal.flow_control ? refuse(number, StateChangeReason::kUnexpectedFail)
                                                : ReturnCode::kNoSpace;
    return;
  }
  software_managed(number, StateChangeReason::kSmUnexpectedFail, true);
  const Found found = walk(portal, ListKind::kRequest, message);
  if (found.entry == kNoEntry || found.code != ReturnCode::kOk) {
    delivery.outcome.code = refuse(number, StateChangeReason::kRequestFull);
    return;
  }
  place(portal, number, found, message, delivery);
}

bool Portals::add_header(PortalTable& portal, const Message& message, const Delivery& delivery) {
  const std::uint32_t index = tables_.take_entry(portal);
  if (index == kNoEntry) return false;
  Entry& header = tables_.pool[index];
  header.match_bits = message.match_bits;
  header.match_id = message.initiator;
  header.start = delivery.start;
  header.length = delivery.outcome.mlength;
  header.rlength = message.length;
  header.remote_offset = message.remote_offset;
  header.header_data = message.header_data;
  header.vni = message.vni;
  header.source = message.source;
  header.buffer_id = delivery.buffer_id;
  header.rendezvous = message.rendezvous;
  header.rendezvous_id = message.rendezvous_id;
  portal.list(ListKind::kUnexpected).append(tables_.pool, index);
  ++portal.entries;
  return true;
}

Translated Portals::memory(const Delivery& delivery, Operation operation, std::uint64_t offset,
                           std::uint64_t length) const {
  if (delivery.cut || length == 0) return {};
  offset += delivery.header_bytes;
  const Group* const group = tables_.group(delivery.group);
  if (group == nullptr) return {nullptr, ReturnCode::kInvalidAc};
  const Access access = stores(operation) ? Access::kWrite : Access::kRead;
  const Translated found =
      group->space.translate(delivery.lac, delivery.start + offset, length, access);
  if (found.requests > 0) tables_.stats.add(NicStats::Id::kPageRequests, found.requests);
  return found;
}

void Portals::finish(const Message& message, Delivery& delivery) {
  if (delivery.portal == 0) return;
  const PortalTable& portal = tables_.portals[delivery.portal];
  if (!portal.allocated || portal.generation != delivery.portal_generation) return;
  if (delivery.cut) {
    tables_.stats.add(NicStats::Id::kCut);
    delivery.outcome.code = ReturnCode::kMstCancelled;
    delivery.outcome.target_error = true;
  }
  const bool ok = delivery.outcome.code == ReturnCode::kOk;
  if (delivery.ct_comm)
    tables_.count(delivery.ct, ok, delivery.ct_bytes ? delivery.outcome.mlength : 1);
  if (delivery.unlink_event)
    unlink_event(delivery.portal, delivery.outcome.list, delivery.buffer_id, ReturnCode::kOk, true);
  if (delivery.comm_disable || (delivery.success_disable && ok)) return;
  target_event(message, delivery, event_of(message.operation));
  if (message.rendezvous && ok && delivery.outcome.list == ListKind::kPriority)
    rendezvous_event(portal, delivery.portal,
                     {.header_data = message.header_data,
                      .match_bits = message.match_bits,
                      .from = message.remote_offset + delivery.outcome.mlength,
                      .to = delivery.start + delivery.outcome.mlength,
                      .initiator = message.initiator,
                      .source = message.source,
                      .mlength = delivery.outcome.mlength,
                      .rlength = message.length,
                      .buffer_id = delivery.buffer_id,
                      .vni = message.vni,
                      .id = message.rendezvous_id});
}

void Portals::target_event(const Message& message, const Delivery& delivery, EventType type) {
  const PortalTable& portal = tables_.portals[delivery.portal];
  EventQueue* const eq = tables_.eq(portal.eq);
  if (eq == nullptr) return;
  const Outcome& outcome = delivery.outcome;
  EventBuffer event;
  std::byte* base = event.data();
  using Long = layout::TargetLong;
  using Short = layout::TargetShort;
  Long::HeaderData::set(base, message.header_data);
  Long::Initiator::set(base, message.initiator);
  Long::PtlteIndex::set(base, delivery.portal);
  Long::EventKind::set(base, static_cast<std::uint64_t>(type));
  Long::PtlList::set(base, static_cast<std::uint64_t>(outcome.list));
  Long::AutoUnlinked::set(base, delivery.auto_unlinked ? 1 : 0);
  Long::MatchBits::set(base, message.match_bits);
  Long::BufferId::set(base, delivery.buffer_id);
  Long::Vni::set(base, message.vni);
  const bool is_long = delivery.long_event || portal.use_long_event ||
                       (eq->flags() & kEqTargetLong) != 0 || type == EventType::kMatch ||
                       outcome.mlength != message.length || outcome.code != ReturnCode::kOk ||
                       outcome.mlength >= kShortLengthLimit || message.rendezvous;
  if (!is_long) {
    Short::Length::set(base, outcome.mlength);
    Short::Code::set(base, static_cast<std::uint64_t>(outcome.code));
    tables_.write(*eq, event, 32);
    return;
  }
  Long::TimestampNs::set(base, tables_.now_ns % 1000000000);
  Long::TimestampSecLow::set(base, tables_.now_ns / 1000000000);
  Long::MLength::set(base, delivery.header_bytes + outcome.mlength);
  Long::RLength::set(base, message.length);
  Long::RemoteOffset::set(base, message.remote_offset);
  Long::Rendezvous::set(base, message.rendezvous ? 1 : 0);
  Long::RendezvousId::set(base, message.rendezvous_id);
  Long::Start::set(base, delivery.start);
  Long::Code::set(base, static_cast<std::uint64_t>(outcome.code));
  tables_.write(*eq, event, 64);
}

// Hardware names itself as the reader (get_issued); this NIC leaves the GET to the process:
// the driver can switch the engine off on hardware, too. The initiator is an address here: its NIC
// is that of the message, since an initiator may name a rank.
void Portals::rendezvous_event(const PortalTable& portal, unsigned number,
                               const Rendezvous& rendezvous) {
  EventQueue* const eq = tables_.eq(portal.eq);
  if (eq == nullptr) return;
  constexpr unsigned kNidShift = 12;
  const unsigned pid = rendezvous.initiator >> (32 - kPidBits);
  EventBuffer event;
  std::byte* base = event.data();
  using Long = layout::TargetLong;
  Long::HeaderData::set(base, rendezvous.header_data);
  Long::Initiator::set(base,
                       endpoint_defined(pid, kPidGranule - 1) | rendezvous.source << kNidShift);
  Long::PtlteIndex::set(base, number);
  Long::EventKind::set(base, static_cast<std::uint64_t>(EventType::kRendezvous));
  Long::Rendezvous::set(base, 1);
  Long::MatchBits::set(base, rendezvous.match_bits);
  Long::BufferId::set(base, rendezvous.buffer_id);
  Long::Vni::set(base, rendezvous.vni);
  Long::TimestampNs::set(base, tables_.now_ns % 1000000000);
  Long::TimestampSecLow::set(base, tables_.now_ns / 1000000000);
  Long::MLength::set(base, rendezvous.mlength);
  Long::RLength::set(base, rendezvous.rlength);
  Long::RemoteOffset::set(base, rendezvous.from);
  Long::Start::set(base, rendezvous.to);
  Long::RendezvousId::set(base, rendezvous.id);
  Long::Code::set(base, static_cast<std::uint64_t>(ReturnCode::kOk));
  tables_.write(*eq, event, 64);
}

}  // namespace plnet::cassini::soft
