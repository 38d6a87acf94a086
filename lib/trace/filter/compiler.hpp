// SPDX-License-Identifier: BSD-3-Clause
// Turns a filter into an eBPF program: jumps forward only, loads at constant offsets of the input
// only, no memory written.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/result.hpp"
#include "lib/trace/filter/bpf_program.hpp"
#include "lib/trace/filter/expression.hpp"

namespace plnet::trace {

// kTooBig: more instructions or more paths than a node verifies.
[[nodiscard]] Outcome<BpfProgram> compile(const Expression& expression);

// The number of paths through a program from its first instruction; stops counting at UINT64_MAX.
[[nodiscard]] std::uint64_t paths_through(std::span<const BpfInstruction> program);

}  // namespace plnet::trace
