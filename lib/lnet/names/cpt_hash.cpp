// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/cpt_hash.hpp"

#include <bit>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::lnet {

namespace {

// The multipliers of Linux 4.7 and later (include/linux/hash.h).
constexpr std::uint64_t kGolden64 = 0x61C8864680B583EB;
constexpr std::uint32_t kGolden32 = 0x61C88647;

// Up to 8 x 255.
unsigned byte_sum(std::uint64_t value) {
  unsigned sum = 0;
  for (; value != 0; value >>= 8)
    sum += static_cast<unsigned>(value & 0xff);
  return sum;
}

// Since 2.15. The words of the address are taken as they lie in the memory of a little-endian host.
unsigned choose_large(const Nid& nid, unsigned bits, unsigned choices) {
  std::uint32_t hash = 0;
  for (std::size_t at = 0; at < nid.address_be.size(); at += 4) {
    const std::uint32_t word =
        std::uint32_t{nid.address_be[at]} | std::uint32_t{nid.address_be[at + 1]} << 8 |
        std::uint32_t{nid.address_be[at + 2]} << 16 | std::uint32_t{nid.address_be[at + 3]} << 24;
    hash = (word ^ hash) * kGolden32;
  }
  const std::uint32_t value = ((nid.net() ^ hash) * kGolden32) >> (32 - bits);
  if (value < choices) return value;
  return (hash + value + (value >> 1)) % choices;
}

}  // namespace

CptHash::CptHash(unsigned total_cpts, CptHashRelease release)
    : total_cpts_(total_cpts),
      bits_(static_cast<unsigned>(std::bit_width(total_cpts - 1))),
      release_(release) {
  PLNET_CHECK(total_cpts >= 1 && total_cpts <= kCptsMax, "LNet knows 1 to 256 CPTs");
}

unsigned CptHash::of(const Nid& nid, std::span<const std::uint16_t> allowed) const {
  PLNET_CHECK(!allowed.empty(), "no restriction is no list, not an empty one");
  return allowed[choose(nid, static_cast<unsigned>(allowed.size()))];
}

unsigned CptHash::choose(const Nid& nid, unsigned choices) const {
  PLNET_CHECK(choices >= 1 && choices <= total_cpts_, "a choice among the CPTs of the node");
  if (choices == 1) return 0;
  // Releases before 2.15 have no large NIDs; such a NID is placed as in 2.15.
  if (nid.is_large()) return choose_large(nid, bits_, choices);

  const std::uint64_t key = to_nid64(nid).value;
  const auto hashed = static_cast<unsigned>((key * kGolden64) >> (64 - bits_));
  const std::uint64_t folded = key + hashed + (hashed >> 1);
  switch (release_) {
    case CptHashRelease::kV212:
      return hashed < choices ? hashed : static_cast<std::uint32_t>(folded) % choices;
    case CptHashRelease::kV215: return byte_sum(key) % choices;
    case CptHashRelease::kV216:
      if (!nid.is_of(NetType::kKfi) && !nid.is_of(NetType::kGni)) return byte_sum(key) % choices;
      break;
    case CptHashRelease::kV217:
      if (!nid.is_of(NetType::kKfi)) return byte_sum(key) % choices;
      break;
  }
  return hashed < choices ? hashed : static_cast<unsigned>(folded % choices);
}

}  // namespace plnet::lnet
