// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/initiator.hpp"

#include <cstring>

#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/layout_event.hpp"

namespace plnet::cassini::soft {
namespace {

using Full = layout::FullDma;

NicStats::Id sent_as(Operation operation) {
  if (is_atomic(operation)) return NicStats::Id::kAtomicsSent;
  return operation == Operation::kPut ? NicStats::Id::kPutsSent : NicStats::Id::kGetsSent;
}

}  // namespace

Initiator::Result Initiator::execute(CommandQueue& queue, const CommandView& command) {
  switch (command.type) {
    case CommandType::kDma: return dma(queue, command);
    case CommandType::kIdc: return immediate(queue, command);
    case CommandType::kCt: return counting(queue, command);
    case CommandType::kCq: return control(queue, command);
  }
  return {Done::kBad, ReturnCode::kIllegalOp};
}

bool Initiator::known(const Completion& completion, unsigned group) const {
  if (completion.eq != 0 &&
      (tables_.eq(completion.eq) == nullptr || tables_.eq_group[completion.eq] != group))
    return false;
  if (completion.ct == 0) return true;
  return completion.ct < tables_.counters.size() && tables_.counters[completion.ct].allocated &&
         tables_.counters[completion.ct].group == group;
}

Initiator::Result Initiator::dma(CommandQueue& queue, const CommandView& command) {
  const std::byte* at = command.at;
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic)
    return atomic_dma(queue, command);
  const bool whole = command.bytes == Full::kBytes;
  Message message;
  message.operation = opcode == DmaOpcode::kGet || opcode == DmaOpcode::kNomatchGet
                          ? Operation::kGet
                          : Operation::kPut;
  message.restricted = Full::Restricted::get(at) != 0;
  message.flush = Full::Flush::get(at) != 0;
  if (!whole && !message.restricted) return {Done::kBad, ReturnCode::kCmdInvalidArg};
  if (Full::Reduction::get(at) != 0) return {Done::kBad, ReturnCode::kIllegalOp};
  message.rendezvous = opcode == DmaOpcode::kRendezvousPut;
  if (message.rendezvous) {
    if (!knows_all()) return {Done::kBad, ReturnCode::kIllegalOp};
    // The other way to find the rest of the bytes, by the offset in a list entry, is not there.
    if (message.restricted || Full::UseOffsetForGet::get(at) == 0)
      return {Done::kBad, ReturnCode::kCmdInvalidArg};
    message.eager_length = static_cast<std::uint32_t>(Full::EagerLength::get(at));
    message.rendezvous_id = static_cast<std::uint8_t>(Full::RendezvousId::get(at));
  } else if (whole && (Full::UseOffsetForGet::get(at) != 0 || Full::EagerLength::get(at) != 0)) {
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  }
  read_destination<Full>(at, Full::IndexExt::get(at), message);
  message.length = static_cast<std::uint32_t>(Full::RequestLen::get(at));
  message.remote_offset = Full::RemoteOffset::get(at);
  Completion completion;
  read_flags<Full>(at, completion);
  if (whole) {
    message.initiator = static_cast<std::uint32_t>(Full::Initiator::get(at));
    message.match_bits = Full::MatchBits::get(at);
    message.header_data = Full::HeaderData::get(at);
    completion.user_ptr = Full::UserPtr::get(at);
  } else if (queue.sticky.set) {
    message.initiator =
        static_cast<std::uint32_t>(layout::Cstate::Initiator::get(queue.sticky.command));
    completion.user_ptr = layout::Cstate::UserPtr::get(queue.sticky.command);
  }
  const LocalBuffer local{.group = static_cast<std::uint16_t>(queue.setup.group),
                          .lac = static_cast<std::uint8_t>(Full::Lac::get(at)),
                          .iova = Full::LocalAddr::get(at),
                          .immediate = {}};
  return start(queue, message, local, completion);
}

Initiator::Result Initiator::immediate(CommandQueue& queue, const CommandView& command) {
  const std::byte* at = command.at;
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  if (opcode == DmaOpcode::kCstate) {
    Completion named;
    read_flags<layout::Cstate>(at, named);
    if (!known(named, queue.setup.group)) return {Done::kBad, ReturnCode::kCmdInvalidArg};
    std::memcpy(queue.sticky.command, at, sizeof queue.sticky.command);
    queue.sticky.set = true;
    return {};
  }
  if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic)
    return atomic_immediate(queue, command);
  using State = layout::Cstate;
  const std::byte* state = queue.sticky.command;
  const bool put = opcode == DmaOpcode::kPut;
  const bool restricted = State::Restricted::get(state) != 0;
  // A message needs a state that says unrestricted. A PUT without match bits goes with either
  // state, but only restricted ones are what our driver means.
  if (!queue.sticky.set || (restricted && !put) || (tables_.strict && put != restricted))
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  const unsigned header = put ? 16 : 32;
  Message message;
  message.restricted = restricted;
  message.flush = State::Flush::get(state) != 0;
  message.initiator = static_cast<std::uint32_t>(State::Initiator::get(state));
  read_destination<layout::IdcPut>(at, State::IndexExt::get(state), message);
  message.length = static_cast<std::uint32_t>(layout::IdcPut::Length::get(at)) - header;
  Completion completion;
  read_flags<State>(state, completion);
  completion.user_ptr = State::UserPtr::get(state);
  if (put) {
    message.remote_offset = layout::IdcPut::RemoteOffset::get(at);
  } else {
    message.match_bits = layout::IdcMessage::MatchBits::get(at);
    message.header_data = layout::IdcMessage::HeaderData::get(at);
    completion.user_ptr = layout::IdcMessage::UserPtr::get(at);
  }
  const LocalBuffer local{.immediate = {at + header, message.length}};
  return start(queue, message, local, completion);
}

