// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/record/record.hpp"

#include <algorithm>
#include <utility>

namespace plnet::trace {

std::optional<std::uint32_t> Record::portal() const {
  if (is(lnet::MessageType::kPut)) return area<lnet::PutArea>().portal;
  if (is(lnet::MessageType::kGet)) return area<lnet::GetArea>().portal;
  return std::nullopt;
}

std::optional<std::uint64_t> Record::match_bits() const {
  if (is(lnet::MessageType::kPut)) return area<lnet::PutArea>().match_bits;
  if (is(lnet::MessageType::kGet)) return area<lnet::GetArea>().match_bits;
  if (is(lnet::MessageType::kAck)) return area<lnet::AckArea>().match_bits;
  return std::nullopt;
}

std::optional<std::uint32_t> Record::offset() const {
  if (is(lnet::MessageType::kPut)) return area<lnet::PutArea>().offset;
  if (is(lnet::MessageType::kGet)) return area<lnet::GetArea>().source_offset;
  return std::nullopt;
}

std::optional<std::uint64_t> Record::header_data() const {
  if (is(lnet::MessageType::kPut)) return area<lnet::PutArea>().header_data;
  return std::nullopt;
}

std::optional<std::uint32_t> Record::sink_length() const {
  if (is(lnet::MessageType::kGet)) return area<lnet::GetArea>().sink_length;
  return std::nullopt;
}

std::optional<std::uint32_t> Record::accepted_length() const {
  if (is(lnet::MessageType::kAck)) return area<lnet::AckArea>().accepted_length;
  return std::nullopt;
}

std::optional<lnet::WireHandle> Record::handle() const {
  // All four areas begin with the handle.
  if (header.type > static_cast<std::uint8_t>(lnet::MessageType::kReply)) return std::nullopt;
  const auto handle = area<lnet::ReplyArea>().destination;
  if (handle.is_none()) return std::nullopt;
  return handle;
}

void set_header(const lnet::MessageHeader& header, RecordHeader& record) {
  const auto type = std::to_underlying(header.type);
  record.source = header.source;
  record.destination = header.destination;
  record.source_pid = header.source_pid;
  record.destination_pid = header.destination_pid;
  record.payload_length = header.payload_length;
  record.type = static_cast<std::uint8_t>(std::min(type, kTypeBeyondByte));
  record.type_area = header.type_area;
}

lnet::MessageHeader header_of(const RecordHeader& record) {
  return {.destination = record.destination,
          .source = record.source,
          .destination_pid = record.destination_pid,
          .source_pid = record.source_pid,
          .type = static_cast<lnet::MessageType>(record.type),
          .payload_length = record.payload_length,
          .type_area = record.type_area};
}

}  // namespace plnet::trace
