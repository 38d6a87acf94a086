// SPDX-License-Identifier: BSD-3-Clause
// eBPF as bytes: the form of a compiled filter. Checked against Linux
// Documentation/bpf/standardization/instruction-set.rst; only instructions that DPDK's librte_bpf
// knows as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plnet::trace {

struct BpfInstruction {
  std::uint8_t code = 0;
  std::uint8_t registers = 0;  // target, and source << 4
  std::int16_t offset = 0;
  std::int32_t immediate = 0;

  friend bool operator==(const BpfInstruction&, const BpfInstruction&) = default;
};
static_assert(sizeof(BpfInstruction) == 8 && offsetof(BpfInstruction, immediate) == 4);

// Runs with r1 = the address of a FilterInput; r0 is not 0 if the message matches.
struct BpfProgram {
  std::vector<BpfInstruction> instructions;
  bool needs_content = false;  // fill_content() must be called
};

inline constexpr std::size_t kBpfInstructionsMax = 4096;  // the kernel's limit of classic programs
// librte_bpf 22.11 verifies path by path.
inline constexpr std::uint64_t kBpfPathsMax = 1U << 16U;

namespace bpf {

enum Code : std::uint8_t {
  kLoadByte = 0x71,
  kLoadHalf = 0x69,
  kLoadWord = 0x61,
  kLoadDouble = 0x79,
  kLoadImmediate64 = 0x18,  // takes two slots
  kMove = 0xb7,             // 64 bits, immediate
  kMoveRegister = 0xbf,
  kSubtract = 0x17,
  kAnd = 0x57,
  kAndRegister = 0x5f,
  kModulo = 0x97,
  kShiftLeft = 0x67,
  kShiftRight = 0x77,
  kShiftRightSigned = 0xc7,
  kToBigEndian = 0xdc,
  kJump = 0x05,
  kExit = 0x95,
};
// Conditions with an immediate; with kRegister, with a register.
enum Condition : std::uint8_t {
  kEqual = 0x15,
  kGreater = 0x25,
  kGreaterOrEqual = 0x35,
  kNotEqual = 0x55,
  kGreaterSigned = 0x65,
  kGreaterOrEqualSigned = 0x75,
  kLess = 0xa5,
  kLessOrEqual = 0xb5,
  kLessSigned = 0xc5,
  kLessOrEqualSigned = 0xd5,
};
inline constexpr std::uint8_t kRegister = 0x08;

}  // namespace bpf

}  // namespace plnet::trace
