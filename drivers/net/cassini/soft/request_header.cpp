// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/request_header.hpp"

#include <algorithm>

namespace plnet::cassini::soft {
namespace {

constexpr std::uint64_t kVersion = 4;
constexpr std::uint64_t kWords = 5;  // of the fabric header
constexpr std::uint64_t kRequest = 1;
constexpr unsigned kNidShift = 12;
constexpr std::uint64_t kTotalMax = UINT16_MAX;

// Most significant byte first.
void put(std::byte* at, unsigned bytes, std::uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i)
    at[i] = static_cast<std::byte>(value >> 8 * (bytes - 1 - i));
}

}  // namespace

RequestHeader request_header(const Message& message) {
  RequestHeader header{};
  std::byte* const fabric = header.data();
  put(fabric, 1, kVersion << 4 | kWords);
  put(fabric + 2, 2, std::min(kRequestHeaderBytes + eager_bytes(message), kTotalMax));
  put(fabric + 4, 2, message.vni);
  put(fabric + 12, 4, std::uint64_t{message.source} << kNidShift);
  put(fabric + 16, 4,
      std::uint64_t{message.destination} << kNidShift |
          endpoint_defined(message.pid, message.index));
  std::byte* const at = fabric + kFabricHeaderBytes;
  const DmaOpcode opcode = message.rendezvous ? DmaOpcode::kRendezvousPut : DmaOpcode::kPut;
  put(at, 1, kRequest << 7 | static_cast<std::uint64_t>(opcode));
  put(at + 1, 1, message.index & 31U);
  put(at + 2, 7, message.remote_offset);
  put(at + 14, 1, message.rendezvous_id >> 4U);
  put(at + 15, 1, (message.rendezvous_id & 15U) << 4U | (message.rendezvous ? 1U << 2U : 0U));
  put(at + 16, 4, message.length);
  put(at + 20, 4, message.initiator);
  put(at + 24, 8, message.match_bits);
  put(at + 32, 8, message.header_data);
  put(at + 40, 3, std::uint64_t{message.eager_length} << 4U);
  return header;
}

}  // namespace plnet::cassini::soft
