// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/outgoing.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/socklnd/checksum.hpp"

namespace plnet::socklnd {
namespace {

// The checksum of bytes in one place and of the payload behind them.
std::uint32_t checksum_of(std::span<const std::byte> laid, lnet::PayloadCursor rest,
                          const ArenaTable& arenas) {
  std::uint32_t checksum = add_to_checksum(kChecksumStart, laid);
  for (; rest.left() > 0; rest.advance(rest.piece().length))
    checksum = add_to_checksum(checksum, arenas.bytes(rest.piece()));
  return checksum;
}

}  // namespace

void Outgoing::begin(std::size_t skip, const Sealing& sealing) {
  piece_count_ = item_count_ = bytes_ = used_ = 0;
  skip_ = skip;
  sealing_ = sealing;
}

// A message needs a piece for its header and one for its payload at least, or room for both.
bool Outgoing::full() const {
  return item_count_ == kItemsMax || piece_count_ + 2 > kPiecesMax ||
         kBufferBytes - used_ < kHeadMax + kCopiedPayloadMax;
}

// Joins the previous piece if both lie side by side in the buffer.
void Outgoing::add_piece(std::span<const std::byte> piece) {
  if (piece.empty()) return;
  bytes_ += piece.size();
  if (piece_count_ > 0) {
    std::span<const std::byte>& last = pieces_[piece_count_ - 1];
    if (piece.data() >= buffer_.data() && piece.data() < buffer_.data() + kBufferBytes &&
        last.data() + last.size() == piece.data()) {
      last = {last.data(), last.size() + piece.size()};
      return;
    }
  }
  PLNET_CHECK(piece_count_ < kPiecesMax, "full() has looked for room");
  pieces_[piece_count_++] = piece;
}

// lustre-release socklnd_lib.c: ksocknal_lib_send_hdr(), ksocknal_lib_csum_tx().
template <class Sum>
void Outgoing::seal(std::span<std::byte, kFrameBytes> frame, Sum&& sum) {
  Item& item = items_[item_count_ - 1];
  if (skip_ > 0) {
    item.checksum = sealing_.begun;
  } else if (sealing_.wanted) {
    item.spoilt = sealing_.spoil && item_count_ == 1;
    item.checksum = sum() + (item.spoilt ? 1U : 0U);
  }
  set_frame_checksum(item.checksum, frame);
}

void Outgoing::add_noop(std::uint64_t cookie) {
  PLNET_DEBUG_CHECK(!full(), "the caller has looked for room");
  const auto frame = room().first<kFrameBytes>();
  encode_frame({.type = kFrameNoop, .cookies = {0, cookie}}, frame);
  used_ += kFrameBytes;
  items_[item_count_++] = {.bytes = kFrameBytes, .noop = true};
  seal(frame, [&] { return add_to_checksum(kChecksumStart, frame); });
  add_piece(frame.subspan(std::exchange(skip_, 0)));
}

// Frame and header of a new item, in the buffer from `used_` on. Returns their size.
std::size_t Outgoing::lay_head(const lnet::Transmit& transmit, Protocol protocol) {
  PLNET_DEBUG_CHECK(!full(), "the caller has looked for room");
  PLNET_CHECK(transmit.header.payload_length <= transmit.source.length,
              "the payload of a message is in its source");
  const std::span<std::byte> out = room();
  encode_frame({.type = kFrameLnet}, out.first<kFrameBytes>());
  if (protocol == Protocol::kV4) {
    encode_header_nid16(transmit.header, out.subspan<kFrameBytes, lnet::kHeaderNid16Bytes>());
  } else {
    encode_header_nid4_truncating(transmit.header,
                                  out.subspan<kFrameBytes, lnet::kHeaderNid4Bytes>());
  }
  const std::size_t laid = kFrameBytes + lnet_header_bytes(protocol);
  items_[item_count_++] = {.bytes = laid + transmit.header.payload_length, .noop = false};
  return laid;
}

void Outgoing::begin_with(const lnet::Transmit& transmit, Protocol protocol,
                          std::uint32_t payload_bytes, const ArenaTable& arenas) {
  begin(0);
  const std::size_t laid = lay_head(transmit, protocol);
  add_piece(room().first(laid));
  used_ += laid;
  lnet::PayloadCursor cursor(transmit.source, payload_bytes);
  add_pieces(cursor, arenas);
  PLNET_CHECK(cursor.left() == 0, "a router's buffer is of few pieces");
}

void Outgoing::add_pieces(lnet::PayloadCursor& cursor, const ArenaTable& arenas) {
  while (cursor.left() > 0 && piece_count_ < kPiecesMax) {
    add_piece(arenas.bytes(cursor.piece()));
    cursor.advance(cursor.piece().length);
  }
}

bool Outgoing::add(const lnet::Transmit& transmit, Protocol protocol, const ArenaTable& arenas) {
  const std::span<std::byte> out = room();
  std::size_t laid = lay_head(transmit, protocol);
  const std::uint32_t length = transmit.header.payload_length;
  lnet::PayloadCursor cursor(transmit.source, length);
  if (length <= copied_max_) {
    while (cursor.left() > 0) {
      const std::span<const std::byte> from = arenas.bytes(cursor.piece());
      std::memcpy(out.data() + laid, from.data(), from.size());
      laid += from.size();
      cursor.advance(static_cast<std::uint32_t>(from.size()));
    }
  }
  seal(out.first<kFrameBytes>(), [&] { return checksum_of(out.first(laid), cursor, arenas); });
  used_ += laid;
  const std::size_t skip = std::exchange(skip_, 0);
  add_piece(out.first(laid).subspan(std::min(skip, laid)));
  if (skip > laid) cursor.advance(static_cast<std::uint32_t>(skip - laid));
  add_pieces(cursor, arenas);
  return cursor.left() == 0;
}

}  // namespace plnet::socklnd
