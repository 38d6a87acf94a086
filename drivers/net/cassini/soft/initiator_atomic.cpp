// SPDX-License-Identifier: BSD-3-Clause
// Commands of atomic operations: operands in memory or in the command, a result in memory.
#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/initiator.hpp"
#include "drivers/net/cassini/soft/layout_command.hpp"

namespace plnet::cassini::soft {
namespace {

static_assert(sizeof(AtomicRequest) <= 224, "a request is carried as the bytes of a command");

void put_words(std::uint64_t low, std::uint64_t high, AtomicValue& value) {
  std::memcpy(value.data(), &low, sizeof low);
  std::memcpy(value.data() + sizeof low, &high, sizeof high);
}

template <class Layout>
AtomicRequest request_of(const std::byte* at) {
  return {.operation = static_cast<AtomicOperation>(Layout::AtomicOp::get(at)),
          .type = static_cast<AtomicType>(Layout::AtomicKind::get(at))};
}

Operation operation_of(const CommandView& command) {
  return static_cast<DmaOpcode>(command.opcode) == DmaOpcode::kAtomic ? Operation::kAtomic
                                                                      : Operation::kFetchingAtomic;
}

}  // namespace

Initiator::Result Initiator::start_atomic(CommandQueue& queue, const Message& prepared,
                                          const LocalBuffer& result, const AtomicRequest& request,
                                          const Completion& completion) {
  Message message = prepared;
  message.length = atomic_bytes(request.type);
  if (message.length == 0) return {Done::kBad, ReturnCode::kCmdInvalidArg};
  LocalBuffer local = result;
  local.immediate = std::as_bytes(std::span(&request, 1));
  return start(queue, message, local, completion);
}

Initiator::Result Initiator::atomic_dma(CommandQueue& queue, const CommandView& command) {
  using Dma = layout::DmaAtomic;
  if (!knows_all()) return {Done::kBad, ReturnCode::kIllegalOp};
  const std::byte* const at = command.at;
  AtomicRequest request = request_of<Dma>(at);
  request.compare = static_cast<AtomicCompare>(Dma::CompareOp::get(at));
  put_words(Dma::SecondLow::get(at), Dma::SecondHigh::get(at), request.second);
  const unsigned bytes = atomic_bytes(request.type);
  if (Dma::RequestLen::get(at) != bytes || Dma::Reduction::get(at) != 0)
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  Message message;
  message.operation = operation_of(command);
  message.restricted = Dma::Restricted::get(at) != 0;
  message.flush = Dma::Flush::get(at) != 0;
  read_destination<Dma>(at, Dma::IndexExt::get(at), message);
  message.remote_offset = Dma::RemoteOffset::get(at);
  message.initiator = static_cast<std::uint32_t>(Dma::Initiator::get(at));
  message.match_bits = Dma::MatchBits::get(at);
  message.header_data = Dma::HeaderData::get(at);
  Completion completion;
  read_flags<Dma>(at, completion);
  completion.user_ptr = Dma::UserPtr::get(at);
  if (!known(completion, queue.setup.group)) return {Done::kBad, ReturnCode::kCmdInvalidArg};
  const Group* const group = tables_.group(queue.setup.group);
  const auto lac = static_cast<unsigned>(Dma::Lac::get(at));
  const Translated operand =
      group->space.translate(lac, Dma::ReadAddr::get(at), bytes, Access::kRead);
  if (operand.code != ReturnCode::kOk) {  // never leaves, like a PUT
    tables_.stats.add(NicStats::Id::kTranslationFaults);
    completed(message, completion, {.code = operand.code});
    return {};
  }
  std::copy_n(operand.memory, bytes, request.first.begin());
  const LocalBuffer result{.group = static_cast<std::uint16_t>(queue.setup.group),
                           .lac = static_cast<std::uint8_t>(Dma::WriteLac::get(at)),
                           .iova = Dma::WriteAddr::get(at),
                           .immediate = {}};
  return start_atomic(queue, message, result, request, completion);
}

Initiator::Result Initiator::atomic_immediate(CommandQueue& queue, const CommandView& command) {
  using Large = layout::IdcAtomic;
  using Small = layout::SmallAtomic;
  using State = layout::Cstate;
  if (!knows_all()) return {Done::kBad, ReturnCode::kIllegalOp};
  if (!queue.sticky.set) return {Done::kBad, ReturnCode::kCmdInvalidArg};
  const std::byte* const at = command.at;
  const std::byte* const state = queue.sticky.command;
  const bool is_small = command.bytes == Small::kBytes;
  AtomicRequest request = is_small ? request_of<Small>(at) : request_of<Large>(at);
  Message message;
  message.operation = operation_of(command);
  message.restricted = State::Restricted::get(state) != 0;
  message.flush = State::Flush::get(state) != 0;
  message.initiator = static_cast<std::uint32_t>(State::Initiator::get(state));
  read_destination<Large>(at, State::IndexExt::get(state), message);
  message.remote_offset = Large::RemoteOffset::get(at);
  Completion completion;
  read_flags<State>(state, completion);
  completion.user_ptr = State::UserPtr::get(state);
  LocalBuffer result{.group = static_cast<std::uint16_t>(queue.setup.group),
                     .lac = static_cast<std::uint8_t>(State::WriteLac::get(state)),
                     .iova = 0,
                     .immediate = {}};
  if (is_small) {
    put_words(Small::FirstLow::get(at), 0, request.first);
  } else {
    request.compare = static_cast<AtomicCompare>(Large::CompareOp::get(at));
    put_words(Large::FirstLow::get(at), Large::FirstHigh::get(at), request.first);
    put_words(Large::SecondLow::get(at), Large::SecondHigh::get(at), request.second);
    result.iova = Large::LocalAddr::get(at);
  }
  return start_atomic(queue, message, result, request, completion);
}

}  // namespace plnet::cassini::soft
