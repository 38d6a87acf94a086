// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/tap/shard_tap.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/trace/decode/message.hpp"

namespace plnet::trace {

namespace {

Direction direction_of(lnet::TapWay way) {
  switch (way) {
    case lnet::TapWay::kReceived: return Direction::kReceived;
    case lnet::TapWay::kSent: return Direction::kSent;
    case lnet::TapWay::kDropped: break;
  }
  return Direction::kDropped;
}

template <class Word>
std::uint64_t load(const void* bytes, std::size_t at) {
  Word word;
  std::memcpy(&word, static_cast<const std::byte*>(bytes) + at, sizeof word);
  return word;
}

// Records are written in whole words, so that later reads of words need not wait for narrower
// writes.
void put(RecordHeader& record, std::size_t word, std::uint64_t value) {
  std::memcpy(reinterpret_cast<std::byte*>(&record) + 8 * word, &value, sizeof value);
}

// The words that kBriefWords names.
void set_brief(const lnet::TappedMessage& message, std::size_t captured, RecordHeader& record) {
  const lnet::MessageHeader& header = message.header;
  put(record, 6, load<std::uint64_t>(&header.source, 0));
  put(record, 8,
      load<std::uint32_t>(&header.source, 16) | load<std::uint32_t>(&header.destination, 0) << 32U);
  put(record, 9, load<std::uint64_t>(&header.destination, 4));
  put(record, 11, load<std::uint64_t>(&message.hop, 0));
  put(record, 13, load<std::uint32_t>(&message.hop, 16) | std::uint64_t{header.source_pid} << 32U);
  put(record, 14,
      std::uint64_t{header.destination_pid} | std::uint64_t{header.payload_length} << 32U);
  const std::uint64_t type = std::min(std::to_underlying(header.type), kTypeBeyondByte);
  put(record, 15,
      captured | std::uint64_t{std::to_underlying(direction_of(message.way))} << 32U | type << 40U |
          std::uint64_t{std::to_underlying(message.cause)} << 48U);
}

void set_rest(const lnet::TappedMessage& message, std::uint64_t time_ns, RecordHeader& record) {
  const lnet::MessageHeader& header = message.header;
  put(record, 0, time_ns);
  for (std::size_t i = 0; i < lnet::kTypeAreaBytes / 8; ++i)
    put(record, 1 + i, load<std::uint64_t>(&header.type_area, 8 * i));
  put(record, 7, load<std::uint64_t>(&header.source, 8));
  put(record, 10, load<std::uint64_t>(&header.destination, 12));
  put(record, 12, load<std::uint64_t>(&message.hop, 8));
}

}  // namespace

static_assert(ShardTap::kContentBytes <= kRingSnapMax);

void ShardCapture::write_owner(const RecordHeader& header, const lnet::Nid& interface,
                               std::span<const std::byte> payload) {
  if (interface != known_interface_) {
    const auto number = ring_.add_interface(interface.is_any() ? lnet::Nid{} : interface);
    known_interface_ = interface;
    known_number_ = number.value_or(0);
  }
  (void)ring_.append(header, known_number_,
                     payload.first(std::min<std::size_t>(payload.size(), snap_bytes_)));
}

void ShardCapture::write_wait_owner(const RecordHeader& header, const WaitedNs* waited) {
  const auto bytes = waited == nullptr ? std::span<const std::byte>()
                                       : std::as_bytes(std::span<const WaitedNs, 1>(waited, 1));
  (void)ring_.append(header, known_number_, bytes);
}

ShardTap::ShardTap(const ArenaTable& arenas, const std::atomic<std::int64_t>& wall_offset_ns,
                   const std::vector<ShardCapture*>& captures)
    : arenas_(arenas), wall_offset_ns_(wall_offset_ns) {
  PLNET_CHECK(captures.size() <= kCapturesMax, "a shard has a limit of captures");
  for (ShardCapture* const each : captures) {
    PLNET_CHECK(each->snap_bytes() <= kRingSnapMax, "a ring takes what a capture keeps");
    const RecordFilter* const filter = each->filter();
    entries_[count_++] = {filter == nullptr ? nullptr : filter->machine_code(), filter, each};
    has_filter_ |= filter != nullptr;
    wants_states_ |= each->wants_states();
    const bool decodes = filter != nullptr && filter->needs_content();
    decodes_ |= decodes;
    brief_will_do_ &= filter != nullptr && filter->reads_brief_only() && !decodes;
    payload_bytes_ = std::max({payload_bytes_, each->snap_bytes(), decodes ? kContentBytes : 0U});
  }
}

// Without a copy if the needed bytes are in one piece. Memory outside all arenas has no address.
std::span<const std::byte> ShardTap::read(const lnet::Payload& payload) {
  const lnet::Payload wanted{payload.fragments, payload.offset,
                             std::min(payload.length, payload_bytes_)};
  std::span<const std::byte> first;
  std::size_t had = 0;
  bool readable = true;
  lnet::for_each_piece(wanted, [&](const Fragment& piece) {
    readable = readable && piece.at.arena < arenas_.count();
    if (!readable) return;
    const std::span<const std::byte> bytes = arenas_.bytes(piece);
    if (bytes.size() == wanted.length) {
      first = bytes;
      return;
    }
    std::memcpy(&gathered_[had], bytes.data(), bytes.size());
    had += bytes.size();
  });
  return had == 0 ? first : std::span<const std::byte>(gathered_).first(had);
}

void ShardTap::fill(const lnet::TappedMessage& message, std::span<const std::byte> payload) {
  fill_type_area(message.header.type, message.header.type_area, input_);
  if (!decodes_) return;
  const Record record{input_.record, payload};
  fill_content(decode(record), input_);
}

std::uint64_t ShardTap::wall_ns(Instant when) const {
  const auto since_start =
      std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch());
  return static_cast<std::uint64_t>(since_start.count() +
                                    wall_offset_ns_.load(std::memory_order_relaxed));
}

