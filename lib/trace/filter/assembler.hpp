// SPDX-License-Identifier: BSD-3-Clause
// eBPF instructions with labels for later places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/trace/filter/bpf_program.hpp"

namespace plnet::trace {

class Assembler {
 public:
  using Label = std::size_t;

  [[nodiscard]] Label label();
  // The label names the next instruction.
  void bind(Label label);

  void load(unsigned target, unsigned base, std::size_t offset, std::size_t bytes);
  void immediate(unsigned target, std::uint64_t value);
  void copy(unsigned target, unsigned source);
  // target = target <operation> value, which must fit in 31 bits or be intended as sign-extended.
  void calculate(bpf::Code operation, unsigned target, std::int32_t value);
  void calculate_with(bpf::Code operation, unsigned target, unsigned source);
  void finish(std::int32_t result);

  // The targets of a decision; `next` is the following code, which saves a jump.
  struct Branch {
    Label yes;
    Label no;
    Label next;
  };
  // Compares a register with a value; uses `scratch` if the value is too large for an instruction.
  void decide(bpf::Condition condition, unsigned left, std::uint64_t value, unsigned scratch,
              const Branch& branch);
  void jump(Label label);

  [[nodiscard]] bool is_used(Label label) const { return places_[label].used; }
  // Empty if a jump is too far or a label was never bound.
  [[nodiscard]] std::vector<BpfInstruction> assemble() const;

 private:
  struct Place {
    std::size_t at = 0;
    bool bound = false;
    bool used = false;
  };
  struct Fixup {
    std::size_t instruction = 0;
    Label label = 0;
  };

  void add(std::uint8_t code, unsigned target, unsigned source, std::int16_t offset,
           std::int32_t value);
  void jump_if(std::uint8_t code, unsigned left, unsigned right, std::int32_t value, Label label);

  std::vector<BpfInstruction> instructions_;
  std::vector<Place> places_;
  std::vector<Fixup> fixups_;
};

}  // namespace plnet::trace
