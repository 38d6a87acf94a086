// SPDX-License-Identifier: BSD-3-Clause
// The CPT of a NID, computed as in the releases of Lustre, so that a kernel node's placement can be
// repeated here. Nothing on the wire depends on it. The value is computed when a peer is made, and
// stored. Checked against lustre-release lnet/lnet/api-ni.c: lnet_nid_cpt_hash(),
// lnet_nid4_cpt_hash() at v2_12_9, v2_14_0, v2_15_8, v2_16_1 and v2_17_0.
#pragma once

#include <cstdint>
#include <span>

#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

// The rule of a release for a 64-bit NID.
enum class CptHashRelease : std::uint8_t {
  kV212,  // multiplicative hash for every NID
  kV213 = kV212,
  kV214 = kV212,
  kV215,  // sum of the bytes
  kV216,  // multiplicative hash for kKfi and kGni, sum of the bytes for the others
  kV217,  // multiplicative hash for kKfi, sum of the bytes for the others
};

inline constexpr unsigned kCptsMax = 256;  // LNet's own bound

class CptHash {
 public:
  // `total_cpts`: all CPTs of the node, 1 to kCptsMax.
  explicit CptHash(unsigned total_cpts, CptHashRelease release = CptHashRelease::kV217);

  // The CPT among all.
  [[nodiscard]] unsigned of(const Nid& nid) const { return choose(nid, total_cpts_); }
  // The CPT among those that an NI or a network is restricted to; the list is not empty.
  [[nodiscard]] unsigned of(const Nid& nid, std::span<const std::uint16_t> allowed) const;
  // The index into a list of `choices` CPTs, 1 to total_cpts.
  [[nodiscard]] unsigned choose(const Nid& nid, unsigned choices) const;

  [[nodiscard]] unsigned total_cpts() const { return total_cpts_; }

 private:
  unsigned total_cpts_;
  unsigned bits_;  // the least with 2^bits >= total_cpts, even for fewer choices
  CptHashRelease release_;
};

}  // namespace plnet::lnet
