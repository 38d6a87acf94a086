// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/udsp_range.hpp"

#include "lib/lnet/names/net_types.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

Outcome<UdspRange> UdspRange::parse(std::string_view text) {
  const TextPart whole(text);
  if (text.size() > kNamesTextMax) return whole.expected("at most 4096 letters", kNamesTextMax);
  const std::size_t at = whole.find('@');
  const TextPart net = at == std::string_view::npos ? whole : whole.sub(at + 1);
  const NetTypeInfo* info = find_net_type_by_prefix(net.text());
  if (info == nullptr) {
    return net.expected("a network such as tcp or o2ib[1-3]; types are " +
                        std::string(kNetTypeNames));
  }
  UdspRange range;
  range.type = info->type;
  const TextPart numbers = net.sub(info->name.size());
  if (!numbers.empty()) {
    if (info->type == NetType::kLoopback) {
      return numbers.error_at("the loopback network \"lo\" takes no number");
    }
    auto list = parse_number_list(numbers, UINT16_MAX, "a network number");
    if (!list) return std::unexpected(std::move(list.error()));
    range.numbers = std::move(*list);
  }
  if (at != std::string_view::npos) {
    auto addresses = parse_address_pattern(whole.sub(0, at), info->addresses);
    if (!addresses) return std::unexpected(std::move(addresses.error()));
    range.addresses = std::move(*addresses);
  }
  return range;
}

bool UdspRange::matches_net(NetId net) const {
  if (type_of_net(net) != static_cast<std::uint8_t>(type) || net == kNetAny) return false;
  const std::uint16_t number = number_of_net(net);
  return numbers.ranges.empty() ? number == 0 : numbers.contains(number);
}

bool UdspRange::matches(const Nid& nid) const {
  if (!addresses || nid.is_any() || !matches_net(nid.net())) return false;
  if (addresses->kind != AddressPattern::Kind::kPrefix) {
    return addresses->matches_number(nid.address32());
  }
  const auto address = ip_of(nid);
  return address && addresses->matches(*address);
}

std::string UdspRange::text() const {
  const NetTypeInfo* info = find_net_type(static_cast<std::uint8_t>(type));
  std::string net(info == nullptr ? "?" : info->name);
  if (!numbers.ranges.empty()) net += text_of(numbers);
  return addresses ? text_of(*addresses) + '@' + net : net;
}

}  // namespace plnet::lnet
