// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/trace/filter_runner.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include <rte_bpf.h>

namespace plnet::runtime {

static_assert(sizeof(ebpf_insn) == sizeof(trace::BpfInstruction));

void FilterRunner::Free::operator()(rte_bpf* bpf) const {
  rte_bpf_destroy(bpf);
}

namespace {

constexpr unsigned kInputRegister = 1;

// A load of other words of the input, or of an unknown place: not by the register with the input's
// address, or after a copy of the address may have been moved.
bool may_read_rest(const trace::BpfInstruction& one) {
  enum Class : unsigned { kLoadImmediate = 0, kLoad = 1, kArithmetic32 = 4, kArithmetic = 7 };
  const unsigned kind = one.code & 7U;
  const bool sets_target =
      kind == kLoadImmediate || kind == kLoad || kind == kArithmetic32 || kind == kArithmetic;
  if (sets_target && (one.registers & 15U) == kInputRegister) return true;
  if (kind != kLoad) return false;
  if (one.registers >> 4U != kInputRegister || one.offset < 0) return true;
  const std::size_t bytes = one.code == trace::bpf::kLoadByte   ? 1
                            : one.code == trace::bpf::kLoadHalf ? 2
                            : one.code == trace::bpf::kLoadWord ? 4
                                                                : 8;
  return !trace::is_brief(static_cast<std::size_t>(one.offset), bytes);
}

// Instructions of which librte_bpf of DPDK 22.11 makes wrong machine code: a test of bits against a
// constant of one byte lacks three bytes (lib/bpf/bpf_jit_x86.c: emit_tst_imm()), and a shift by a
// register does not always agree with the interpreter.
bool is_compiled_wrongly(const trace::BpfInstruction& one) {
  constexpr unsigned kTestBits = 0x45;
  constexpr unsigned kByRegister = 0x08;
  constexpr unsigned kClass = 0x07;
  constexpr unsigned kOperation = 0xf0;
  if (one.code == kTestBits) return one.immediate == static_cast<std::int8_t>(one.immediate);
  const unsigned operation = one.code & kOperation;
  const bool arithmetic = (one.code & kClass) == 4 || (one.code & kClass) == 7;
  const bool shifts = operation == 0x60 || operation == 0x70 || operation == 0xc0;
  return arithmetic && shifts && (one.code & kByRegister) != 0;
}

}  // namespace

FilterRunner::FilterRunner(rte_bpf* bpf, const trace::BpfProgram& program)
    : bpf_(bpf),
      needs_content_(program.needs_content),
      reads_brief_only_(std::ranges::none_of(program.instructions, may_read_rest)) {
  rte_bpf_jit jit{};
  const bool compiles = std::ranges::none_of(program.instructions, is_compiled_wrongly);
  if (compiles && rte_bpf_get_jit(bpf, &jit) == 0) run_ = jit.func;
}

Outcome<FilterRunner> FilterRunner::load(const trace::BpfProgram& program) {
  if (program.instructions.empty() || program.instructions.size() > trace::kBpfInstructionsMax) {
    return failure(Errc::kInvalid, "a filter program has 1 to 4096 instructions");
  }
  std::vector<ebpf_insn> instructions;
  instructions.reserve(program.instructions.size());
  for (const trace::BpfInstruction& one : program.instructions)
    instructions.push_back(std::bit_cast<ebpf_insn>(one));
  rte_bpf_prm parameters{};
  parameters.ins = instructions.data();
  parameters.nb_ins = static_cast<std::uint32_t>(instructions.size());
  parameters.prog_arg.type = RTE_BPF_ARG_PTR;
  parameters.prog_arg.size = sizeof(trace::FilterInput);
  rte_bpf* const bpf = rte_bpf_load(&parameters);
  if (bpf == nullptr) {
    return failure(Errc::kNotPermitted, "librte_bpf's verifier refuses the filter program");
  }
  return FilterRunner(bpf, program);
}

bool FilterRunner::matches(trace::FilterInput& input) const {
  return run_ != nullptr ? run_(&input) != 0 : interpret(input);
}

bool FilterRunner::interpret(trace::FilterInput& input) const {
  return rte_bpf_exec(bpf_.get(), &input) != 0;
}

}  // namespace plnet::runtime
