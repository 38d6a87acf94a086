// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/write_chain.hpp"

#include <algorithm>

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

Result<RemoteBuffer> lay_open(const lnet::Payload& window, std::uint32_t length,
                              const VerbsDriver& driver, std::uint32_t fragments_max, Kind kind,
                              std::span<std::byte> out) {
  PLNET_CHECK(fragments_max <= kFragmentsMax, "no message has more fragments");
  RemoteBuffer buffer;
  std::uint32_t count = 0;
  FragmentWire last;
  const std::span<std::byte> place = out.subspan(fragments_at(kind));
  for (lnet::PayloadCursor cursor(window, length); cursor.left() > 0;) {
    const Fragment piece = cursor.piece();
    cursor.advance(piece.length);
    if (piece.at.arena == kNoArena) return std::unexpected(Errc::kNotSupported);
    const RemoteKey key = driver.remote_key(piece);
    if (count > 0 && key.key != buffer.key) return std::unexpected(Errc::kNotSupported);
    if (count > 0 && last.address + last.nob == key.address) {
      last.nob += piece.length;
    } else {
      if (count == fragments_max) return std::unexpected(Errc::kTooBig);
      ++count;
      last = {piece.length, key.address};
    }
    buffer.key = key.key;
    put_fragment(last, count - 1, kind, out);
  }
  buffer.fragments = {place.first(count * sizeof(FragmentWire)), false};
  return buffer;
}

}  // namespace plnet::o2iblnd
