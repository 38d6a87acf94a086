// SPDX-License-Identifier: BSD-3-Clause
// The content of one write(): NOOPs and messages in their order, of which an earlier write may have
// sent a part of the first. Headers and small payloads lie side by side in a buffer, so that the
// system gets one piece for many messages; a piece costs more than the copy. Nothing stays here
// between writes: bytes that TCP did not take are gathered again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/api/payload_cursor.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

class Outgoing {
 public:
  struct Item {
    std::uint64_t bytes = 0;  // of the whole item
    bool noop = false;
    bool spoilt = false;
    std::uint32_t checksum = 0;
  };
  // Checksums are a part of V2, and optional.
  struct Sealing {
    bool wanted = false;
    // The checksum of the first item, if a part of it was sent: it keeps the one that was sent.
    std::uint32_t begun = 0;
    bool spoil = false;  // the first item gets a wrong checksum, unless a part of it was sent
  };

  // Small messages in one system call: with so many its price is negligible.
  static constexpr std::size_t kItemsMax = 256;
  static constexpr std::size_t kPiecesMax = 128;
  // Payloads up to this size are copied: those of a control connection, min_bulk being what it is.
  static constexpr std::uint32_t kCopiedPayloadMax = 1024;

  // Payloads up to `copied_max` are copied, at most kCopiedPayloadMax.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): buffer_
  explicit Outgoing(std::uint32_t copied_max = kCopiedPayloadMax) : copied_max_(copied_max) {
    PLNET_CHECK(copied_max <= kCopiedPayloadMax, "the buffer has room for no more");
  }

  // The first `skip` bytes of the first item were sent before.
  void begin(std::size_t skip, const Sealing& sealing);
  void begin(std::size_t skip) { begin(skip, {}); }
  [[nodiscard]] bool full() const;
  void add_noop(std::uint64_t cookie);
  // False: a part found no place, and nothing may follow.
  [[nodiscard]] bool add(const lnet::Transmit& transmit, Protocol protocol,
                         const ArenaTable& arenas);

  // The first item, with so much of its payload: the rest goes from socket to socket. No checksum.
  void begin_with(const lnet::Transmit& transmit, Protocol protocol, std::uint32_t payload_bytes,
                  const ArenaTable& arenas);

  [[nodiscard]] std::span<const std::span<const std::byte>> pieces() const {
    return std::span(pieces_).first(piece_count_);
  }
  [[nodiscard]] std::span<const Item> items() const { return std::span(items_).first(item_count_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kHeadMax = kFrameBytes + lnet::kHeaderNid16Bytes;
  static constexpr std::size_t kBufferBytes = std::size_t{32} * 1024;
  static_assert(kBufferBytes >= kHeadMax + kCopiedPayloadMax);

  [[nodiscard]] std::size_t lay_head(const lnet::Transmit& transmit, Protocol protocol);
  void add_piece(std::span<const std::byte> piece);
  void add_pieces(lnet::PayloadCursor& cursor, const ArenaTable& arenas);
  // Sets the checksum of the item added last, which begins with this frame; `sum` computes it.
  template <class Sum>
  void seal(std::span<std::byte, kFrameBytes> frame, Sum&& sum);
  [[nodiscard]] std::span<std::byte> room() { return std::span(buffer_).subspan(used_); }

  const std::uint32_t copied_max_;
  std::array<std::span<const std::byte>, kPiecesMax> pieces_{};
  std::array<Item, kItemsMax> items_{};
  std::size_t piece_count_ = 0;
  std::size_t item_count_ = 0;
  std::size_t bytes_ = 0;
  std::size_t skip_ = 0;  // bytes of the next item that were sent before
  std::size_t used_ = 0;
  Sealing sealing_;
  // Not initialised: pages that are never written cost nothing.
  std::array<std::byte, kBufferBytes> buffer_;
};

}  // namespace plnet::socklnd
