// SPDX-License-Identifier: BSD-3-Clause
// Runs compiled filters by DPDK's librte_bpf, as machine code where it can. Needs no EAL.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/result.hpp"
#include "lib/trace/filter/bpf_program.hpp"
#include "lib/trace/filter/filter_input.hpp"
#include "lib/trace/filter/record_filter.hpp"

struct rte_bpf;

namespace plnet::runtime {

class FilterRunner final : public trace::RecordFilter {
 public:
  // Verifies the program first. kNotPermitted: librte_bpf refuses it; its log says where.
  [[nodiscard]] static Outcome<FilterRunner> load(const trace::BpfProgram& program);

  [[nodiscard]] bool matches(trace::FilterInput& input) const override;
  [[nodiscard]] bool is_machine_code() const { return run_ != nullptr; }
  [[nodiscard]] bool needs_content() const override { return needs_content_; }
  [[nodiscard]] MachineCode machine_code() const override { return run_; }
  [[nodiscard]] bool reads_brief_only() const override { return reads_brief_only_; }
  // By the interpreter, whether or not there is machine code.
  [[nodiscard]] bool interpret(trace::FilterInput& input) const;

 private:
  struct Free {
    void operator()(rte_bpf* bpf) const;
  };
  FilterRunner(rte_bpf* bpf, const trace::BpfProgram& program);

  std::unique_ptr<rte_bpf, Free> bpf_;
  MachineCode run_ = nullptr;
  bool needs_content_ = false;
  bool reads_brief_only_ = false;
};

}  // namespace plnet::runtime
