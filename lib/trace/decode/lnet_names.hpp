// SPDX-License-Identifier: BSD-3-Clause
// Words for the fields of an LNet message: portals, types, directions, networks.
// Checked against lustre-release v2_17_0 lustre/include/uapi/linux/lustre/lustre_idl.h
// (*_PORTAL), lnet/include/uapi/linux/lnet/lnetst.h and lnet/selftest/rpc.h (SRPC_*_PORTAL).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/trace/decode/named_number.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::trace {

namespace portal {

inline constexpr std::uint32_t kReserved = 0;  // LNet's own: pings and pushes
inline constexpr std::uint32_t kOscReply = 4;
inline constexpr std::uint32_t kOstIo = 6;
inline constexpr std::uint32_t kOstCreate = 7;
inline constexpr std::uint32_t kOstBulk = 8;
inline constexpr std::uint32_t kMdcReply = 10;
inline constexpr std::uint32_t kMdsBulk = 14;
inline constexpr std::uint32_t kLdlmCallbackReply = 16;
inline constexpr std::uint32_t kLdlmCancelReply = 18;
inline constexpr std::uint32_t kMgcReply = 25;
inline constexpr std::uint32_t kMgsReply = 27;
inline constexpr std::uint32_t kMgsBulk = 33;
inline constexpr std::uint32_t kSelftest = 50;
inline constexpr std::uint32_t kSelftestFramework = 51;
inline constexpr std::uint32_t kSelftestRdma = 52;

}  // namespace portal

enum class PortalUse : std::uint8_t { kOther, kLnet, kRequest, kReply, kBulk, kSelftest };
[[nodiscard]] PortalUse use_of(std::uint32_t portal);

// Without "_PORTAL", which parsing of a name allows.
[[nodiscard]] NameTable portal_names();
[[nodiscard]] std::optional<std::uint32_t> parse_portal(std::string_view name);

[[nodiscard]] NameTable message_type_names();  // "ACK", "PUT", …
[[nodiscard]] NameTable direction_names();     // "RECV", "SEND", …
[[nodiscard]] std::string_view name_of(Direction direction);
// Causes of drops: names of the counters of lib/lnet/move/statistics.hpp.
[[nodiscard]] NameTable cause_names();
[[nodiscard]] std::string_view text_of_cause(std::uint8_t cause);

}  // namespace plnet::trace
