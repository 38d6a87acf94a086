// SPDX-License-Identifier: BSD-3-Clause
// Judges a program that a user has written before it runs on a node: it ends, it reads the
// FilterInput and what it has written to its stack, it writes to its stack only. A refusal names
// the instruction and the reason. DPDK's verifier judges the program again.
//
// One look at each instruction in order is enough, because jumps lead forward only: what is known
// of a register where paths meet is what all of them agree on. Stricter than the kernel: an address
// is a register and a constant, and pointers are not stored.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/trace/filter/bpf_program.hpp"

namespace plnet::trace {

inline constexpr std::size_t kBpfStackBytes = 512;

// kNotPermitted: "instruction 7: …". kTooBig: more instructions or paths than a node verifies.
[[nodiscard]] Outcome<BpfProgram> verify(std::span<const BpfInstruction> program);

// A program as text: sixteen hexadecimal digits for each instruction, its bytes in order.
[[nodiscard]] std::string program_text(std::span<const BpfInstruction> program);
[[nodiscard]] Outcome<std::vector<BpfInstruction>> parse_program_text(std::string_view text);

}  // namespace plnet::trace
