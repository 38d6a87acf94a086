// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations on one value in memory (shs-cassini-headers: cassini_user_defs.h; the valid
// combinations: libfabric cxip_atomic.c). One NIC does one at a time; the process may see a value
// of several words half written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "drivers/net/cassini/soft/codes.hpp"

namespace plnet::cassini::soft {

enum class AtomicOperation : std::uint8_t {
  kMin = 0,
  kMax = 1,
  kSum = 2,
  kLogicalOr = 4,
  kLogicalAnd = 5,
  kOr = 6,
  kAnd = 7,
  kLogicalXor = 8,
  kXor = 9,
  kSwap = 10,
  kCompareSwap = 11,
  kAndXor = 12,  // (value & ~second operand) ^ first operand
};

// The second operand is compared with the value: "second <= value".
enum class AtomicCompare : std::uint8_t {
  kEqual = 0,
  kNotEqual = 1,
  kLessEqual = 2,
  kLess = 3,
  kGreaterEqual = 4,
  kGreater = 5,
};

enum class AtomicType : std::uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt16 = 2,
  kUint16 = 3,
  kInt32 = 4,
  kUint32 = 5,
  kInt64 = 6,
  kUint64 = 7,
  kFloat = 8,
  kFloatComplex = 9,
  kDouble = 10,
  kDoubleComplex = 11,
  kUint128 = 12,
};
inline constexpr unsigned kAtomicTypes = 13;
inline constexpr unsigned kAtomicBytesMax = 16;

[[nodiscard]] constexpr unsigned atomic_bytes(AtomicType type) {
  constexpr std::array<std::uint8_t, kAtomicTypes> kBytes{1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 16};
  const auto index = static_cast<unsigned>(type);
  return index < kAtomicTypes ? kBytes[index] : 0;
}

using AtomicValue = std::array<std::byte, kAtomicBytesMax>;

struct AtomicRequest {
  AtomicOperation operation = AtomicOperation::kSum;
  AtomicCompare compare = AtomicCompare::kEqual;
  AtomicType type = AtomicType::kUint64;
  AtomicValue first{};
  AtomicValue second{};
};

// AMO_INVAL_OP_ERROR, if the type has no such operation; AMO_ALIGN_ERROR, if `address` is not a
// multiple of its size.
[[nodiscard]] ReturnCode check_atomic(const AtomicRequest& request, std::uint64_t address);
// A request that was checked. `before` is the value that was there.
void run_atomic(const AtomicRequest& request, std::byte* value, AtomicValue& before);

// A NIC whose operation `remap` goes to the CPU hands it whole numbers of 32 and 64 bits
// (cass_ixe.c: cass_ixe_set_amo_remap_to_pcie_fadd()); signed ones only of sums.
[[nodiscard]] bool is_for_cpu(const AtomicRequest& request, int remap);
// The addition in its place, which is atomic for programs, too. A request that was checked.
void run_cpu_addition(const AtomicRequest& request, std::byte* value, AtomicValue& before);

}  // namespace plnet::cassini::soft
