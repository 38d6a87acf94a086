// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/trace/filter_runner.hpp"

#include <bit>
#include <vector>

#include <rte_bpf.h>

namespace plnet::runtime {

static_assert(sizeof(ebpf_insn) == sizeof(trace::BpfInstruction));

void FilterRunner::Free::operator()(rte_bpf* bpf) const {
  rte_bpf_destroy(bpf);
}

FilterRunner::FilterRunner(rte_bpf* bpf, bool needs_content)
    : bpf_(bpf), needs_content_(needs_content) {
  rte_bpf_jit jit{};
  if (rte_bpf_get_jit(bpf, &jit) == 0) run_ = jit.func;
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
  return FilterRunner(bpf, program.needs_content);
}

bool FilterRunner::matches(trace::FilterInput& input) const {
  return run_ != nullptr ? run_(&input) != 0 : interpret(input);
}

bool FilterRunner::interpret(trace::FilterInput& input) const {
  return rte_bpf_exec(bpf_.get(), &input) != 0;
}

}  // namespace plnet::runtime
