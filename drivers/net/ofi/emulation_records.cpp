// SPDX-License-Identifier: BSD-3-Clause
// Operations that peers begin, and their answers.
#include <algorithm>

#include "drivers/net/ofi/emulation.hpp"
#include "lib/base/check.hpp"

namespace plnet::ofi {

using kfilnd::FabricEvent;
using Id = OfiCounters::Id;

namespace {

std::uint16_t to_wire(Result<void> status) {
  return status ? std::uint16_t{0} : static_cast<std::uint16_t>(errno_of(status.error()));
}

Result<void> from_wire(std::uint16_t status) {
  if (status == 0) return {};
  return std::unexpected(errc_of_errno(status));
}

}  // namespace

// kNone: garbage, or a stranger without a place.
std::uint32_t Emulation::sender(const PacketHeader& header) {
  std::uint32_t link = links_.find(header.from);
  if (link == kNone) link = links_.learn(header.from);
  if (link == kNone) {
    context_.stats.add(Id::kStrangersRefused);
    return kNone;
  }
  links_.heard(link);
  if (links_.at(link).incarnation != header.incarnation) restarted(link, header.incarnation);
  return link;
}

void Emulation::restarted(std::uint32_t link, std::uint32_t incarnation) {
  const bool first = links_.at(link).incarnation == 0;
  links_.at(link).incarnation = incarnation;
  if (first) return;
  context_.stats.add(Id::kRestarts);
  end_what_was_asked(link);
  links_.refresh(link);
}

// The new process will not answer questions to the previous one. Messages that still wait are sent
// to it: they may well be for it.
void Emulation::end_what_was_asked(std::uint32_t link) {
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    if (operation.state == Operation::State::kFree || operation.link != link) continue;
    if (operation.state != Operation::State::kReading &&
        operation.state != Operation::State::kPaused)
      finish(i, std::unexpected(Errc::kReset));
  }
  for (std::uint32_t i = 0; i < tagged_.count(); ++i) {
    const TaggedBuffer& entry = tagged_.at(i);
    if (entry.link == link && (entry.state == TaggedBuffer::State::kGranted ||
                               entry.state == TaggedBuffer::State::kConfirming))
      end_tagged(i, FabricEvent::kTaggedFailed, std::unexpected(Errc::kReset));
  }
}

void Emulation::on_packet(std::span<const std::byte> bytes) {
  const Result<PacketHeader> header = decode_header(bytes);
  if (!header || header->to_context != context_.own.context) {
    context_.stats.add(Id::kGarbage);
    return;
  }
  const std::uint32_t link = sender(*header);
  if (link == kNone) return;
  if (header->kind == PacketKind::kMessage) {
    on_message(link, bytes.subspan(PacketHeader::kBytes));
    return;
  }
  for (std::size_t i = 0; i < header->records; ++i) {
    const Result<Record> record =
        decode_record(bytes.data() + PacketHeader::kBytes + i * Record::kBytes);
    if (!record) {
      context_.stats.add(Id::kGarbage);
      return;
    }
    on_record(link, *record);
  }
}

void Emulation::on_message(std::uint32_t link, std::span<const std::byte> bytes) {
  const auto operation = wire_detail::get<std::uint64_t>(bytes.data());
  const std::span<const std::byte> message = bytes.subspan(sizeof operation);
  if (message.size() > context_.config.limits.message_bytes_max) {
    context_.stats.add(Id::kGarbage);
    return;
  }
  const bool taken = rx_.take_message(message);
  if (!taken) context_.stats.add(Id::kNoBuffer);
  const Result<void> refused = std::unexpected(Errc::kAgain);
  (void)put(link, {.kind = RecordKind::kDelivered,
                   .status = taken ? std::uint16_t{0} : to_wire(refused),
                   .operation = operation});
}

