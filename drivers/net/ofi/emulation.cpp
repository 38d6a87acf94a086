// SPDX-License-Identifier: BSD-3-Clause
// Operations that this side begins, and their ends.
#include "drivers/net/ofi/emulation.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/check.hpp"
#include "lib/base/random.hpp"

namespace plnet::ofi {

using kfilnd::FabricEvent;
using Id = OfiCounters::Id;

Emulation::Emulation(Context& context, Memory& memory, const AddressRule& rule)
    : context_(context),
      memory_(memory),
      links_(context, rule),
      tx_(context, links_, *this),
      rx_(context, memory, *this),
      tagged_(context.config.tagged_max,
              static_cast<std::uint32_t>(SplitMix64(context.config.seed + 1).next())),
      operations_(context.config.limits.operations_max),
      owner_(tx_.packets(), kNone),
      records_(tx_.packets(), 0),
      scan_period_(
          std::min<Duration>(std::chrono::milliseconds(10), context.config.operation_time / 64)) {
  SplitMix64 random(context.config.seed);
  context_.incarnation = static_cast<std::uint32_t>(random.next()) | 1U;
  const auto first_generation = static_cast<std::uint32_t>(random.next());
  free_.reserve(operations_.size());
  for (auto i = static_cast<std::uint32_t>(operations_.size()); i-- > 0;) {
    free_.push_back(i);
    operations_[i].generation = first_generation;
  }
  dirty_.reserve(tx_.packets());
}

std::uint64_t Emulation::name(std::uint32_t operation) const {
  return std::uint64_t{operations_[operation].generation} << 32U | operation;
}

Result<std::uint32_t> Emulation::take(const kfilnd::Target& to, std::uint64_t cookie) {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  if (free_.empty()) {
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  const Result<std::uint32_t> link = links_.of(to);
  if (!link) return link;
  const std::uint32_t number = free_.back();
  free_.pop_back();
  PLNET_DEBUG_CHECK(operations_[number].state == Operation::State::kFree,
                    "a free operation is idle");
  ++links_.at(*link).users;
  operations_[number] = {.generation = operations_[number].generation,
                         .link = *link,
                         .cookie = cookie,
                         .begun = context_.now,
                         .deadline = context_.now + context_.config.operation_time};
  return number;
}

void Emulation::give(std::uint32_t number) {
  Operation& operation = operations_[number];
  if (operation.state == Operation::State::kPaused) --paused_;
  if (operation.packet != kNone) {
    owner_[operation.packet] = kNone;
    tx_.release(operation.packet);
  }
  if (operation.block != kNone) memory_.give_block(operation.block);
  PLNET_DEBUG_CHECK(links_.at(operation.link).users > 0, "operations are users of their link");
  --links_.at(operation.link).users;
  operation.state = Operation::State::kFree;
  ++operation.generation;
  free_.push_back(number);
}

void Emulation::finish(std::uint32_t number, Result<void> status) {
  const Operation& operation = operations_[number];
  PLNET_DEBUG_CHECK(operation.state != Operation::State::kFree, "an operation ends once");
  const bool message = operation.packet != kNone;
  context_.completions.push({.event = message ? FabricEvent::kSent : FabricEvent::kRemoteDone,
                             .status = status,
                             .cookie = operation.cookie});
  const std::uint32_t link = operation.link;
  give(number);
  if (status) return;
  context_.stats.add(Id::kFailures);
  if (status.error() == Errc::kTimedOut) context_.stats.add(Id::kTimeouts);
  if (status.error() == Errc::kTimedOut || status.error() == Errc::kNoRoute) links_.refresh(link);
}

Result<Place> Emulation::local(const lnet::Payload& payload, std::uint32_t& block, bool may_take) {
  if (payload.length == 0) return Place{};
  if (const std::optional<Place> place = memory_.contiguous(payload)) return *place;
  if (payload.length > memory_.block_bytes()) return std::unexpected(Errc::kTooBig);
  if (may_take) block = memory_.take_block();
  if (block == kNone) {
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  context_.stats.add(Id::kBounces);
  return memory_.block(block);
}

Result<void> Emulation::send(const kfilnd::Target& to, std::span<const std::byte> header,
                             const lnet::Payload& payload, std::uint64_t cookie) {
  const std::size_t length = header.size() + payload.length;
  if (length > context_.config.limits.message_bytes_max) return std::unexpected(Errc::kTooBig);
  const Result<std::uint32_t> number = take(to, cookie);
  if (!number) return std::unexpected(number.error());
  Operation& operation = operations_[*number];
  operation.packet = tx_.take();
  if (operation.packet == kNone) {
    give(*number);
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  PLNET_CHECK(owner_[operation.packet] == kNone, "a packet has the message of one operation");
  owner_[operation.packet] = *number;
  const std::span<std::byte> bytes = tx_.bytes(operation.packet);
  encode(PacketHeader{.kind = PacketKind::kMessage,
                      .to_context = to.receive_context,
                      .incarnation = context_.incarnation,
                      .from = context_.own},
         bytes.first<PacketHeader::kBytes>());
  wire_detail::put(bytes.data() + PacketHeader::kBytes, name(*number));
  std::byte* const body = bytes.data() + PacketHeader::kMessageBytes;
  if (!header.empty()) std::memcpy(body, header.data(), header.size());
  memory_.gather(payload, body + header.size());
  operation.length = static_cast<std::uint32_t>(PacketHeader::kMessageBytes + length);
  operation.state = Operation::State::kMessage;
  context_.stats.add(Id::kSends);
  tx_.post(operation.packet, operation.link, operation.length);
  return {};
}

Result<void> Emulation::read(const kfilnd::Target& peer, kfilnd::Tag tag, const lnet::Payload& into,
                             std::uint64_t cookie) {
  const Result<std::uint32_t> number = take(peer, cookie);
  if (!number) return std::unexpected(number.error());
  Operation& operation = operations_[*number];
  operation.state = Operation::State::kAsking;
  operation.sink = into;
  operation.length = into.length;
  const Result<Place> place = local(into, operation.block);
  const Errc why = place ? Errc::kAgain : place.error();
  if (place) {
    operation.place = *place;
    context_.stats.add(Id::kRemoteOperations);
    if (put(operation.link, {.kind = RecordKind::kAsk,
                             .tag = tag,
                             .operation = name(*number),
                             .length = into.length}))
      return {};
  }
  give(*number);
  return std::unexpected(why);
}

Result<void> Emulation::write(const kfilnd::Target& peer, kfilnd::Tag tag,
                              const lnet::Payload& from, std::uint64_t cookie) {
  const Result<std::uint32_t> number = take(peer, cookie);
  if (!number) return std::unexpected(number.error());
  Operation& operation = operations_[*number];
  operation.state = Operation::State::kOffering;
  const Result<Place> place = local(from, operation.block);
  const Errc why = place ? Errc::kAgain : place.error();
  if (place) {
    if (operation.block != kNone) memory_.gather(from, place->at);
    context_.stats.add(Id::kRemoteOperations);
    if (put(operation.link, {.kind = RecordKind::kOffer,
                             .tag = tag,
                             .operation = name(*number),
                             .address = place->remote(),
                             .key = place->key(),
                             .length = from.length}))
      return {};
  }
  give(*number);
  return std::unexpected(why);
}

Result<void> Emulation::answer(const kfilnd::Target& peer, kfilnd::Tag tag, std::uint64_t data,
                               std::uint64_t cookie) {
  const Result<std::uint32_t> number = take(peer, cookie);
  if (!number) return std::unexpected(number.error());
  operations_[*number].state = Operation::State::kAnswering;
  context_.stats.add(Id::kRemoteOperations);
  if (put(operations_[*number].link,
          {.kind = RecordKind::kAnswer, .tag = tag, .operation = name(*number), .other = data}))
    return {};
  give(*number);
  return std::unexpected(Errc::kAgain);
}

Result<void> Emulation::post_tagged(const kfilnd::Target& from, kfilnd::Tag tag, bool peer_reads,
                                    const lnet::Payload& buffer, std::uint64_t cookie) {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  if (tagged_.find(tag) != kNone) return std::unexpected(Errc::kExists);
  const Result<std::uint32_t> link = links_.of(from);
  if (!link) return std::unexpected(link.error());
  std::uint32_t block = kNone;
  const Result<Place> place = local(buffer, block, memory_.may_lay_open());
  if (!place) return std::unexpected(place.error());
  const std::uint32_t number = tagged_.take(tag);
  if (number == kNone) {
    if (block != kNone) memory_.give_block(block);
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  if (block != kNone && peer_reads) memory_.gather(buffer, place->at);
  TaggedBuffer& entry = tagged_.at(number);
  entry.peer_reads = peer_reads;
  entry.link = *link;
  entry.block = block;
  entry.cookie = cookie;
  entry.buffer = buffer;
  entry.place = *place;
  ++links_.at(*link).users;
  context_.stats.add(Id::kTaggedPosted);
  return {};
}

Result<void> Emulation::cancel_tagged(kfilnd::Tag tag) {
  const std::uint32_t number = tagged_.find(tag);
  if (number == kNone || tagged_.at(number).state != TaggedBuffer::State::kOpen) {
    context_.stats.add(Id::kLateCancels);
    return std::unexpected(Errc::kNotFound);
  }
  // No peer knows the place of the buffer, and none will.
  context_.stats.add(Id::kTaggedCancelled);
  end_tagged(number, FabricEvent::kTaggedCancelled, {});
  return {};
}

void Emulation::end_tagged(std::uint32_t number, FabricEvent event, Result<void> status,
                           std::uint32_t length, std::uint64_t data) {
  const TaggedBuffer& entry = tagged_.at(number);
  PLNET_DEBUG_CHECK(entry.state != TaggedBuffer::State::kFree && links_.at(entry.link).users > 0,
                    "a tagged buffer ends once");
  if (entry.block != kNone) memory_.give_block(entry.block);
  --links_.at(entry.link).users;
  context_.completions.push(
      {.event = event, .status = status, .cookie = entry.cookie, .length = length, .data = data});
  tagged_.give(number);
}

bool Emulation::put(std::uint32_t link_number, const Record& record) {
  Link& link = links_.at(link_number);
  if (link.open == kNone) {
    const std::uint32_t made = tx_.take();
    if (made == kNone) {
      context_.stats.add(Id::kRecordsLost);
      return false;
    }
    link.open = made;
    records_[made] = 0;
    dirty_.push_back(link_number);
  }
  const std::uint32_t packet = link.open;
  PLNET_CHECK(records_[packet] < kRecordsMax, "a full packet is closed");
  std::byte* const at = tx_.bytes(packet).data() + PacketHeader::kBytes;
  encode(record, at + records_[packet] * Record::kBytes);
  const std::size_t full = std::min<std::size_t>(
      kRecordsMax, (tx_.bytes(packet).size() - PacketHeader::kBytes) / Record::kBytes);
  if (++records_[packet] == full) close_packet(link_number);
  return true;
}

void Emulation::close_packet(std::uint32_t link_number) {
  Link& link = links_.at(link_number);
  const std::uint32_t packet = link.open;
  if (packet == kNone) return;
  PLNET_CHECK(records_[packet] > 0, "a packet is opened for a record");
  link.open = kNone;
  encode(PacketHeader{.kind = PacketKind::kRecords,
                      .to_context = link.process.context,
                      .records = records_[packet],
                      .incarnation = context_.incarnation,
                      .from = context_.own},
         tx_.bytes(packet).first<PacketHeader::kBytes>());
  tx_.post(packet, link_number, PacketHeader::kBytes + records_[packet] * Record::kBytes);
  tx_.release(packet);
}

void Emulation::begin() {
  for (Operation& operation : operations_) {
    operation.begun = context_.now;
    operation.deadline = context_.now + context_.config.operation_time;
  }
  tx_.begin();
}

void Emulation::flush() {
  if (context_.now >= next_scan_) expire();
  tx_.flush();
  for (const std::uint32_t link : dirty_)
    close_packet(link);
  dirty_.clear();
}

void Emulation::expire() {
  using State = Operation::State;
  for (std::uint32_t i = 0; i < operations_.size() && free_.size() < operations_.size(); ++i) {
    Operation& operation = operations_[i];
    // An operation of the provider ends with its completion.
    if (operation.state == State::kFree || operation.state == State::kReading) continue;
    if (context_.now >= operation.deadline) {
      finish(i, std::unexpected(Errc::kTimedOut));
    } else if (operation.state == State::kPaused && context_.now >= operation.due &&
               !tx_.busy(operation.packet)) {
      PLNET_CHECK(paused_ > 0, "paused operations are counted");
      --paused_;
      operation.state = State::kMessage;
      tx_.post(operation.packet, operation.link, operation.length);
    }
  }
  for (std::uint32_t i = 0; i < tagged_.count() && tagged_.in_use() > 0; ++i) {
    const TaggedBuffer::State state = tagged_.at(i).state;
    if ((state == TaggedBuffer::State::kGranted || state == TaggedBuffer::State::kConfirming) &&
        context_.now >= tagged_.at(i).deadline) {
      context_.stats.add(Id::kTimeouts);
      end_tagged(i, FabricEvent::kTaggedFailed, std::unexpected(Errc::kTimedOut));
    }
  }
  next_scan_ = context_.now + (paused_ > 0 ? Duration(kPauseMin) : scan_period_);
}

Instant Emulation::next_deadline() const {
  if (!dirty_.empty()) return context_.now;
  const bool idle = free_.size() == operations_.size() && tagged_.in_use() == 0;
  return idle && !tx_.waiting() ? Instant::max() : next_scan_;
}

void Emulation::shut_down() {
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    const Operation::State state = operations_[i].state;
    if (state != Operation::State::kFree && state != Operation::State::kReading)
      finish(i, std::unexpected(Errc::kShutdown));
  }
  // A buffer that a peer has taken ends with its operation, or with its lease.
  for (std::uint32_t i = 0; i < tagged_.count(); ++i) {
    if (tagged_.at(i).state == TaggedBuffer::State::kOpen)
      end_tagged(i, FabricEvent::kTaggedCancelled, {});
  }
  rx_.shut_down();
}

void Emulation::announce_end() {
  for (std::uint32_t link = 0; link < links_.count(); ++link) {
    if (links_.would_miss_us(link) && put(link, {.kind = RecordKind::kLeaving})) close_packet(link);
  }
}

bool Emulation::quiet() const {
  return free_.size() == operations_.size() && tagged_.in_use() == 0 && rx_.buffers() == 0 &&
         tx_.reads() == 0 && context_.completions.size() == 0;
}

void Emulation::abort(Errc why) {
  tx_.abort();
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].state != Operation::State::kFree) finish(i, std::unexpected(why));
  }
  for (std::uint32_t i = 0; i < tagged_.count(); ++i) {
    if (tagged_.at(i).state != TaggedBuffer::State::kFree)
      end_tagged(i, FabricEvent::kTaggedFailed, std::unexpected(why));
  }
  rx_.shut_down();
}

}  // namespace plnet::ofi
