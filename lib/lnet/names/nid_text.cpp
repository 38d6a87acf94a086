// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/nid_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "lib/base/whole_number.hpp"
#include "lib/lnet/names/address_text.hpp"
#include "lib/lnet/names/net_types.hpp"

namespace plnet::lnet {

namespace {

constexpr std::string_view kAnyText = "<?>";
constexpr std::string_view kPidAnyText = "LNET_PID_ANY";
constexpr std::size_t kWordsMax = 4;  // 32-bit words of the longest address

// "<77:3>"
Outcome<NetId> parse_unnamed_net(const TextPart& part) {
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos || !part.text().ends_with('>')) {
    return part.expected("\"<TYPE:NUMBER>\"");
  }
  const auto type = whole_number<std::uint8_t>(part.text().substr(1, colon - 1));
  if (!type || *type == Nid::kAnyType) {
    return part.expected("the number of a network type, 0 to 254", 1);
  }
  const auto number =
      whole_number<std::uint16_t>(part.text().substr(colon + 1, part.size() - colon - 2));
  if (!number) return part.expected("a network number, 0 to 65535", colon + 1);
  return make_net(*type, *number);
}

Outcome<Nid> parse_ip_nid(NetId net, const NetTypeInfo& info, const TextPart& part) {
  const auto address = parse_ip(part.text());
  const bool v6_allowed = info.addresses == AddressStyle::kIpv4Ipv6;
  if (address && (v6_allowed || !address->is_v6())) return nid_of(net, *address);
  return part.expected(std::string(v6_allowed ? "an IPv4 or IPv6 address" : "an IPv4 address") +
                       " before \"@" + std::string(info.name) + '"');
}

Outcome<Nid> parse_numeric_nid(NetId net, const NetTypeInfo& info, const TextPart& part) {
  const std::string_view text = part.text();
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const auto number = whole_number<std::uint32_t>(hex ? text.substr(2) : text, hex ? 16 : 10);
  if (!number) {
    return part.expected("a number up to 4294967295, decimal or 0x..., before \"@" +
                         std::string(info.name) + '"');
  }
  return Nid::of(info.type, number_of_net(net), *number);
}

// "20010db8:0:0:14": hexadecimal words.
Outcome<Nid> parse_hex_nid(NetId net, const TextPart& part) {
  const auto words = part.split(':');
  if (words.size() > kWordsMax) return part.expected("at most four hexadecimal words");
  Nid nid = Nid::of(type_of_net(net), number_of_net(net), 0);
  nid.size = static_cast<std::uint8_t>(4 * (words.size() - 1));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = whole_number<std::uint32_t>(words[i].text(), 16);
    if (!word) return words[i].expected("a hexadecimal number of at most 32 bits");
    for (std::size_t byte = 0; byte < 4; ++byte) {
      nid.address_be[4 * i + byte] = static_cast<std::uint8_t>(*word >> (24 - 8 * byte));
    }
  }
  return nid;
}

Outcome<Nid> parse_nid_or_any(const TextPart& part) {
  if (part.text() == "*" || part.text() == kAnyText) return Nid::any();
  if (!part.text().starts_with("*@")) return parse_nid(part);
  const auto net = parse_net(part.sub(2));
  if (!net) return std::unexpected(net.error());
  return Nid::of(type_of_net(*net), number_of_net(*net), UINT32_MAX);
}

Outcome<std::uint32_t> parse_pid(const TextPart& part) {
  const bool user = part.text().starts_with('U');
  const auto pid = whole_number<std::uint32_t>(part.text().substr(user ? 1 : 0));
  // One less than the bits allow: with the flag, the last value would be the wildcard.
  if (!pid || *pid >= (kPidAny & ~kPidUserFlag)) {
    return part.expected("a process id up to 2147483646, after a U if it is a userspace one");
  }
  return user ? *pid | kPidUserFlag : *pid;
}

Outcome<ProcessId> parse_process(const TextPart& part, bool any_allowed) {
  ProcessId id;
  std::size_t nid_at = 0;
  const std::size_t dash = part.find('-');
  if (dash != std::string_view::npos) {
    nid_at = dash + 1;
    const TextPart pid_part = part.sub(0, dash);
    if (any_allowed && pid_part.text() == kPidAnyText) {
      id.pid = kPidAny;
    } else {
      const auto pid = parse_pid(pid_part);
      if (!pid) return std::unexpected(pid.error());
      id.pid = *pid;
    }
  }
  const TextPart nid_part = part.sub(nid_at);
  auto nid = any_allowed ? parse_nid_or_any(nid_part) : parse_nid(nid_part);
  if (!nid) return std::unexpected(std::move(nid.error()));
  id.nid = *nid;
  return id;
}