void Emulation::on_record(std::uint32_t link, const Record& record) {
  switch (record.kind) {
    case RecordKind::kDelivered: return on_delivered(link, record);
    case RecordKind::kAsk: return on_ask(link, record);
    case RecordKind::kGrant: return on_grant(link, record);
    case RecordKind::kReadDone: return on_read_ended(link, record);
    case RecordKind::kOffer: return on_offer(link, record);
    case RecordKind::kFetched: return on_fetched(link, record);
    case RecordKind::kConfirm: return on_confirm(link, record);
    case RecordKind::kAnswer: return on_answer(link, record);
    case RecordKind::kLeaving: {
      end_what_was_asked(link);
      return links_.leave(link);
    }
    case RecordKind::kAnswered: {
      const std::uint32_t number = named(record.operation, link, Operation::State::kAnswering);
      if (number != kNone) finish(number, from_wire(record.status));
      return;
    }
  }
}

std::uint32_t Emulation::named(std::uint64_t name, std::uint32_t link, Operation::State state) {
  const auto number = static_cast<std::uint32_t>(name);
  if (number < operations_.size() && operations_[number].generation == name >> 32U &&
      operations_[number].link == link && operations_[number].state == state)
    return number;
  context_.stats.add(Id::kStale);
  return kNone;
}

std::uint32_t Emulation::taken(std::uint64_t name, std::uint32_t link, TaggedBuffer::State state) {
  const std::uint32_t number = tagged_.named(name);
  if (number != kNone && tagged_.at(number).link == link && tagged_.at(number).state == state)
    return number;
  context_.stats.add(Id::kStale);
  return kNone;
}

void Emulation::on_delivered(std::uint32_t link, const Record& record) {
  const std::uint32_t number = named(record.operation, link, Operation::State::kMessage);
  if (number == kNone) return;
  const Result<void> status = from_wire(record.status);
  if (status || status.error() != Errc::kAgain) return finish(number, status);
  context_.stats.add(Id::kReceiverNotReady);
  Operation& operation = operations_[number];
  if (context_.now - operation.begun >= context_.config.not_ready_time)
    return finish(number, std::unexpected(Errc::kBusy));
  operation.state = Operation::State::kPaused;
  ++paused_;
  operation.pause = std::clamp<Duration>(operation.pause * 2, kPauseMin, kPauseMax);
  operation.due = context_.now + operation.pause;
  next_scan_ = std::min(next_scan_, operation.due);
}

Result<std::uint32_t> Emulation::match(std::uint32_t link, kfilnd::Tag tag) {
  const std::uint32_t number = tagged_.find(tag);
  if (number == kNone) return std::unexpected(Errc::kNotFound);
  TaggedBuffer& entry = tagged_.at(number);
  if (entry.state != TaggedBuffer::State::kOpen ||
      !links_.at(entry.link).process.is_same_but_for_context(links_.at(link).process))
    return std::unexpected(Errc::kNotFound);
  PLNET_DEBUG_CHECK(links_.at(entry.link).users > 0, "tagged buffers are users of their link");
  --links_.at(entry.link).users;
  ++links_.at(link).users;
  entry.link = link;
  return number;
}

void Emulation::on_ask(std::uint32_t link, const Record& record) {
  Result<std::uint32_t> number = match(link, record.tag);
  if (number &&
      (!tagged_.at(*number).peer_reads || record.length > tagged_.at(*number).buffer.length))
    number = std::unexpected(Errc::kNotPermitted);
  Record grant{.kind = RecordKind::kGrant, .operation = record.operation};
  if (!number) {
    context_.stats.add(Id::kNoMatch);
    grant.status = to_wire(std::unexpected(number.error()));
    (void)put(link, grant);
    return;
  }
  TaggedBuffer& entry = tagged_.at(*number);
  const Duration lease = context_.config.operation_time;
  grant.other = tagged_.name(*number);
  grant.address = entry.place.remote();
  grant.key = entry.place.key();
  grant.length = record.length;
  grant.lease_us = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(lease).count());
  if (!put(link, grant)) return;  // still open; the asker gives up in time
  context_.stats.add(Id::kTaggedTaken);
  entry.state = TaggedBuffer::State::kGranted;
  entry.length = record.length;
  // The asker counts from its question, we from a turn that may have begun a little earlier.
  entry.deadline = context_.now + lease + lease / 8 + std::chrono::milliseconds(1);
}

