// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/nid_range.hpp"

#include <algorithm>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

bool NidRange::matches(const Nid& nid) const {
  if (nid.is_any() || nid.net() != net) return false;
  const auto address = ip_of(nid);
  if (!address) return addresses.kind == AddressPattern::Kind::kAll;
  return addresses.matches(*address);
}

Outcome<NidRange> parse_nid_range(const TextPart& part) {
  const std::size_t at = part.find('@');
  if (at == std::string_view::npos) {
    return part.expected("\"@\" and a network after the addresses", part.size());
  }
  const auto net = parse_net(part.sub(at + 1));
  if (!net) return std::unexpected(net.error());
  const NetTypeInfo* info = find_net_type(type_of_net(*net));
  if (info == nullptr) {
    return part.expected("a network with a name: " + std::string(kNetTypeNames), at + 1);
  }
  auto addresses = parse_address_pattern(part.sub(0, at), info->addresses);
  if (!addresses) return std::unexpected(std::move(addresses.error()));
  return NidRange{.net = *net, .addresses = std::move(*addresses)};
}

std::vector<TextPart> split_ranges(const TextPart& whole) {
  std::vector<TextPart> parts;
  bool bracketed = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= whole.size(); ++i) {
    const char letter = i < whole.size() ? whole[i] : ',';
    const bool ends = i == whole.size() || (!bracketed && (letter == ',' || is_blank(letter)));
    if (letter == '[') bracketed = true;
    if (letter == ']') bracketed = false;
    if (!ends) continue;
    if (i > begin) parts.push_back(whole.sub(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

Outcome<NidRangeList> NidRangeList::parse(std::string_view text) {
  const TextPart whole(text);
  if (text.size() > kNamesTextMax) return whole.expected("at most 4096 letters", kNamesTextMax);
  const auto parts = split_ranges(whole);
  if (parts.empty()) return whole.expected("a NID range such as 10.0.0.[1-8]@tcp");
  NidRangeList list;
  for (const TextPart& part : parts) {
    if (list.ranges_.size() == kRangesMax) return part.error_at("more than 512 NID ranges");
    auto range = parse_nid_range(part);
    if (!range) return std::unexpected(std::move(range.error()));
    list.ranges_.push_back(std::move(*range));
  }
  return list;
}

bool NidRangeList::matches(const Nid& nid) const {
  return std::ranges::any_of(ranges_, [&nid](const auto& range) { return range.matches(nid); });
}

Outcome<std::vector<Nid>> NidRangeList::expand(std::size_t max) const {
  std::vector<Nid> nids;
  for (const NidRange& range : ranges_) {
    if (!expand_address_pattern(range.addresses, range.net, max, nids)) {
      std::string what = "the NID ranges name more than ";
      what += std::to_string(max) + " NIDs with \"" + text_of(range);
      return failure(Errc::kTooBig, what + "\", expected at most that many");
    }
  }
  return nids;
}

std::string NidRangeList::text() const {
  std::string text;
  for (const NidRange& range : ranges_)
    append_piece(text, " ", text_of(range));
  return text;
}

std::string text_of(const NidRange& range) {
  return text_of(range.addresses) + '@' + text_of_net(range.net);
}

}  // namespace plnet::lnet
