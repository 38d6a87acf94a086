// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/address_pattern.hpp"

#include <algorithm>
#include <optional>

#include "lib/base/check.hpp"
#include "lib/base/whole_number.hpp"

namespace plnet::lnet {

namespace {

unsigned bits_of(const IpAddress& address) {
  return address.size * 8U;
}

// "10.0.0.0/8", or IPv6 with or without a length.
Outcome<AddressPattern> parse_prefix(const TextPart& part, AddressStyle style) {
  if (style != AddressStyle::kIpv4 && style != AddressStyle::kIpv4Ipv6) {
    return part.expected("a number, *, or [RANGE,...]: addresses of this network are numbers");
  }
  const std::size_t slash = part.find('/');
  const auto base = parse_ip(part.text().substr(0, slash));
  const bool v6_allowed = style == AddressStyle::kIpv4Ipv6;
  if (!base || (base->is_v6() && !v6_allowed)) {
    return part.expected(v6_allowed ? "an IPv4 or IPv6 address" : "an IPv4 address");
  }
  AddressPattern pattern;
  pattern.kind = AddressPattern::Kind::kPrefix;
  pattern.base = *base;
  pattern.prefix_bits = bits_of(*base);
  if (slash == std::string_view::npos) return pattern;
  const std::string_view digits = part.text().substr(slash + 1);
  const auto prefix_bits = whole_number<decltype(pattern.prefix_bits)>(digits);
  if (!prefix_bits || *prefix_bits < 1 || *prefix_bits > bits_of(*base)) {
    return part.expected("a prefix length, 1 to " + std::to_string(bits_of(*base)), slash + 1);
  }
  pattern.prefix_bits = *prefix_bits;
  return pattern;
}

Outcome<AddressPattern> parse_octets(const TextPart& part) {
  AddressPattern pattern;
  pattern.kind = AddressPattern::Kind::kOctets;
  const auto octets = part.split('.');
  if (octets.size() != pattern.octets.size()) {
    return part.expected("four address parts between dots, each a number, * or [RANGE,...]");
  }
  for (std::size_t i = 0; i < octets.size(); ++i) {
    auto octet = parse_number_list(octets[i], 255, "an address part");
    if (!octet) return std::unexpected(std::move(octet.error()));
    pattern.octets[i] = std::move(*octet);
  }
  return pattern;
}

bool prefix_matches(const IpAddress& base, unsigned bits, const IpAddress& address) {
  if (base.size != address.size) return false;
  const std::size_t whole = bits / 8;
  if (!std::equal(base.bytes_be.begin(), base.bytes_be.begin() + static_cast<std::ptrdiff_t>(whole),
                  address.bytes_be.begin())) {
    return false;
  }
  const unsigned left = bits % 8;
  return left == 0 || (base.bytes_be[whole] ^ address.bytes_be[whole]) >> (8 - left) == 0;
}

// The number of addresses, or nothing if it is more than `max`.
std::optional<std::size_t> count_up_to(const AddressPattern& pattern, std::size_t max) {
  std::uint64_t count = 1;
  switch (pattern.kind) {
    case AddressPattern::Kind::kAll: return std::nullopt;
    case AddressPattern::Kind::kNumbers: count = pattern.numbers.count(); break;
    case AddressPattern::Kind::kPrefix: {
      const unsigned free_bits = bits_of(pattern.base) - pattern.prefix_bits;
      if (free_bits > 32) return std::nullopt;
      count = 1ULL << free_bits;
      break;
    }
    case AddressPattern::Kind::kOctets:
      for (const auto& octet :
           pattern.octets) {  // each at most 65536, so no overflow before the check
        count *= octet.count();
        if (count > max) return std::nullopt;
      }
      break;
  }
  if (count > max) return std::nullopt;
  return static_cast<std::size_t>(count);
}

template <class Visit>
void for_each_number(const NumberList& list, Visit visit) {
  for (const auto& range : list.ranges) {
    for (std::uint64_t value = range.low; value <= range.high; value += range.stride)
      visit(static_cast<std::uint32_t>(value));
  }
}

void expand_octets(const AddressPattern& pattern, std::size_t index, std::uint32_t address,
                   std::vector<std::uint32_t>& out) {
  for_each_number(pattern.octets[index], [&](std::uint32_t value) {
    const std::uint32_t longer = address << 8 | value;
    if (index + 1 == pattern.octets.size()) {
      out.push_back(longer);
    } else {
      expand_octets(pattern, index + 1, longer, out);
    }
  });
}

// The address `count` after the first of the prefix.
IpAddress nth_of_prefix(const AddressPattern& pattern, std::uint64_t count) {
  IpAddress address = pattern.base;
  for (unsigned bit = pattern.prefix_bits; bit < bits_of(address); ++bit) {
    const unsigned from_end = bits_of(address) - 1 - bit;
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    auto& byte = address.bytes_be[bit / 8];
    const bool set = from_end < 64 && (count >> from_end & 1) != 0;
    byte = static_cast<std::uint8_t>(set ? byte | mask : byte & ~mask);
  }
  return address;
}

}  // namespace

bool AddressPattern::matches(const IpAddress& address) const {
  switch (kind) {
    case Kind::kAll: return true;
    case Kind::kPrefix: return prefix_matches(base, prefix_bits, address);
    case Kind::kOctets:
    case Kind::kNumbers: break;
  }
  return !address.is_v6() && matches_number(address.v4_number());
}

bool AddressPattern::matches_number(std::uint32_t address) const {
  if (kind == Kind::kAll) return true;
  if (kind == Kind::kNumbers) return numbers.contains(address);
  if (kind == Kind::kPrefix) return prefix_matches(base, prefix_bits, IpAddress::v4(address));
  for (std::size_t i = 0; i < octets.size(); ++i) {
    if (!octets[i].contains(address >> (24 - 8 * i) & 0xff)) return false;
  }
  return true;
}

Outcome<AddressPattern> parse_address_pattern(const TextPart& part, AddressStyle style) {
  if (part.empty()) return part.expected("an address, or * for all");
  if (part.text() == "*") return AddressPattern{};
  // A slash within brackets is a stride, otherwise it begins a prefix length.
  const std::size_t slash = part.find('/');
  const bool prefix = slash != std::string_view::npos && part.find(']', slash) == part.text().npos;
  if (prefix || part.contains(':')) return parse_prefix(part, style);
  if (style == AddressStyle::kIpv4 || style == AddressStyle::kIpv4Ipv6) return parse_octets(part);
  const std::uint32_t max = style == AddressStyle::kNone ? 0 : UINT32_MAX;
  auto numbers = parse_number_list(part, max, "an address");
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  AddressPattern pattern;
  pattern.kind = AddressPattern::Kind::kNumbers;
  pattern.numbers = std::move(*numbers);
  return pattern;
}

std::string text_of(const AddressPattern& pattern) {
  switch (pattern.kind) {
    case AddressPattern::Kind::kAll: break;
    case AddressPattern::Kind::kNumbers: return text_of(pattern.numbers);
    case AddressPattern::Kind::kOctets: {
      std::string text;
      for (const auto& octet : pattern.octets)
        append_piece(text, ".", text_of(octet));
      return text;
    }
    case AddressPattern::Kind::kPrefix: {
      const std::string text = text_of(pattern.base);
      const bool whole = pattern.prefix_bits == bits_of(pattern.base);
      return whole ? text : text + '/' + std::to_string(pattern.prefix_bits);
    }
  }
  return "*";
}

bool expand_address_pattern(const AddressPattern& pattern, NetId net, std::size_t max,
                            std::vector<Nid>& out) {
  PLNET_CHECK(out.size() <= max, "the list was within its bound");
  const auto count = count_up_to(pattern, max - out.size());
  if (!count) return false;
  if (pattern.kind == AddressPattern::Kind::kPrefix) {
    for (std::size_t i = 0; i < *count; ++i)
      out.push_back(nid_of(net, nth_of_prefix(pattern, i)));
    return true;
  }
  std::vector<std::uint32_t> addresses;
  addresses.reserve(*count);
  if (pattern.kind == AddressPattern::Kind::kOctets) {
    expand_octets(pattern, 0, 0, addresses);
  } else {
    for_each_number(pattern.numbers, [&](std::uint32_t value) { addresses.push_back(value); });
  }
  for (const std::uint32_t address : addresses)
    out.push_back(nid_of(net, IpAddress::v4(address)));
  return true;
}

}  // namespace plnet::lnet