void Emulation::on_grant(std::uint32_t link, const Record& record) {
  const std::uint32_t number = named(record.operation, link, Operation::State::kAsking);
  const Result<void> status = from_wire(record.status);
  if (number == kNone) {
    const Result<void> late = std::unexpected(Errc::kTimedOut);
    if (status)
      (void)put(link,
                {.kind = RecordKind::kReadDone, .status = to_wire(late), .other = record.other});
    return;
  }
  if (!status) return finish(number, status);
  Operation& operation = operations_[number];
  operation.state = Operation::State::kReading;
  operation.other = record.other;
  operation.lease = operation.begun + std::chrono::microseconds(record.lease_us);
  if (record.length != operation.length) {
    own_read_done(number, std::unexpected(Errc::kProtocol));
  } else if (operation.length == 0) {
    own_read_done(number, {});
  } else {
    tx_.read({.owner = number,
              .link = link,
              .into = operation.place,
              .address = record.address,
              .key = record.key,
              .length = operation.length,
              .deadline = operation.deadline});
  }
}

void Emulation::on_read_done(std::uint64_t owner, Result<void> status) {
  if ((owner & kOwnerIsTagged) != 0)
    fetched(static_cast<std::uint32_t>(owner), status);
  else
    own_read_done(static_cast<std::uint32_t>(owner), status);
}

void Emulation::own_read_done(std::uint32_t number, Result<void> status) {
  const Operation& operation = operations_[number];
  PLNET_DEBUG_CHECK(operation.state == Operation::State::kReading,
                    "a read that the provider has done was granted");
  // The owner may use the memory for something else by now.
  if (status && context_.now > operation.lease) status = std::unexpected(Errc::kTimedOut);
  if (status && operation.block != kNone)
    memory_.scatter(operation.place.at, operation.sink, operation.length);
  (void)put(operation.link, {.kind = RecordKind::kReadDone,
                             .status = to_wire(status),
                             .other = operation.other,
                             .length = operation.length});
  finish(number, status);
}

void Emulation::on_read_ended(std::uint32_t link, const Record& record) {
  const std::uint32_t number = taken(record.other, link, TaggedBuffer::State::kGranted);
  if (number == kNone) return;
  const Result<void> status = from_wire(record.status);
  if (status)
    end_tagged(number, FabricEvent::kTaggedRead, status, tagged_.at(number).length);
  else
    end_tagged(number, FabricEvent::kTaggedFailed, status);
}

void Emulation::on_offer(std::uint32_t link, const Record& record) {
  Result<std::uint32_t> number = match(link, record.tag);
  if (number &&
      (tagged_.at(*number).peer_reads || record.length > tagged_.at(*number).buffer.length))
    number = std::unexpected(Errc::kNotPermitted);
  if (!number) {
    context_.stats.add(Id::kNoMatch);
    (void)put(link, {.kind = RecordKind::kFetched,
                     .status = to_wire(std::unexpected(number.error())),
                     .operation = record.operation});
    return;
  }
  context_.stats.add(Id::kTaggedTaken);
  TaggedBuffer& entry = tagged_.at(*number);
  entry.state = TaggedBuffer::State::kFetching;
  entry.operation = record.operation;
  entry.length = record.length;
  if (record.length == 0) return fetched(*number, {});
  tx_.read({.owner = kOwnerIsTagged | *number,
            .link = link,
            .into = entry.place,
            .address = record.address,
            .key = record.key,
            .length = record.length,
            .deadline = context_.now + context_.config.operation_time});
}