Initiator::Result Initiator::start(CommandQueue& queue, const Message& prepared,
                                   const LocalBuffer& local, const Completion& named) {
  if (!queue.profile_known || !known(named, queue.setup.group))
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  if (prepared.destination == kNicAddressAny) return {Done::kBad, ReturnCode::kInvalidDfaFormat};
  if (!transport_->ready(tables_.address)) return {Done::kWait, ReturnCode::kOk};
  Message message = prepared;
  message.source = tables_.address;
  message.vni = queue.vni;
  message.traffic_class = queue.traffic_class;
  Completion completion = named;
  completion.queue = static_cast<std::uint16_t>(queue.setup.index);
  completion.queue_generation = queue.setup.generation;
  tables_.stats.add(sent_as(message.operation));
  if (queue.is_hrp) tables_.stats.add(NicStats::Id::kHrpSent);
  tables_.stats.add(NicStats::Id::kBytesSent, message.length);
  ++queue.outstanding;
  transport_->start(tables_.address, message, local, completion);
  return {};
}

Initiator::Result Initiator::control(CommandQueue& queue, const CommandView& command) {
  if (static_cast<CqOpcode>(command.opcode) == CqOpcode::kFence) {
    if (queue.outstanding == 0) return {};
    return {Done::kWait, ReturnCode::kOk};
  }
  const auto lcid = static_cast<unsigned>(layout::Cq::Lcid::get(command.at));
  const Group* const group = tables_.group(queue.setup.group);
  if (!queue.pair_complete(command) || group == nullptr || !group->profiles[lcid].allocated)
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  queue.vni = group->profiles[lcid].vni;
  queue.traffic_class = group->profiles[lcid].traffic_class;
  queue.is_hrp = group->profiles[lcid].type == kTrafficTypeHrp;
  return {};
}

void Initiator::completed(const Message& message, const Completion& completion,
                          const Outcome& outcome) {
  const bool ok = outcome.code == ReturnCode::kOk;
  const bool put = !fetches(message.operation);
  tables_.stats.add(ok ? NicStats::Id::kCompleted : NicStats::Id::kFailed);
  const std::uint64_t amount = completion.ct_bytes ? outcome.mlength : 1;
  if (put && completion.ct_send) tables_.count(completion.ct, ok, amount);
  if (put ? completion.ct_ack : completion.ct_reply) tables_.count(completion.ct, ok, amount);
  if (completion.eq == 0) return;
  if (put && !completion.send_disable) event(completion, EventType::kSend, outcome);
  if (ok && completion.success_disable) return;
  event(completion, put ? EventType::kAck : EventType::kReply, outcome);
}

void Initiator::event(const Completion& completion, EventType type, const Outcome& outcome) {
  EventQueue* const eq = tables_.eq(completion.eq);
  if (eq == nullptr) return;  // destroyed while the operation was under way
  using Short = layout::InitiatorShort;
  using Long = layout::InitiatorLong;
  EventBuffer event;
  std::byte* base = event.data();
  const ReturnCode code =
      type == EventType::kSend && outcome.target_error ? ReturnCode::kOk : outcome.code;
  Short::UserPtr::set(base, completion.user_ptr);
  Short::MLength::set(base, outcome.mlength);
  Short::PtlList::set(base, static_cast<std::uint64_t>(outcome.list));
  Short::Retry::set(base, outcome.retried ? 1 : 0);
  Short::TgtError::set(base, outcome.target_error && type != EventType::kSend ? 1 : 0);
  Short::EventKind::set(base, static_cast<std::uint64_t>(type));
  if ((eq->flags() & kEqInitLong) == 0) {
    Short::Code::set(base, static_cast<std::uint64_t>(code));
    tables_.write(*eq, event, 16);
    return;
  }
  Long::TimestampNs::set(base, tables_.now_ns % 1000000000);
  Long::TimestampSec::set(base, tables_.now_ns / 1000000000);
  Long::Code::set(base, static_cast<std::uint64_t>(code));
  tables_.write(*eq, event, 32);
}

}  // namespace plnet::cassini::soft
