// SPDX-License-Identifier: BSD-3-Clause
// Checks a program of a user before it runs on a node: it ends, it reads only the FilterInput and
// its own writes to the stack, it writes only to its stack. A refusal names the instruction and the
// reason. DPDK's verifier checks the program again.
//
// One pass over the instructions is enough, because jumps lead forward only: where paths meet, the
// state of a register is what all paths agree on. Stricter than the kernel: an address is a
// register plus a constant, and pointers are not stored.
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
