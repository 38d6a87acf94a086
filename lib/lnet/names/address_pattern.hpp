// SPDX-License-Identifier: BSD-3-Clause
// Patterns of addresses: the left side of a NID range and the patterns of ip2nets. Checked against
// lustre-release lnet/lnet/nidstrings.c: parse_addrange(), parse_nidmask(), cfs_ip_addr_match(),
// libcfs_ip_in_netmask().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_text.hpp"
#include "lib/lnet/names/net_types.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/number_list.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

struct AddressPattern {
  enum class Kind : std::uint8_t {
    kAll,      // "*"
    kOctets,   // "10.0.[0-3].*"
    kNumbers,  // "[22-25]"
    kPrefix,   // "10.0.0.0/8", "2001:db8::/32", "2001:db8::1"
  };

  Kind kind = Kind::kAll;
  std::array<NumberList, 4> octets;
  NumberList numbers;
  IpAddress base;  // as written: bits beyond the prefix may be set
  unsigned prefix_bits = 0;

  [[nodiscard]] bool matches(const IpAddress& address) const;
  // Compares the octets or numbers with an address of four bytes of any kind.
  [[nodiscard]] bool matches_number(std::uint32_t address) const;

  friend bool operator==(const AddressPattern&, const AddressPattern&) = default;
};

// A pattern for the addresses of networks of this style.
[[nodiscard]] Outcome<AddressPattern> parse_address_pattern(const TextPart& part,
                                                            AddressStyle style);
[[nodiscard]] std::string text_of(const AddressPattern& pattern);

// Appends the addresses of the pattern to `out` as NIDs on `net`, the rightmost part counting
// fastest, as lnetctl does. False, with nothing appended, if `out` would grow beyond `max`.
[[nodiscard]] bool expand_address_pattern(const AddressPattern& pattern, NetId net, std::size_t max,
                                          std::vector<Nid>& out);

}  // namespace plnet::lnet
