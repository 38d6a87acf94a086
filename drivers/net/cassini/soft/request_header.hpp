// SPDX-License-Identifier: BSD-3-Clause
// The packet header that a NIC writes before the payload of a message that lands in the request
// list of a portal (shs-cassini-headers, cassini_user_defs.h: c_port_fab_hdr and
// c_port_unrestricted_hdr; read by libfabric, cxip_req_buf.c).
#pragma once

#include <array>
#include <cstddef>

#include "drivers/net/cassini/soft/message.hpp"

namespace plnet::cassini::soft {

inline constexpr std::size_t kFabricHeaderBytes = 20;
inline constexpr std::size_t kUnrestrictedHeaderBytes = 43;
inline constexpr std::size_t kRequestHeaderBytes = kFabricHeaderBytes + kUnrestrictedHeaderBytes;
using RequestHeader = std::array<std::byte, kRequestHeaderBytes>;

// Each message has the header of an unrestricted packet, also that of a short command. Numbers of
// the transport, which no process needs, are 0.
[[nodiscard]] RequestHeader request_header(const Message& message);

}  // namespace plnet::cassini::soft