std::string hex_address(const Nid& nid) {
  std::string text;
  const std::size_t words = std::min<std::size_t>((nid.size + 7U) / 4U, kWordsMax);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    for (std::size_t byte = 0; byte < 4; ++byte)
      word = word << 8 | nid.address_be[4 * i + byte];
    std::array<char, 8> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
    if (i > 0) text += ':';
    text.append(digits.data(), end);
  }
  return text;
}

// Nothing if a NID of this type cannot have this form; it is then printed raw.
std::optional<std::string> named_address(const NetTypeInfo& info, const Nid& nid) {
  if (info.addresses == AddressStyle::kNone && !nid.is_loopback()) return std::nullopt;
  const auto address = ip_of(nid);
  if (!address) return std::nullopt;
  if (info.addresses == AddressStyle::kIpv4Ipv6) return text_of(*address);
  if (address->is_v6()) return std::nullopt;
  if (info.addresses == AddressStyle::kIpv4) return text_of(*address);
  return std::to_string(nid.address32());
}

}  // namespace

Outcome<NetId> parse_net(const TextPart& part) {
  if (part.text().starts_with('<')) return parse_unnamed_net(part);
  const NetTypeInfo* info = find_net_type_by_prefix(part.text());
  if (info == nullptr) {
    return part.expected("a network such as tcp or o2ib1; types are " + std::string(kNetTypeNames));
  }
  const TextPart digits = part.sub(info->name.size());
  if (digits.empty()) return make_net(info->type);
  if (info->type == NetType::kLoopback) {
    return digits.error_at("the loopback network \"lo\" takes no number");
  }
  const auto number = whole_number<std::uint16_t>(digits.text());
  if (!number) {
    return digits.expected("a network number, 0 to 65535, or nothing after \"" +
                           std::string(info->name) + '"');
  }
  return make_net(info->type, *number);
}

Outcome<Nid> parse_nid(const TextPart& part) {
  if (part.size() > kNidTextMax) return part.expected("a NID of at most 64 letters");
  const std::size_t at = part.find('@');
  NetId net = make_net(NetType::kTcp);
  if (at != std::string_view::npos) {
    const auto parsed = parse_net(part.sub(at + 1));
    if (!parsed) return std::unexpected(parsed.error());
    net = *parsed;
  }
  const TextPart address = part.sub(0, at);
  if (at != std::string_view::npos && part[at + 1] == '<') return parse_hex_nid(net, address);
  const NetTypeInfo& info = *find_net_type(type_of_net(net));
  switch (info.addresses) {
    case AddressStyle::kNone: return Nid::of(info.type, 0, 0);
    case AddressStyle::kNumber: return parse_numeric_nid(net, info, address);
    case AddressStyle::kIpv4:
    case AddressStyle::kIpv4Ipv6: break;
  }
  return parse_ip_nid(net, info, address);
}

Outcome<NetId> parse_net(std::string_view text) {
  return parse_net(TextPart(text));
}
Outcome<Nid> parse_nid(std::string_view text) {
  return parse_nid(TextPart(text));
}
Outcome<Nid> parse_nid_or_any(std::string_view text) {
  return parse_nid_or_any(TextPart(text));
}
Outcome<ProcessId> parse_process_id(std::string_view text) {
  return parse_process(TextPart(text), false);
}
Outcome<ProcessId> parse_process_id_or_any(std::string_view text) {
  return parse_process(TextPart(text), true);
}

bool is_any_on_net(const Nid& nid) {
  return !nid.is_any() && nid.size == 0 && nid.address32() == UINT32_MAX;
}

std::string text_of_net(NetId net) {
  const NetTypeInfo* info = find_net_type(type_of_net(net));
  const std::string number = std::to_string(number_of_net(net));
  const bool lo_with_number = net != make_net(NetType::kLoopback) &&
                              type_of_net(net) == static_cast<std::uint8_t>(NetType::kLoopback);
  if (info == nullptr || lo_with_number)
    return '<' + std::to_string(type_of_net(net)) + ':' + number + '>';
  std::string text(info->name);
  if (number_of_net(net) != 0) text += number;
  return text;
}

std::string text_of(const Nid& nid) {
  if (nid.is_any()) return std::string(kAnyText);
  const NetTypeInfo* info = find_net_type(nid.type);
  if (info != nullptr) {
    const auto address = named_address(*info, nid);
    if (address) return *address + '@' + text_of_net(nid.net());
  }
  return hex_address(nid) + "@<" + std::to_string(nid.type) + ':' + std::to_string(nid.number()) +
         '>';
}

std::string text_of(const ProcessId& id) {
  if (id.pid == kPidAny) return std::string(kPidAnyText) + '-' + text_of(id.nid);
  std::string text = (id.pid & kPidUserFlag) != 0 ? "U" : "";
  text += std::to_string(id.pid & ~kPidUserFlag);
  text += '-';
  return text + text_of(id.nid);
}

}  // namespace plnet::lnet
