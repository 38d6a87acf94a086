// SPDX-License-Identifier: BSD-3-Clause
// Commands of target queues.
#include <algorithm>

#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/layout_event.hpp"
#include "drivers/net/cassini/soft/portals.hpp"

namespace plnet::cassini::soft {
namespace {

using Command = layout::Target;
using Long = layout::TargetLong;

ListKind list_of(const std::byte* command) {
  return static_cast<ListKind>(Command::PtlList::get(command));
}

// True if a waiting header matches the entry that searches for it.
bool header_fits(const Entry& header, const Entry& entry) {
  constexpr unsigned kPidShift = 32 - kPidBits;
  const std::uint32_t pid = entry.match_id >> kPidShift;
  const std::uint32_t nic = entry.match_id & kNicAddressAny;
  return ((header.match_bits ^ entry.match_bits) & ~entry.ignore_bits) == 0 &&
         (pid == kPidAnyValue || pid == header.match_id >> kPidShift) &&
         (nic == kNicAddressAny || nic == (header.match_id & kNicAddressAny));
}

void read_entry(const std::byte* command, unsigned group, unsigned min_free_shift, Entry& entry) {
  entry.match_bits = Command::MatchBits::get(command);
  entry.ignore_bits = Command::IgnoreBits::get(command);
  entry.start = Command::Start::get(command);
  entry.length = Command::Length::get(command);
  entry.min_free = Command::MinFree::get(command) << min_free_shift;
  entry.match_id = static_cast<std::uint32_t>(Command::MatchId::get(command));
  entry.buffer_id = static_cast<std::uint16_t>(Command::BufferId::get(command));
  entry.ct = static_cast<std::uint16_t>(Command::Ct::get(command));
  entry.group = static_cast<std::uint16_t>(group);
  entry.lac = static_cast<std::uint8_t>(Command::Lac::get(command));
  entry.event_ct_bytes = Command::EventCtBytes::get(command) != 0;
  entry.event_ct_overflow = Command::EventCtOverflow::get(command) != 0;
  entry.event_ct_comm = Command::EventCtComm::get(command) != 0;
  entry.unlink_disable = Command::EventUnlinkDisable::get(command) != 0;
  entry.success_disable = Command::EventSuccessDisable::get(command) != 0;
  entry.comm_disable = Command::EventCommDisable::get(command) != 0;
  entry.link_disable = Command::EventLinkDisable::get(command) != 0;
  entry.unexpected_header_disable = Command::UnexpectedHdrDisable::get(command) != 0;
  entry.use_once = Command::UseOnce::get(command) != 0;
  entry.no_truncate = Command::NoTruncate::get(command) != 0;
  entry.manage_local = Command::ManageLocal::get(command) != 0;
  entry.op_get = Command::OpGet::get(command) != 0;
  entry.op_put = Command::OpPut::get(command) != 0;
}

}  // namespace

ReturnCode Portals::command(unsigned opcode, const std::byte* command, unsigned group) {
  const auto number = static_cast<unsigned>(Command::PtlteIndex::get(command));
  if (number >= tables_.portals.size() || !tables_.portals[number].allocated ||
      tables_.portals[number].group != group)
    return ReturnCode::kCmdInvalidArg;
  switch (static_cast<CqOpcode>(opcode)) {
    case CqOpcode::kAppend: return append(command, group);
    case CqOpcode::kSearch: search(command, false); return ReturnCode::kOk;
    case CqOpcode::kSearchAndDelete: search(command, true); return ReturnCode::kOk;
    case CqOpcode::kUnlink: unlink(command); return ReturnCode::kOk;
    case CqOpcode::kSetstate: return set_state(command, group);
    default: return ReturnCode::kIllegalOp;
  }
}

ReturnCode Portals::check_append(const std::byte* command, unsigned group) const {
  const std::uint64_t start = Command::Start::get(command);
  const std::uint64_t length = Command::Length::get(command);
  const std::uint64_t ct = Command::Ct::get(command);
  if (tables_.strict && (length == 0 || Command::BufferId::get(command) == 0))
    return ReturnCode::kCmdInvalidArg;
  if (list_of(command) == ListKind::kUnexpected) return ReturnCode::kCmdInvalidArg;
  if (ct != 0 && (ct >= tables_.counters.size() || !tables_.counters[ct].allocated))
    return ReturnCode::kCmdInvalidArg;
  if (start + length > kIovaLimit) return ReturnCode::kAddrOutOfRange;
  const Group* const owner = tables_.group(group);
  if (owner == nullptr) return ReturnCode::kInvalidAc;
  if (length > 0 && !owner->space.has(static_cast<unsigned>(Command::Lac::get(command))))
    return ReturnCode::kInvalidAc;
  return ReturnCode::kOk;
}

ReturnCode Portals::append(const std::byte* command, unsigned group) {
  if (const ReturnCode code = check_append(command, group); code != ReturnCode::kOk) return code;
  const auto number = static_cast<unsigned>(Command::PtlteIndex::get(command));
  PortalTable& portal = tables_.portals[number];
  const ListKind list = list_of(command);
  if (portal.state == PortalState::kSoftwareManaged && list == ListKind::kPriority) {
    link_event(command, ReturnCode::kPtlteSwManaged);
    return ReturnCode::kOk;
  }
  const bool unlucky =
      tables_.freedom.link_failure > 0 && tables_.random.chance(tables_.freedom.link_failure);
  const std::uint32_t index = unlucky ? kNoEntry : tables_.take_entry(portal);
  if (index == kNoEntry) {
    const bool goes_over =
        portal.hybrid && list == ListKind::kPriority && portal.state == PortalState::kEnabled;
    link_event(command, goes_over ? ReturnCode::kPtlteSwManaged : ReturnCode::kNoSpace);
    if (goes_over) software_managed(number, StateChangeReason::kSmAppendFail, true);
    return ReturnCode::kOk;
  }
  Entry& entry = tables_.pool[index];
  read_entry(command, group, tables_.min_free_shift, entry);
  if (list == ListKind::kPriority &&
      take_headers(portal, number, entry, Taking::kByEntry) == Taken::kEntryUsed) {
    tables_.give_entry(portal, index);  // used before it was ever linked
    return ReturnCode::kOk;
  }
  portal.list(list).append(tables_.pool, index);
  ++portal.entries;
  if (!entry.link_disable) link_event(command, ReturnCode::kOk);
  return ReturnCode::kOk;
}

// Headers that waited for this entry; the first one only, or all that it has room for.
Portals::Taken Portals::take_headers(PortalTable& portal, unsigned number, Entry& entry,
                                     Taking why) {
  const bool all = !entry.use_once;
  Taken taken = Taken::kNothing;
  EntryList& headers = portal.list(ListKind::kUnexpected);
  std::uint32_t next = kNoEntry;
  for (std::uint32_t at = headers.head; at != kNoEntry && (all || taken == Taken::kNothing);
       at = next) {
    const Entry& header = tables_.pool[at];
    next = header.next;
    if (!header_fits(header, entry) || !entry.op_put) continue;
    const std::uint64_t offset = entry.local_offset;
    if (entry.manage_local)
      entry.local_offset += std::min<std::uint64_t>(header.rlength, entry.length - offset);
    const bool used_up = entry.use_once ||
                         (entry.manage_local && entry.length - entry.local_offset < entry.min_free);
    taken = used_up ? Taken::kEntryUsed : Taken::kSome;
    if (entry.event_ct_overflow)
      tables_.count(entry.ct, true, entry.event_ct_bytes ? header.length : 1);
    if (!entry.comm_disable)
      header_event(EventType::kPutOverflow, portal, number, header, entry, used_up);
    if (header.rendezvous && !entry.comm_disable && why == Taking::kByEntry)
      rendezvous_event(portal, number,
                       {.header_data = header.header_data,
                        .match_bits = header.match_bits,
                        .from = header.remote_offset + header.length,
                        .to = entry.start + offset + header.length,
                        .initiator = header.match_id,
                        .source = header.source,
                        .mlength = static_cast<std::uint32_t>(header.length),
                        .rlength = header.rlength,
                        .buffer_id = entry.buffer_id,
                        .vni = header.vni,
                        .id = header.rendezvous_id});
    drop_entry(portal, headers, at);
    if (used_up && !entry.use_once) break;
  }
  return taken;
}

void Portals::header_event(EventType type, const PortalTable& portal, unsigned number,
                           const Entry& header, const Entry& entry, bool consumed) {
  EventQueue* const eq = tables_.eq(portal.eq);
  if (eq == nullptr) return;
  EventBuffer event;
  std::byte* base = event.data();
  Long::HeaderData::set(base, header.header_data);
  Long::Initiator::set(base, header.match_id);
  Long::PtlteIndex::set(base, number);
  Long::EventKind::set(base, static_cast<std::uint64_t>(type));
  Long::AutoUnlinked::set(base, consumed ? 1 : 0);
  Long::MatchBits::set(base, header.match_bits);
  Long::BufferId::set(base, entry.buffer_id);
  Long::Vni::set(base, header.vni);
  Long::MLength::set(base, header.length);
  Long::RLength::set(base, header.rlength);
  Long::RemoteOffset::set(base, header.remote_offset);
  Long::Rendezvous::set(base, header.rendezvous ? 1 : 0);
  Long::RendezvousId::set(base, header.rendezvous_id);
  Long::Start::set(base, header.start);
  Long::Code::set(base, static_cast<std::uint64_t>(ReturnCode::kOk));
  tables_.write(*eq, event, 64);
}

void Portals::link_event(const std::byte* command, ReturnCode code) {
  const auto number = static_cast<unsigned>(Command::PtlteIndex::get(command));
  EventQueue* const eq = tables_.eq(tables_.portals[number].eq);
  if (eq == nullptr) return;
  EventBuffer event;
  std::byte* base = event.data();
  Long::PtlteIndex::set(base, number);
  Long::EventKind::set(base, static_cast<std::uint64_t>(EventType::kLink));
  Long::PtlList::set(base, Command::PtlList::get(command));
  Long::BufferId::set(base, Command::BufferId::get(command));
  Long::Code::set(base, static_cast<std::uint64_t>(code));
  tables_.write(*eq, event, 64);
}

void Portals::search(const std::byte* command, bool remove) {
  const auto number = static_cast<unsigned>(Command::PtlteIndex::get(command));
  PortalTable& portal = tables_.portals[number];
  Entry wanted;
  read_entry(command, portal.group, tables_.min_free_shift, wanted);
  wanted.op_put = true;
  EventQueue* const eq = tables_.eq(portal.eq);
  bool found = false;
  if (remove) {
    found = take_headers(portal, number, wanted, Taking::kBySearch) != Taken::kNothing;
  } else {
    const EntryList& headers = portal.list(ListKind::kUnexpected);
    for (std::uint32_t at = headers.head; at != kNoEntry; at = tables_.pool[at].next) {
      const Entry& header = tables_.pool[at];
      if (!header_fits(header, wanted)) continue;
      found = true;
      header_event(EventType::kSearch, portal, number, header, wanted, false);
      if (wanted.use_once) break;
    }
  }
  if ((found && wanted.use_once) || eq == nullptr) return;
  EventBuffer event;
  Long::PtlteIndex::set(event.data(), number);
  Long::EventKind::set(event.data(), static_cast<std::uint64_t>(EventType::kSearch));
  Long::BufferId::set(event.data(), wanted.buffer_id);
  Long::Code::set(event.data(), static_cast<std::uint64_t>(ReturnCode::kNoMatch));
  tables_.write(*eq, event, 64);
}

void Portals::unlink(const std::byte* command) {
  const auto number = static_cast<unsigned>(Command::PtlteIndex::get(command));
  const auto id = static_cast<unsigned>(Command::BufferId::get(command));
  PortalTable& portal = tables_.portals[number];
  const ListKind kind = list_of(command);
  EntryList& list = portal.list(kind);
  std::uint32_t at = list.head;
  while (at != kNoEntry && tables_.pool[at].buffer_id != id)
    at = tables_.pool[at].next;
  if (at != kNoEntry) drop_entry(portal, list, at);
  unlink_event(number, kind, id, at != kNoEntry ? ReturnCode::kOk : ReturnCode::kEntryNotFound,
               false);
}

void Portals::unlink_event(unsigned number, ListKind list, unsigned buffer_id, ReturnCode code,
                           bool automatic) {
  EventQueue* const eq = tables_.eq(tables_.portals[number].eq);
  if (eq == nullptr) return;
  EventBuffer event;
  std::byte* base = event.data();
  Long::PtlteIndex::set(base, number);
  Long::EventKind::set(base, static_cast<std::uint64_t>(EventType::kUnlink));
  Long::PtlList::set(base, static_cast<std::uint64_t>(list));
  Long::AutoUnlinked::set(base, automatic ? 1 : 0);
  Long::BufferId::set(base, buffer_id);
  Long::Code::set(base, static_cast<std::uint64_t>(code));
  tables_.write(*eq, event, 64);
}

ReturnCode Portals::set_state(const std::byte* command, unsigned /*group*/) {
  using State = layout::SetState;
  const auto number = static_cast<unsigned>(State::PtlteIndex::get(command));
  const auto wanted = static_cast<PortalState>(State::PtlteState::get(command));
  const auto drops = static_cast<std::uint32_t>(State::DropCount::get(command));
  PortalTable& portal = tables_.portals[number];
  if (wanted > PortalState::kSoftwareManaged) return ReturnCode::kCmdInvalidArg;
  // The process names the number of drops when it enables; after one more drop it must ask
  // again.
  const bool enables = wanted == PortalState::kEnabled || wanted == PortalState::kSoftwareManaged;
  const bool agrees = !enables || drops == kDropCountIgnored || drops == portal.dropped;
  if (agrees) {
    portal.state = wanted;
    if (enables) portal.dropped = 0;
  }
  state_change(number, StateChangeReason::kEqFull, false,
               agrees ? ReturnCode::kOk : ReturnCode::kNoMatch);
  return ReturnCode::kOk;
}

void Portals::state_change(unsigned number, StateChangeReason reason, bool nic_auto,
                           ReturnCode code) {
  using State = layout::StateChange;
  const PortalTable& portal = tables_.portals[number];
  EventQueue* const eq = tables_.eq(portal.eq);
  if (eq == nullptr) return;
  EventBuffer event;
  std::byte* base = event.data();
  State::PtlteState::set(base, static_cast<std::uint64_t>(portal.state));
  State::Reason::set(base, nic_auto ? static_cast<std::uint64_t>(reason) : 0);
  State::NicAuto::set(base, nic_auto ? 1 : 0);
  State::PtlteIndex::set(base, number);
  State::EventKind::set(base, static_cast<std::uint64_t>(EventType::kStateChange));
  State::Code::set(base, static_cast<std::uint64_t>(code));
  tables_.write(*eq, event, 64);
}

void Portals::software_managed(unsigned portal, StateChangeReason reason, bool nic_auto) {
  tables_.portals[portal].state = PortalState::kSoftwareManaged;
  tables_.stats.add(NicStats::Id::kStateChanges);
  state_change(portal, reason, nic_auto);
}

void Portals::drop_entry(PortalTable& portal, EntryList& list, std::uint32_t index) {
  list.remove(tables_.pool, index);
  tables_.give_entry(portal, index);
  --portal.entries;
}

void Portals::reset(unsigned number) {
  PortalTable& portal = tables_.portals[number];
  for (EntryList& list : portal.lists) {
    while (list.head != kNoEntry)
      drop_entry(portal, list, list.head);
  }
  portal.state = PortalState::kReset;
}

}  // namespace plnet::cassini::soft
