// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/decode/lnet_names.hpp"

#include <array>

#include "lib/lnet/move/statistics.hpp"

namespace plnet::trace {

namespace {

struct Portal {
  NamedNumber named;
  PortalUse use = PortalUse::kOther;
};

constexpr std::array kPortals = std::to_array<Portal>({
    {{0, "LNET_RESERVED"}, PortalUse::kLnet},
    {{1, "CONNMGR_REQUEST"}, PortalUse::kOther},  // obsolete
    {{2, "CONNMGR_REPLY"}, PortalUse::kOther},
    {{3, "OSC_REQUEST"}, PortalUse::kOther},
    {{4, "OSC_REPLY"}, PortalUse::kReply},
    {{5, "OSC_BULK"}, PortalUse::kOther},
    {{6, "OST_IO"}, PortalUse::kRequest},
    {{7, "OST_CREATE"}, PortalUse::kRequest},
    {{8, "OST_BULK"}, PortalUse::kBulk},
    {{9, "MDC_REQUEST"}, PortalUse::kOther},
    {{10, "MDC_REPLY"}, PortalUse::kReply},
    {{11, "MDC_BULK"}, PortalUse::kOther},
    {{12, "MDS_REQUEST"}, PortalUse::kRequest},
    {{13, "MDS_IO"}, PortalUse::kRequest},
    {{14, "MDS_BULK"}, PortalUse::kBulk},
    {{15, "LDLM_CB_REQUEST"}, PortalUse::kRequest},
    {{16, "LDLM_CB_REPLY"}, PortalUse::kReply},
    {{17, "LDLM_CANCEL_REQUEST"}, PortalUse::kRequest},
    {{18, "LDLM_CANCEL_REPLY"}, PortalUse::kReply},
    {{19, "PTLBD_REQUEST"}, PortalUse::kOther},
    {{20, "PTLBD_REPLY"}, PortalUse::kOther},
    {{21, "PTLBD_BULK"}, PortalUse::kOther},
    {{22, "MDS_SETATTR"}, PortalUse::kRequest},  // obsolete after 2.13
    {{23, "MDS_READPAGE"}, PortalUse::kRequest},
    {{24, "OUT"}, PortalUse::kRequest},
    {{25, "MGC_REPLY"}, PortalUse::kReply},
    {{26, "MGS_REQUEST"}, PortalUse::kRequest},
    {{27, "MGS_REPLY"}, PortalUse::kReply},
    {{28, "OST_REQUEST"}, PortalUse::kRequest},
    {{29, "FLD_REQUEST"}, PortalUse::kRequest},
    {{30, "SEQ_METADATA"}, PortalUse::kRequest},
    {{31, "SEQ_DATA"}, PortalUse::kRequest},
    {{32, "SEQ_CONTROLLER"}, PortalUse::kRequest},
    {{33, "MGS_BULK"}, PortalUse::kBulk},
    {{50, "SRPC_REQUEST"}, PortalUse::kSelftest},
    {{51, "SRPC_FRAMEWORK_REQUEST"}, PortalUse::kSelftest},
    {{52, "SRPC_RDMA"}, PortalUse::kSelftest},
    {{63, "DVS"}, PortalUse::kOther},
});

constexpr auto kPortalNames = [] {
  std::array<NamedNumber, kPortals.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = kPortals[i].named;
  return names;
}();

constexpr std::array kTypes =
    std::to_array<NamedNumber>({{0, "ACK"}, {1, "PUT"}, {2, "GET"}, {3, "REPLY"}, {4, "HELLO"}});
constexpr std::array kDirections =
    std::to_array<NamedNumber>({{0, "RECV"}, {1, "SEND"}, {2, "DROP"}, {3, "WAIT"}, {4, "GO"}});

constexpr auto kCauses = [] {
  std::array<NamedNumber, lnet::LnetCauses::kInfo.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = {i, lnet::LnetCauses::kInfo[i].name};
  return names;
}();
static_assert(kCauses.size() <= 256, "a record has a byte for it");

}  // namespace

PortalUse use_of(std::uint32_t portal) {
  const auto found = std::ranges::lower_bound(
      kPortals, portal, {}, [](const Portal& entry) { return entry.named.number; });
  return found != kPortals.end() && found->named.number == portal ? found->use : PortalUse::kOther;
}

NameTable portal_names() {
  return kPortalNames;
}

std::optional<std::uint32_t> parse_portal(std::string_view name) {
  constexpr std::string_view kSuffix = "_PORTAL";
  if (name.size() > kSuffix.size() &&
      same_word(name.substr(name.size() - kSuffix.size()), kSuffix)) {
    name.remove_suffix(kSuffix.size());
  }
  const auto number = number_in(kPortalNames, name);
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

NameTable message_type_names() {
  return kTypes;
}

NameTable direction_names() {
  return kDirections;
}

NameTable cause_names() {
  return kCauses;
}

std::string_view text_of_cause(std::uint8_t cause) {
  return cause < kCauses.size() ? lnet::LnetCauses::kInfo[cause].help : "unknown cause";
}

std::string_view name_of(Direction direction) {
  const std::string_view name = name_in(kDirections, static_cast<std::uint64_t>(direction));
  return name.empty() ? "?" : name;
}

}  // namespace plnet::trace