// The record is made within the filters' input; words that they do not read are added when a
// message matches.
void ShardTap::on_message(const lnet::TappedMessage& message) {
  const auto payload = payload_bytes_ == 0 ? std::span<const std::byte>() : read(message.payload);
  bool whole = !brief_will_do_;
  set_brief(message, payload.size(), input_.record);
  if (whole) set_rest(message, wall_ns(message.when), input_.record);
  if (has_filter_) fill(message, payload);
  for (const Entry& each : entries()) {
    if (!each.wants(input_)) continue;
    if (!std::exchange(whole, true)) set_rest(message, wall_ns(message.when), input_.record);
    each.capture->write_owner(input_.record, message.interface, payload);
  }
}

// A wait has no payload for filters.
void ShardTap::on_wait(const lnet::TappedWait& wait) {
  if (!wants_states_) return;
  const auto waited = static_cast<WaitedNs>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(wait.waited).count());
  RecordHeader& record = input_.record;
  record = {};
  set_header(wait.header, record);
  record.time_ns = wall_ns(wait.when);
  record.direction = wait.over ? Direction::kWaited : Direction::kWaits;
  record.cause = static_cast<std::uint8_t>(std::to_underlying(wait.wait));
  record.captured = wait.over ? sizeof waited : 0;
  if (has_filter_) {
    fill_type_area(wait.header.type, wait.header.type_area, input_);
    if (decodes_) fill_content(decode(Record{record, {}}), input_);
  }
  for (const Entry& each : entries()) {
    if (each.capture->wants_states() && each.wants(input_))
      each.capture->write_wait_owner(record, wait.over ? &waited : nullptr);
  }
}

void ShardTap::end_turn() {
  for (const Entry& each : entries())
    each.capture->publish_owner();
}

}  // namespace plnet::trace
