// SPDX-License-Identifier: BSD-3-Clause
// Addresses on the fabric: destination addresses, match ids, portal indices and match bits as in
// the kernel's kfi_cxi (shs-kfabric prov/cxi).
#pragma once

#include <cstdint>

namespace plnet::cassini {

inline constexpr unsigned kNicAddressBits = 20;
inline constexpr std::uint32_t kNicAddressMax = (1U << kNicAddressBits) - 1;
inline constexpr std::uint32_t kMatchAny = ~0U;

// A process on the fabric.
struct Process {
  std::uint32_t nic = 0;
  std::uint32_t pid = 0;
  friend bool operator==(const Process&, const Process&) = default;
};

// Destination of a command, which has separate fields for `dfa` and `index_ext`.
struct FabricAddress {
  std::uint32_t dfa = 0;
  std::uint8_t index_ext = 0;
  friend bool operator==(const FabricAddress&, const FabricAddress&) = default;
};

inline constexpr unsigned kIndexExtBits = 5;          // the lower bits of a portal index
inline constexpr unsigned kEndpointDefinedBits = 12;  // the upper bits of it, and the PID

constexpr FabricAddress fabric_address(Process to, unsigned index, unsigned pid_bits) {
  constexpr unsigned kIndexExtMask = (1U << kIndexExtBits) - 1;
  const std::uint32_t endpoint = (index >> kIndexExtBits << pid_bits) + to.pid;
  return {.dfa = endpoint | to.nic << kEndpointDefinedBits,
          .index_ext = static_cast<std::uint8_t>(index & kIndexExtMask)};
}

constexpr std::uint32_t match_id(Process process, unsigned pid_bits) {
  return process.pid << (32U - pid_bits) | process.nic;
}
constexpr Process process_of(std::uint32_t id, unsigned pid_bits) {
  return {.nic = id & kNicAddressMax, .pid = id >> (32U - pid_bits)};
}

// Gets use other portal indices than puts.
inline constexpr unsigned kContextsMax = 128;
constexpr unsigned put_index(unsigned context) {
  return context;
}
constexpr unsigned get_index(unsigned context) {
  return context + kContextsMax;
}

namespace match_bits {
inline constexpr std::uint64_t kVersion = 1ULL << 56U;
inline constexpr std::uint64_t kTagged = 1ULL << 54U;
inline constexpr std::uint64_t kTaggedRma = 1ULL << 53U;
inline constexpr std::uint64_t kRemoteData = 1ULL << 52U;

inline constexpr std::uint64_t kMessage = kVersion;
inline constexpr std::uint64_t kMessageIgnore = kRemoteData;
inline constexpr std::uint64_t kTaggedIgnore = kTaggedRma | kRemoteData;
constexpr std::uint64_t tagged(std::uint32_t tag) {
  return kVersion | kTagged | tag;
}
constexpr std::uint64_t tagged_rma(std::uint32_t tag) {
  return tagged(tag) | kTaggedRma;
}
constexpr std::uint64_t tagged_data(std::uint32_t tag) {
  return tagged(tag) | kRemoteData;
}
}  // namespace match_bits

}  // namespace plnet::cassini
