// SPDX-License-Identifier: BSD-3-Clause
// The range of a rule of path selection (UDSP): "tcp", "o2ib[1-3]", "10.0.0.[1-4]@tcp*". Unlike in
// a NID range the network number may be a set, and the address may be left out. Checked against
// lustre-release libcfs/libcfs/util/nidstrings.c: cfs_parse_nid_parts(), lnet/lnet/nidstrings.c:
// cfs_match_net(), cfs_match_nid_net().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_pattern.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/number_list.hpp"

namespace plnet::lnet {

struct UdspRange {
  NetType type = NetType::kTcp;
  NumberList numbers;                       // empty: network number 0 only
  std::optional<AddressPattern> addresses;  // absent: the rule is about whole networks

  [[nodiscard]] static Outcome<UdspRange> parse(std::string_view text);

  [[nodiscard]] bool is_net_only() const { return !addresses.has_value(); }
  [[nodiscard]] bool matches_net(NetId net) const;
  // False for a rule about whole networks. Sets of parts and numbers are compared with the first
  // four bytes of any address, even of a large one, as in the kernel; prefixes with all of it.
  [[nodiscard]] bool matches(const Nid& nid) const;
  [[nodiscard]] std::string text() const;

  friend bool operator==(const UdspRange&, const UdspRange&) = default;
};

}  // namespace plnet::lnet