void Emulation::fetched(std::uint32_t number, Result<void> status) {
  TaggedBuffer& entry = tagged_.at(number);
  PLNET_DEBUG_CHECK(entry.state == TaggedBuffer::State::kFetching,
                    "a read that the provider has done was offered");
  if (status && entry.block != kNone) memory_.scatter(entry.place.at, entry.buffer, entry.length);
  const bool told = put(entry.link, {.kind = RecordKind::kFetched,
                                     .status = to_wire(status),
                                     .operation = entry.operation,
                                     .other = status ? tagged_.name(number) : 0,
                                     .length = entry.length});
  if (!status) {
    end_tagged(number, FabricEvent::kTaggedFailed, status);
  } else if (!told) {
    end_tagged(number, FabricEvent::kTaggedFailed, std::unexpected(Errc::kNoMemory));
  } else {
    entry.state = TaggedBuffer::State::kConfirming;
    entry.deadline = context_.now + context_.config.operation_time;
  }
}

void Emulation::on_fetched(std::uint32_t link, const Record& record) {
  const std::uint32_t number = named(record.operation, link, Operation::State::kOffering);
  const Result<void> status = from_wire(record.status);
  const Result<void> stale = std::unexpected(Errc::kStale);
  if (!status) {
    if (number != kNone) finish(number, status);
    return;
  }
  const bool told = put(link, {.kind = RecordKind::kConfirm,
                               .status = number == kNone ? to_wire(stale) : std::uint16_t{0},
                               .other = record.other});
  if (number == kNone) return;
  if (told)
    finish(number, {});
  else
    finish(number, std::unexpected(Errc::kNoMemory));
}

void Emulation::on_confirm(std::uint32_t link, const Record& record) {
  const std::uint32_t number = taken(record.other, link, TaggedBuffer::State::kConfirming);
  if (number == kNone) return;
  const Result<void> status = from_wire(record.status);
  if (status)
    end_tagged(number, FabricEvent::kTaggedWritten, status, tagged_.at(number).length);
  else
    end_tagged(number, FabricEvent::kTaggedFailed, status);
}

void Emulation::on_answer(std::uint32_t link, const Record& record) {
  const Result<std::uint32_t> number = match(link, record.tag);
  Record answered{.kind = RecordKind::kAnswered, .operation = record.operation};
  if (!number) {
    context_.stats.add(Id::kNoMatch);
    answered.status = to_wire(std::unexpected(number.error()));
  }
  if (!put(link, answered) || !number) return;
  context_.stats.add(Id::kTaggedTaken);
  end_tagged(*number, FabricEvent::kTaggedMessage, {}, 0, record.other);
}

void Emulation::on_packet_failed(std::uint32_t packet, Errc why) {
  PLNET_CHECK(packet < owner_.size(), "the provider names a packet of ours");
  if (owner_[packet] != kNone) return finish(owner_[packet], std::unexpected(why));
  const std::span<const std::byte> bytes = tx_.content(packet);
  const Result<PacketHeader> header = decode_header(bytes);
  // A message whose operation has already ended.
  if (!header || header->kind != PacketKind::kRecords) return;
  const std::uint32_t link = tx_.link_of(packet);
  for (std::size_t i = 0; i < header->records; ++i) {
    const Result<Record> record =
        decode_record(bytes.data() + PacketHeader::kBytes + i * Record::kBytes);
    if (!record) return;
    std::uint32_t number = kNone;
    if (record->kind == RecordKind::kAsk)
      number = named(record->operation, link, Operation::State::kAsking);
    else if (record->kind == RecordKind::kOffer)
      number = named(record->operation, link, Operation::State::kOffering);
    else if (record->kind == RecordKind::kAnswer)
      number = named(record->operation, link, Operation::State::kAnswering);
    else
      context_.stats.add(Id::kRecordsLost);
    if (number != kNone) finish(number, std::unexpected(why));
  }
}

}  // namespace plnet::ofi
