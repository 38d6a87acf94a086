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

}  // namespace

static_assert(ShardTap::kContentBytes <= kRingSnapMax);

void ShardCapture::write_owner(RecordHeader& header, const lnet::Nid& interface,
                               std::span<const std::byte> payload) {
  if (interface != known_interface_) {
    const auto number = ring_.add_interface(interface);
    known_interface_ = interface;
    known_number_ = number.value_or(0);
  }
  header.interface = known_number_;
  (void)ring_.write(header, payload.first(std::min<std::size_t>(payload.size(), snap_bytes_)));
}

ShardTap::ShardTap(const ArenaTable& arenas, const std::atomic<std::int64_t>& wall_offset_ns,
                   std::vector<ShardCapture*> captures)
    : arenas_(arenas), wall_offset_ns_(wall_offset_ns), captures_(std::move(captures)) {
  for (const ShardCapture* const each : captures_) {
    PLNET_CHECK(each->snap_bytes() <= kRingSnapMax, "a ring takes what a capture keeps");
    const RecordFilter* const filter = each->filter();
    has_filter_ |= filter != nullptr;
    const bool decodes = filter != nullptr && filter->needs_content();
    decodes_ |= decodes;
    payload_bytes_ = std::max({payload_bytes_, each->snap_bytes(), decodes ? kContentBytes : 0U});
  }
}

// Without a copy if what is wanted lies in one piece. Memory in no arena cannot be named.
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

void ShardTap::fill(std::span<const std::byte> payload) {
  fill_type_area(input_);
  if (!decodes_) return;
  const Record record{input_.record, payload};
  fill_content(decode(record), input_);
}

// The record is made where filters look at it.
void ShardTap::saw(const lnet::TappedMessage& message) {
  RecordHeader& header = input_.record;
  const auto since_start =
      std::chrono::duration_cast<std::chrono::nanoseconds>(message.when.time_since_epoch());
  header.time_ns = static_cast<std::uint64_t>(since_start.count() +
                                              wall_offset_ns_.load(std::memory_order_relaxed));
  set_header(message.header, header);
  header.hop = message.hop;
  header.direction = direction_of(message.way);
  header.cause = static_cast<std::uint8_t>(message.cause);
  const auto payload = payload_bytes_ == 0 ? std::span<const std::byte>() : read(message.payload);
  header.captured = static_cast<std::uint32_t>(payload.size());
  if (has_filter_) fill(payload);
  const lnet::Nid interface = message.interface.is_any() ? lnet::Nid{} : message.interface;
  for (ShardCapture* const each : captures_) {
    const RecordFilter* const filter = each->filter();
    if (filter != nullptr && !filter->matches(input_)) continue;
    each->write_owner(header, interface, payload);
  }
}

}  // namespace plnet::trace
