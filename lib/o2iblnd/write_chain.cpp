// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/write_chain.hpp"

#include <algorithm>
#include <utility>

#include "lib/lnet/api/payload_cursor.hpp"

namespace plnet::o2iblnd {

Result<std::size_t> make_writes(const lnet::Payload& source, std::uint32_t length,
                                const RemoteBuffer& sink, const WriteRules& rules,
                                std::span<WorkRequest> out) {
  PLNET_CHECK(rules.pieces_max > 0 && rules.pieces_max <= kGatherMax, "a write has source pieces");
  const std::size_t room = std::min<std::size_t>(rules.writes_max, out.size());
  lnet::PayloadCursor cursor(source, length);
  std::size_t used = 0;
  for (std::uint32_t i = 0; cursor.left() > 0; ++i) {
    if (i == sink.fragments.count()) return std::unexpected(Errc::kProtocol);
    FragmentWire to = sink.fragments.at(i);
    while (to.nob > 0 && cursor.left() > 0) {
      if (used == room) return std::unexpected(Errc::kTooBig);
      WorkRequest& write = out[used++];
      write.kind = WorkKind::kWrite;
      write.piece_count = 0;
      write.remote_address = to.address;
      write.remote_key = sink.key;
      write.cookie = rules.cookie;
      while (write.piece_count < rules.pieces_max && to.nob > 0 && cursor.left() > 0) {
        Fragment piece = cursor.piece();
        piece.length = std::min(piece.length, std::uint32_t{to.nob});
        write.pieces[write.piece_count++] = piece;
        cursor.advance(piece.length);
        to.nob -= piece.length;
        to.address += piece.length;
      }
    }
  }
  return used;
}

namespace {

// The largest range that is mapped for separate pieces in it.
constexpr std::uint64_t kHullBytesMax = std::uint64_t{1} << 20U;

// The range that one key has to cover: all pieces, if they are near each other.
Fragment hull_of(const lnet::PayloadCursor& begin) {
  lnet::PayloadCursor cursor = begin;
  const Fragment first = cursor.piece();
  std::uint64_t low = first.at.offset;
  std::uint64_t high = low;
  while (cursor.left() > 0) {
    const Fragment piece = cursor.piece();
    cursor.advance(piece.length);
    low = std::min(low, piece.at.offset);
    high = std::max(high, piece.at.offset + piece.length);
    if (piece.at.arena != first.at.arena || high - low > kHullBytesMax) return first;
  }
  return {{first.at.arena, low}, static_cast<std::uint32_t>(high - low)};
}

// Finds keys for the pieces of a window, and holds the mapping of one.
class Opener {
 public:
  explicit Opener(VerbsDriver& driver) : driver_(driver) {}
  ~Opener() { release(); }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

  // The address of the piece for the peer, under key().
  [[nodiscard]] Result<std::uint64_t> open(const Fragment& piece, const Fragment& hull) {
    if (!covers(piece)) {
      const Fragment& wanted = lies_in(piece, hull) ? hull : piece;
      const auto found = driver_.remote_key(wanted);
      if (!found) return std::unexpected(found.error());
      const bool other = any_ && found->key != of_.key;
      release();
      of_ = *found;
      opened_ = wanted;
      any_ = true;
      if (other) return std::unexpected(Errc::kNotSupported);
    }
    return of_.address + (piece.at.offset - opened_.at.offset);
  }
  [[nodiscard]] std::uint32_t key() const { return of_.key; }
  // The caller releases the mapping from now on.
  [[nodiscard]] std::uint32_t take() { return std::exchange(of_.mapping, kNoMapping); }

 private:
  static bool lies_in(const Fragment& piece, const Fragment& range) {
    return piece.at.arena == range.at.arena && piece.at.offset >= range.at.offset &&
           piece.at.offset + piece.length <= range.at.offset + range.length;
  }
  [[nodiscard]] bool covers(const Fragment& piece) const { return any_ && lies_in(piece, opened_); }
  void release() {
    if (of_.mapping != kNoMapping) driver_.release(std::exchange(of_.mapping, kNoMapping));
  }

  VerbsDriver& driver_;
  RemoteKey of_;
  Fragment opened_;
  bool any_ = false;
};

}  // namespace

Result<OpenBuffer> lay_open(const lnet::Payload& window, std::uint32_t length, VerbsDriver& driver,
                            std::uint32_t fragments_max, Kind kind, std::span<std::byte> out) {
  PLNET_CHECK(fragments_max <= kFragmentsMax, "no message has more fragments");
  lnet::PayloadCursor cursor(window, length);
  const Fragment hull = length > 0 ? hull_of(cursor) : Fragment{};
  Opener opener(driver);
  std::uint32_t count = 0;
  FragmentWire last;
  while (cursor.left() > 0) {
    const Fragment piece = cursor.piece();
    cursor.advance(piece.length);
    if (piece.at.arena == kNoArena) return std::unexpected(Errc::kNotSupported);
    const auto address = opener.open(piece, hull);
    if (!address) return std::unexpected(address.error());
    if (count > 0 && last.address + last.nob == *address) {
      last.nob += piece.length;
    } else {
      if (count == fragments_max) return std::unexpected(Errc::kTooBig);
      ++count;
      last = {piece.length, *address};
    }
    put_fragment(last, count - 1, kind, out);
  }
  const std::span<const std::byte> place = out.subspan(fragments_at(kind));
  return OpenBuffer{.buffer = {opener.key(), {place.first(count * sizeof(FragmentWire)), false}},
                    .mapping = opener.take()};
}

}  // namespace plnet::o2iblnd
