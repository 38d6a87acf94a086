// SPDX-License-Identifier: BSD-3-Clause
// A process id in the 12-byte form that LNet's selftest sends.
// Checked against lustre-release lnet/include/uapi/linux/lnet/lnet-idl.h: struct
// lnet_process_id_packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lib/lnet/names/nid64.hpp"

namespace plnet::lnet {

struct [[gnu::packed]] ProcessIdWire {
  std::uint64_t nid;
  std::uint32_t pid;
};
static_assert(sizeof(ProcessIdWire) == 12 && offsetof(ProcessIdWire, nid) == 0);
static_assert(offsetof(ProcessIdWire, pid) == 8);

inline constexpr std::size_t kProcessIdBytes = sizeof(ProcessIdWire);

[[nodiscard]] inline ProcessId decode_process_id(
    std::span<const std::byte, kProcessIdBytes> bytes) {
  ProcessIdWire wire{};
  std::memcpy(&wire, bytes.data(), sizeof wire);
  return {.nid = from_nid64(wire.nid), .pid = wire.pid};
}

// False if the NID is large and was cut to its first four bytes.
[[nodiscard]] inline bool encode_process_id(const ProcessId& id,
                                            std::span<std::byte, kProcessIdBytes> out) {
  const Nid64 nid = to_nid64(id.nid);
  const ProcessIdWire wire{.nid = nid.value, .pid = id.pid};
  std::memcpy(out.data(), &wire, sizeof wire);
  return !nid.lossy;
}

}  // namespace plnet::lnet
