// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/faults/fault_spec.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/number_list.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

namespace {

constexpr std::uint32_t kHavePortals =
    1U << static_cast<unsigned>(MessageType::kPut) | 1U << static_cast<unsigned>(MessageType::kGet);
// In the order of MessageType.
constexpr std::array<std::string_view, 4> kTypeNames{"ACK", "PUT", "GET", "REPLY"};
constexpr std::string_view kRandomHealth = "random";

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// The bits of the words of a list; `bit_of` maps a word to its bit.
template <class BitOf>
Outcome<std::uint32_t> parse_words(std::string_view text, std::string_view expected, BitOf bit_of) {
  std::uint32_t bits = 0;
  const TextPart whole(text);
  if (whole.trimmed().empty()) return bits;
  for (const TextPart& piece : whole.split(',')) {
    const std::optional<std::uint32_t> bit = bit_of(piece.trimmed().text());
    if (!bit) return piece.expected(expected);
    bits |= *bit;
  }
  return bits;
}

std::optional<std::uint32_t> type_bit(std::string_view word) {
  const auto* const found =
      std::ranges::find_if(kTypeNames, [word](auto name) { return same_word(word, name); });
  if (found == kTypeNames.end()) return std::nullopt;
  return 1U << (found - kTypeNames.begin());
}

std::optional<std::uint32_t> health_bit(std::string_view word) {
  if (same_word(word, kRandomHealth)) return kFaultHealthRandom;
  for (unsigned status = 1; status < kHealthCount; ++status) {
    if (same_word(word, name_of(static_cast<Health>(status)))) return 1U << status;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(FaultKind kind) {
  return kind == FaultKind::kDrop ? "drop" : "delay";
}

// lustre-release lnet/lnet/net_fault.c: lnet_drop_rule_add(), lnet_delay_rule_add(),
// lnet_fault_attr_validate(). Stricter than these: no bits without a meaning; an interval for
// `random`, by which the kernel would divide; and a local NID only in rules for messages that
// arrive, since the kernel's rule would never match others.
Outcome<FaultSpec> complete(FaultSpec spec) {
  const auto wrong = [](const char* what) { return failure(Errc::kInvalid, what); };
  if (spec.source == Nid{} || spec.destination == Nid{})
    return failure(Errc::kMissing, "a rule needs both source and dest");
  if ((spec.rate == 0) == (spec.interval_s == 0)) return wrong("a rate or an interval, not both");
  if ((spec.types & ~kFaultTypesAll) != 0) return wrong("a message type that there is not");
  if (spec.types == 0) spec.types = kFaultTypesAll;
  if (spec.portals != 0) spec.types &= kHavePortals;
  if (spec.types == 0) return wrong("only PUT and GET have a portal");
  const bool drops = spec.kind == FaultKind::kDrop;
  if (!drops && spec.latency_s == 0) return wrong("a delay needs a latency");
  if (drops && spec.latency_s != 0) return wrong("only a delay has a latency");
  if (!drops && (spec.health_errors != 0 || spec.random || spec.all)) {
    return wrong("a delay has no health error, random or drop_all");
  }
  const bool fails_sends = spec.health_errors != 0 && !spec.all;
  if (!spec.local.is_any() && (!drops || fails_sends))
    return wrong("only a drop of what arrives has a local NID");
  if (spec.random && spec.interval_s == 0) return wrong("random needs an interval");
  const bool known =
      spec.health_errors == kFaultHealthRandom || (spec.health_errors & ~kFaultHealthAll) == 0;
  if (!known) return wrong("a health error that there is not");
  return spec;
}

bool is_named(const FaultSpec& spec, FaultKind kind, const Nid& source, const Nid& destination) {
  return spec.kind == kind && (source.is_any() || spec.source == source) &&
         (destination.is_any() || spec.destination == destination);
}

Outcome<std::uint32_t> parse_fault_types(std::string_view text) {
  return parse_words(text, "PUT, ACK, GET or REPLY", type_bit);
}

Outcome<std::uint32_t> parse_fault_health(std::string_view text) {
  return parse_words(text,
                     "local_interrupt, local_dropped, local_aborted, local_no_route, local_error, "
                     "local_timeout, remote_error, remote_dropped, remote_timeout, "
                     "network_timeout or random",
                     health_bit);
}

Outcome<std::uint64_t> parse_fault_portals(std::string_view text) {
  if (TextPart(text).trimmed().empty()) return 0;
  const bool is_list = text.contains('[') || text == "*";
  const std::string list = is_list ? std::string(text) : fmt::format("[{}]", text);
  const auto portals = parse_number_list(TextPart(list), kPortalsMax - 1, "a portal");
  if (!portals) return std::unexpected(portals.error());
  std::uint64_t bits = 0;
  for (std::uint32_t portal = 0; portal < kPortalsMax; ++portal) {
    if (portals->contains(portal)) bits |= std::uint64_t{1} << portal;
  }
  return bits;
}

std::string text_of_fault_types(std::uint32_t types) {
  std::string text;
  if (types == kFaultTypesAll) return text;
  for (std::size_t type = 0; type < kTypeNames.size(); ++type) {
    if ((types >> type & 1) != 0) append_piece(text, ",", kTypeNames[type]);
  }
  return text;
}

std::string text_of_fault_health(std::uint32_t health_errors) {
  if (health_errors == kFaultHealthRandom) return std::string(kRandomHealth);
  std::string text;
  for (unsigned status = 1; status < kHealthCount; ++status) {
    if ((health_errors >> status & 1) != 0) {
      append_piece(text, ",", name_of(static_cast<Health>(status)));
    }
  }
  return text;
}

std::string text_of_fault_portals(std::uint64_t portals) {
  std::string text;
  for (std::uint32_t portal = 0; portal < kPortalsMax; ++portal) {
    if ((portals >> portal & 1) != 0) append_piece(text, ",", std::to_string(portal));
  }
  return text;
}

std::string text_of_fault_nid(const Nid& nid) {
  if (nid.is_any()) return "*";
  return is_any_on_net(nid) ? "*@" + text_of_net(nid.net()) : text_of(nid);
}

}  // namespace plnet::lnet
