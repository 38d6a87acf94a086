// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/assembler.hpp"

#include <limits>

#include "lib/base/check.hpp"

namespace plnet::trace {

namespace {

bpf::Condition opposite(bpf::Condition condition) {
  switch (condition) {
    case bpf::kEqual: return bpf::kNotEqual;
    case bpf::kNotEqual: return bpf::kEqual;
    case bpf::kGreater: return bpf::kLessOrEqual;
    case bpf::kLessOrEqual: return bpf::kGreater;
    case bpf::kGreaterOrEqual: return bpf::kLess;
    case bpf::kLess: return bpf::kGreaterOrEqual;
    case bpf::kGreaterSigned: return bpf::kLessOrEqualSigned;
    case bpf::kLessOrEqualSigned: return bpf::kGreaterSigned;
    case bpf::kGreaterOrEqualSigned: return bpf::kLessSigned;
    case bpf::kLessSigned: return bpf::kGreaterOrEqualSigned;
  }
  return condition;
}

// Immediates are sign-extended to 64 bits.
bool is_short(std::uint64_t value) {
  const auto number = static_cast<std::int64_t>(value);
  return number >= std::numeric_limits<std::int32_t>::min() &&
         number <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

Assembler::Label Assembler::label() {
  places_.emplace_back();
  return places_.size() - 1;
}

void Assembler::bind(Label label) {
  PLNET_CHECK(!places_[label].bound, "a label has one place");
  places_[label].at = instructions_.size();
  places_[label].bound = true;
}

void Assembler::add(std::uint8_t code, unsigned target, unsigned source, std::int16_t offset,
                    std::int32_t value) {
  instructions_.push_back({.code = code,
                           .registers = static_cast<std::uint8_t>(target | source << 4U),
                           .offset = offset,
                           .immediate = value});
}

void Assembler::load(unsigned target, unsigned base, std::size_t offset, std::size_t bytes) {
  const bpf::Code code = bytes == 1   ? bpf::kLoadByte
                         : bytes == 2 ? bpf::kLoadHalf
                         : bytes == 4 ? bpf::kLoadWord
                                      : bpf::kLoadDouble;
  add(code, target, base, static_cast<std::int16_t>(offset), 0);
}

void Assembler::immediate(unsigned target, std::uint64_t value) {
  if (is_short(value)) {
    add(bpf::kMove, target, 0, 0, static_cast<std::int32_t>(value));
    return;
  }
  add(bpf::kLoadImmediate64, target, 0, 0, static_cast<std::int32_t>(value));
  add(0, 0, 0, 0, static_cast<std::int32_t>(value >> 32U));
}

void Assembler::copy(unsigned target, unsigned source) {
  add(bpf::kMoveRegister, target, source, 0, 0);
}

void Assembler::calculate(bpf::Code operation, unsigned target, std::int32_t value) {
  add(operation, target, 0, 0, value);
}

void Assembler::calculate_with(bpf::Code operation, unsigned target, unsigned source) {
  add(operation, target, source, 0, 0);
}

void Assembler::finish(std::int32_t result) {
  add(bpf::kMove, 0, 0, 0, result);
  add(bpf::kExit, 0, 0, 0, 0);
}

void Assembler::jump_if(std::uint8_t code, unsigned left, unsigned right, std::int32_t value,
                        Label label) {
  places_[label].used = true;
  fixups_.push_back({instructions_.size(), label});
  add(code, left, right, 0, value);
}

void Assembler::jump(Label label) {
  jump_if(bpf::kJump, 0, 0, 0, label);
}

void Assembler::decide(bpf::Condition condition, unsigned left, std::uint64_t value,
                       unsigned scratch, const Branch& branch) {
  const bool is_large = !is_short(value);
  if (is_large) immediate(scratch, value);
  const bool inverted = branch.next == branch.yes;
  const bpf::Condition tested = inverted ? opposite(condition) : condition;
  const auto code = static_cast<std::uint8_t>(is_large ? tested | bpf::kRegister : tested);
  jump_if(code, left, is_large ? scratch : 0, is_large ? 0 : static_cast<std::int32_t>(value),
          inverted ? branch.no : branch.yes);
  if (inverted || branch.next == branch.no) {
    places_[branch.next].used = true;
  } else {
    jump(branch.no);
  }
}

std::vector<BpfInstruction> Assembler::assemble() const {
  auto program = instructions_;
  for (const Fixup& fixup : fixups_) {
    const Place& place = places_[fixup.label];
    const std::size_t distance = place.at - fixup.instruction - 1;
    if (!place.bound || distance > std::numeric_limits<std::int16_t>::max()) return {};
    program[fixup.instruction].offset = static_cast<std::int16_t>(distance);
  }
  return program;
}

}  // namespace plnet::trace
