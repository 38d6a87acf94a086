// SPDX-License-Identifier: BSD-3-Clause
// Lists of NID ranges: "10.0.0.[1-8/2]@tcp 192.168.0.0/16@o2ib1, [22-25]@gni".
// Checked against lustre-release lnet/lnet/nidstrings.c: cfs_parse_nidlist(), cfs_match_nid(),
// cfs_print_nidlist(); libcfs/libcfs/util/nidstrings.c: cfs_expand_nidlist().
//
// Departures from the kernel: it compares ranges of IPv4 parts with the first four bytes of an IPv6
// address, and never matches prefixes on gip and efa; here ranges match addresses of their own
// kind, on every network. Ranges are printed in the order written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_pattern.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

struct NidRange {
  NetId net = kNetAny;
  AddressPattern addresses;

  [[nodiscard]] bool matches(const Nid& nid) const;
  friend bool operator==(const NidRange&, const NidRange&) = default;
};

// The most NIDs that one operation of lnetctl may name.
inline constexpr std::size_t kNidsPerOperationMax = 128;

class NidRangeList {
 public:
  static constexpr std::size_t kRangesMax = 512;  // about as many as fit into kNamesTextMax

  // Ranges are separated by blanks, or by commas outside brackets. At least one.
  [[nodiscard]] static Outcome<NidRangeList> parse(std::string_view text);

  [[nodiscard]] bool matches(const Nid& nid) const;
  // Every NID, the rightmost part of the address counting fastest. An error if there are more than
  // `max`, as always for "*".
  [[nodiscard]] Outcome<std::vector<Nid>> expand(std::size_t max = kNidsPerOperationMax) const;
  [[nodiscard]] std::string text() const;  // ranges in LNet's notation, separated by spaces

  [[nodiscard]] const std::vector<NidRange>& ranges() const { return ranges_; }
  friend bool operator==(const NidRangeList&, const NidRangeList&) = default;

 private:
  std::vector<NidRange> ranges_;
};

[[nodiscard]] Outcome<NidRange> parse_nid_range(const TextPart& part);
[[nodiscard]] std::string text_of(const NidRange& range);

// Splits at blanks and commas that are not within brackets; pieces are never empty.
[[nodiscard]] std::vector<TextPart> split_ranges(const TextPart& whole);

}  // namespace plnet::lnet
