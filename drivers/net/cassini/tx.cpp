// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/tx.hpp"

#include <algorithm>

#include "drivers/net/cassini/trace.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini {

using Id = CassiniCounters::Id;
using kfilnd::FabricEvent;

Transmitter::Transmitter(Context& context, Blocks& blocks, const TxLimits& limits)
    : context_(context), blocks_(blocks), limits_(limits), operations_(limits.operations_max) {
  free_.reserve(limits.operations_max);
  waiting_.reserve(limits.operations_max);
  for (std::uint32_t i = limits.operations_max; i-- > 0;)
    free_.push_back(i);
}

void Transmitter::attach(const CommandQueue& commands, const EventQueue& events) {
  commands_ = commands;
  events_ = events;
}

Result<std::uint32_t> Transmitter::take() {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  // Checks the room in the queue first, so that nothing must be undone.
  if (context_.transmit_failed || free_.empty() || !commands_.has_room(SizeCode::k64)) {
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Operation& operation = operations_[index];
  PLNET_DEBUG_CHECK(!operation.in_use && !operation.quarantined, "a free operation is idle");
  operation.in_use = true;
  operation.message = false;
  operation.waiting = false;
  operation.direct = false;
  operation.block = BlockPool::kNone;
  operation.sink = {};
  operation.pause = kPauseMin;
  ++in_flight_;
  return index;
}

void Transmitter::give(std::uint32_t index) {
  Operation& operation = operations_[index];
  PLNET_DEBUG_CHECK(operation.in_use && in_flight_ > 0, "an operation ends once");
  if (operation.block != BlockPool::kNone)
    (operation.message ? blocks_.messages : blocks_.bulk).give(operation.block);
  operation.in_use = false;
  ++operation.generation;
  free_.push_back(index);
  --in_flight_;
}

bool Transmitter::push(const DmaCommand::Words& command) {
  if (!commands_.push(SizeCode::k64, command)) return false;
  if (context_.tracer != nullptr) context_.tracer->command(commands_.hardware_index(), command);
  return true;
}

Result<void> Transmitter::post(std::uint32_t index, const Request& request, DmaCommand command) {
  Operation& operation = operations_[index];
  const bool get = opcode_of(command.command) == opcode::kGet;
  const unsigned portal =
      get ? get_index(request.receive_context) : put_index(request.receive_context);
  const FabricAddress to = fabric_address(request.to, portal, context_.pid_bits);
  command.dfa = to.dfa;
  command.index_ext = to.index_ext;
  command.event_send_disable = 1;
  command.eq = static_cast<std::uint16_t>(events_.number());
  command.initiator = match_id(context_.own, context_.pid_bits);
  command.user_ptr = std::uint64_t{operation.generation} << 32U | index;
  operation.command = command.encode();
  operation.cookie = request.cookie;
  operation.length = command.request_len;
  operation.deadline =
      context_.now + (operation.message ? limits_.not_ready_time : limits_.remote_not_ready_time);
  const bool pushed = push(operation.command);
  PLNET_CHECK(pushed, "take() has seen room for it");
  operation.end = commands_.pushed();
  context_.stats.add(operation.message ? Id::kSends : Id::kRemoteOperations);
  return {};
}

namespace {
constexpr std::uint8_t kPutByte = command_byte(CommandType::kDma, SizeCode::k64, opcode::kPut);
constexpr std::uint8_t kGetByte = command_byte(CommandType::kDma, SizeCode::k64, opcode::kGet);
}  // namespace

Result<void> Transmitter::send(const Request& request, std::span<const std::byte> header,
                               const lnet::Payload& payload) {
  const std::size_t length = header.size() + payload.length;
  if (length > blocks_.messages.block_bytes()) return std::unexpected(Errc::kTooBig);
  const auto index = take();
  if (!index) return std::unexpected(index.error());
  Operation& operation = operations_[*index];
  operation.message = true;
  operation.block = blocks_.messages.take();
  PLNET_CHECK(operation.block != BlockPool::kNone, "as many blocks as operations");
  const auto bytes = blocks_.messages.bytes(operation.block);
  std::ranges::copy(header, bytes.begin());
  gather(context_.arenas, payload, bytes.data() + header.size());
  const DeviceAddress at = blocks_.address(bytes);
  return post(*index, request,
              {.command = kPutByte,
               .lac = static_cast<std::uint8_t>(at.lac),
               .local_addr = at.iova,
               .request_len = static_cast<std::uint32_t>(length),
               .match_bits = match_bits::kMessage});
}

Result<DeviceAddress> Transmitter::local(Operation& operation, const lnet::Payload& payload) {
  if (payload.empty()) return blocks_.address(blocks_.spare);
  if (const auto direct = context_.map.contiguous(payload)) {
    operation.direct = true;
    return *direct;
  }
  if (payload.length > blocks_.bulk.block_bytes()) return std::unexpected(Errc::kTooBig);
  if (blocks_.bulk.block_count() == 0) return std::unexpected(Errc::kNotSupported);
  operation.block = blocks_.bulk.take();
  if (operation.block == BlockPool::kNone) {
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  context_.stats.add(Id::kBounces);
  return blocks_.address(blocks_.bulk.bytes(operation.block));
}

Result<void> Transmitter::read(const Request& request, kfilnd::Tag tag, const lnet::Payload& into) {
  const auto index = take();
  if (!index) return std::unexpected(index.error());
  Operation& operation = operations_[*index];
  const auto at = local(operation, into);
  if (!at) {
    give(*index);
    return std::unexpected(at.error());
  }
  if (operation.block != BlockPool::kNone) operation.sink = into;
  return post(*index, request,
              {.command = kGetByte,
               .lac = static_cast<std::uint8_t>(at->lac),
               .local_addr = at->iova,
               .request_len = into.length,
               .match_bits = match_bits::tagged_rma(tag)});
}

Result<void> Transmitter::write(const Request& request, kfilnd::Tag tag,
                                const lnet::Payload& from) {
  const auto index = take();
  if (!index) return std::unexpected(index.error());
  Operation& operation = operations_[*index];
  const auto at = local(operation, from);
  if (!at) {
    give(*index);
    return std::unexpected(at.error());
  }
  if (operation.block != BlockPool::kNone)
    gather(context_.arenas, from, blocks_.bulk.bytes(operation.block).data());
  return post(*index, request,
              {.command = kPutByte,
               .lac = static_cast<std::uint8_t>(at->lac),
               .local_addr = at->iova,
               .request_len = from.length,
               .match_bits = match_bits::tagged_rma(tag)});
}

Result<void> Transmitter::answer(const Request& request, kfilnd::Tag tag, std::uint64_t data) {
  const auto index = take();
  if (!index) return std::unexpected(index.error());
  const DeviceAddress at = blocks_.address(blocks_.spare);  // the address of an empty operation
  return post(*index, request,
              {.command = kPutByte,
               .lac = static_cast<std::uint8_t>(at.lac),
               .local_addr = at.iova,
               .match_bits = match_bits::tagged_data(tag),
               .header_data = data});
}

void Transmitter::tell(const Operation& operation, Result<void> status) {
  if (!status) context_.stats.add(Id::kFailures);
  context_.completions.push(
      {.event = operation.message ? FabricEvent::kSent : FabricEvent::kRemoteDone,
       .status = status,
       .cookie = operation.cookie,
       .length = status ? operation.length : 0});
}

void Transmitter::finish(std::uint32_t index, Result<void> status) {
  tell(operations_[index], status);
  give(index);
}

// The peer had no buffer, or its portal is not enabled yet or disabled for a while (the kernel
// gives up at once in the latter case). No data was moved, so the operation can be repeated. Tagged
// buffers are posted before peers are asked to use them, so one is missing only because of the
// peer's own late append.
bool Transmitter::may_wait(const Operation& operation, ReturnCode code) const {
  if (context_.shut_down || context_.transmit_failed) return false;
  if (context_.now >= operation.deadline) return false;
  return operation.message || code == ReturnCode::kEntryNotFound;
}

void Transmitter::wait(std::uint32_t index) {
  Operation& operation = operations_[index];
  PLNET_DEBUG_CHECK(operation.in_use && !operation.waiting, "an operation waits once");
  operation.waiting = true;
  operation.due = context_.now + operation.pause;
  operation.pause = std::min(operation.pause * 2, kPauseMax);
  waiting_.push_back(index);
  std::ranges::push_heap(waiting_, std::ranges::greater{},
                         [this](std::uint32_t each) { return operations_[each].due; });
}

void Transmitter::on_done(std::uint32_t index, const Event& event, const InitiatorEvent& decoded) {
  const Operation& operation = operations_[index];
  if (event.code == ReturnCode::kEntryNotFound || event.code == ReturnCode::kPtDisabled) {
    context_.stats.add(Id::kReceiverNotReady);
    if (may_wait(operation, event.code)) {
      wait(index);
      return;
    }
  }
  if (event.code != ReturnCode::kOk) {
    finish(index, std::unexpected(errc_of(event.code)));
    return;
  }
  // The peer's buffer was smaller than the request.
  if (decoded.mlength < operation.length) {
    finish(index, std::unexpected(Errc::kTooBig));
    return;
  }
  if (operation.sink.length > 0) {
    scatter(context_.arenas, blocks_.bulk.bytes(operation.block).first(operation.length),
            operation.sink);
  }
  finish(index, {});
}

void Transmitter::on_event(const Event& event) {
  if (context_.tracer != nullptr) context_.tracer->event(events_.number(), event);
  if (event.type == EventType::kCommandFailure) {
    context_.stats.add(Id::kCommandFailures);
    context_.transmit_failed = true;
    return;
  }
  const auto decoded = event.as<InitiatorEvent>();
  if (!decoded || (event.type != EventType::kAck && event.type != EventType::kReply)) {
    context_.stats.add(Id::kStrangeEvents);
    return;
  }
  const auto index = static_cast<std::uint32_t>(decoded->user_ptr);
  if (index >= operations_.size() || !operations_[index].in_use || operations_[index].waiting ||
      operations_[index].quarantined || operations_[index].generation != decoded->user_ptr >> 32U) {
    context_.stats.add(Id::kStaleEvents);
    return;
  }
  on_done(index, event, *decoded);
}

void Transmitter::repost() {
  for (unsigned i = 0; i < kRepostsMax && next_deadline() <= context_.now; ++i) {
    const std::uint32_t index = waiting_.front();
    Operation& operation = operations_[index];
    PLNET_DEBUG_CHECK(operation.in_use && operation.waiting, "what waits is posted again");
    // The peer answers, and matches, our present address.
    DmaCommand command = DmaCommand::decode(operation.command);
    command.initiator = match_id(context_.own, context_.pid_bits);
    operation.command = command.encode();
    if (!push(operation.command)) return;  // no room now
    operation.end = commands_.pushed();
    context_.stats.add(Id::kReposts);
    operation.waiting = false;
    std::ranges::pop_heap(waiting_, std::ranges::greater{},
                          [this](std::uint32_t each) { return operations_[each].due; });
    waiting_.pop_back();
  }
}

unsigned Transmitter::poll(unsigned limit) {
  const unsigned count = events_.poll(limit, [this](const Event& event) { on_event(event); });
  if (count == 0 && in_flight_ > 0 && commands_.failed()) {
    if (!context_.transmit_failed) context_.stats.add(Id::kCommandFailures);
    context_.transmit_failed = true;
  }
  if (events_.broken() || events_.dropped()) {
    if (!events_lost_) context_.stats.add(Id::kEventsDropped);
    events_lost_ = true;
    context_.transmit_failed = true;
  }
  return count;
}

void Transmitter::flush() {
  repost();
  commands_.ring();
}

void Transmitter::shut_down() {
  for (const std::uint32_t index : waiting_)
    finish(index, std::unexpected(Errc::kShutdown));
  waiting_.clear();
}

bool Transmitter::drain(Errc why) {
  const std::uint64_t begun = commands_.begun();
  bool ended = true;
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    if (!operation.in_use || operation.quarantined) continue;
    if (operation.waiting || operation.end > begun) {
      finish(i, std::unexpected(why));
    } else {
      ended = false;
    }
  }
  waiting_.clear();
  return ended;
}

void Transmitter::quarantine(Errc why) {
  for (Operation& operation : operations_) {
    if (!operation.in_use || operation.quarantined) continue;
    operation.quarantined = true;
    context_.stats.add(Id::kQuarantined);
    if (operation.direct) continue;
    tell(operation, std::unexpected(why));
    PLNET_CHECK(in_flight_ > 0, "each operation is counted");
    --in_flight_;
  }
}

void Transmitter::detach() {
  PLNET_CHECK(waiting_.empty(), "drain() has ended what waits");
  commands_ = {};
  events_ = {};
  events_lost_ = false;
}

}  // namespace plnet::cassini
