// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/verifier.hpp"

#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/filter/filter_input.hpp"

namespace plnet::trace {

namespace {

// Fields of an instruction's code. Linux Documentation/bpf/standardization/instruction-set.rst
constexpr std::uint8_t kClassMask = 0x07;
constexpr std::uint8_t kOperationMask = 0xf0;
constexpr std::uint8_t kSourceRegister = 0x08;
constexpr std::uint8_t kModeMask = 0xe0;
constexpr std::uint8_t kModeMemory = 0x60;
enum Class : std::uint8_t {
  kLoadOther = 0,
  kLoad = 1,
  kStoreImmediate = 2,
  kStore = 3,
  kArithmetic32 = 4,
  kJumps = 5,
  kJumps32 = 6,
  kArithmetic64 = 7,
};
enum Operation : std::uint8_t {
  kAdd = 0x00,
  kSub = 0x10,
  kDivide = 0x30,
  kLeft = 0x60,
  kRight = 0x70,
  kNegate = 0x80,
  kRemainder = 0x90,
  kMoveTo = 0xb0,
  kRightSigned = 0xc0,
  kByteOrder = 0xd0,
};
constexpr std::uint8_t kCall = 0x85;

constexpr unsigned kRegisters = 11;
constexpr unsigned kFrame = 10;  // the end of the stack; cannot be changed
constexpr unsigned kFirstArgument = 1;

struct Value {
  enum class Kind : std::uint8_t { kUnset, kNumber, kInput, kStack };
  Kind kind = Kind::kUnset;
  std::int64_t offset = 0;  // of the pointer

  [[nodiscard]] bool is_pointer() const { return kind == Kind::kInput || kind == Kind::kStack; }
  friend bool operator==(const Value&, const Value&) = default;
};

struct State {
  std::array<Value, kRegisters> registers{};
  std::bitset<kBpfStackBytes> written;  // bytes of the stack, from its lowest address

  void meet(const State& other) {
    for (unsigned i = 0; i < kRegisters; ++i) {
      if (registers[i] != other.registers[i]) registers[i] = {};
    }
    written &= other.written;
  }
};

unsigned size_of(std::uint8_t code) {
  constexpr std::array<unsigned, 4> kSizes{4, 2, 1, 8};
  return kSizes[code >> 3U & 3U];
}

class Verifier {
 public:
  explicit Verifier(std::span<const BpfInstruction> program)
      : program_(program), states_(program.size()), second_(program.size(), false) {}

  Outcome<BpfProgram> run();

 private:
  using Refusal = std::optional<std::string>;

  [[nodiscard]] Value& target(const BpfInstruction& one) {
    return now_.registers[one.registers & 0x0fU];
  }
  [[nodiscard]] const Value& source(const BpfInstruction& one) const {
    return now_.registers[one.registers >> 4U];
  }
  Refusal look(std::size_t at);
  Refusal look_at_arithmetic(const BpfInstruction& one);
  Refusal move_pointer(const BpfInstruction& one, std::uint8_t operation);
  Refusal look_at_load(const BpfInstruction& one);
  Refusal look_at_store(const BpfInstruction& one);
  Refusal look_at_wide(std::size_t at);
  Refusal look_at_jump(std::size_t at);
  Refusal go_to(std::size_t at);
  Refusal find_bytes(const Value& base, const BpfInstruction& one, bool writes,
                     std::size_t& first) const;
  void set_number(const BpfInstruction& one) { target(one) = {Value::Kind::kNumber}; }

  std::span<const BpfInstruction> program_;
  std::vector<std::optional<State>> states_;  // states where the known paths lead
  std::vector<bool> second_;                  // second half of a double instruction
  State now_;
  bool reads_content_ = false;
};

std::optional<std::string> Verifier::go_to(std::size_t at) {
  if (at >= program_.size()) return "the program goes on behind its last instruction";
  if (second_[at]) return "a jump leads into the middle of an instruction";
  if (auto& state = states_[at]) {
    state->meet(now_);
  } else {
    state = now_;
  }
  return std::nullopt;
}

// The bytes that `one` reads or writes; `first`: in the input, or from the stack's lowest address.
std::optional<std::string> Verifier::find_bytes(const Value& base, const BpfInstruction& one,
                                                bool writes, std::size_t& first) const {
  if (!base.is_pointer()) return "the address is no pointer, or differs between paths";
  const bool in_input = base.kind == Value::Kind::kInput;
  if (in_input && writes) return "the message cannot be changed";
  const std::int64_t at =
      base.offset + one.offset + (in_input ? 0 : static_cast<std::int64_t>(kBpfStackBytes));
  const std::size_t room = in_input ? sizeof(FilterInput) : kBpfStackBytes;
  const unsigned size = size_of(one.code);
  if (at < 0 || at + size > static_cast<std::int64_t>(room)) {
    return fmt::format("{} at {} {} outside of the {}, which has {} bytes", counted(size, "byte"),
                       base.offset + one.offset, agreeing(size, "is", "are"),
                       in_input ? "message" : "stack", room);
  }
  first = static_cast<std::size_t>(at);
  return std::nullopt;
}

std::optional<std::string> Verifier::look_at_load(const BpfInstruction& one) {
  if ((one.code & kModeMask) != kModeMemory) return "a load of this kind is not known";
  std::size_t first = 0;
  if (auto refused = find_bytes(source(one), one, false, first)) return refused;
  if (source(one).kind == Value::Kind::kInput) {
    // `present` tells which fields of the payload exist.
    reads_content_ |= first + size_of(one.code) > offsetof(FilterInput, xid) ||
                      (first < offsetof(FilterInput, portal) &&
                       first + size_of(one.code) > offsetof(FilterInput, present));
  } else {
    for (std::size_t i = first; i < first + size_of(one.code); ++i) {
      if (!now_.written[i]) return "the stack is read where nothing was written";
    }
  }
  set_number(one);
  return std::nullopt;
}

std::optional<std::string> Verifier::look_at_store(const BpfInstruction& one) {
  if ((one.code & kModeMask) != kModeMemory) return "atomic operations are not allowed";
  if ((one.code & kClassMask) == kStore && source(one).kind != Value::Kind::kNumber) {
    return "only numbers can be stored: the register is not set, or is a pointer";
  }
  std::size_t first = 0;
  if (auto refused = find_bytes(target(one), one, true, first)) return refused;
  for (std::size_t i = first; i < first + size_of(one.code); ++i)
    now_.written.set(i);
  return std::nullopt;
}

std::optional<std::string> Verifier::look_at_wide(std::size_t at) {
  const BpfInstruction& one = program_[at];
  if (one.code != bpf::kLoadImmediate64 || (one.registers >> 4U) != 0) {
    return "a load of this kind is not known (maps and packets are not there)";
  }
  if (at + 1 >= program_.size() || program_[at + 1].code != 0) return "its second half is missing";
  set_number(one);
  second_[at + 1] = true;
  return go_to(at + 2);
}

// A pointer plus or minus a constant, or a copy of one.
std::optional<std::string> Verifier::move_pointer(const BpfInstruction& one,
                                                  std::uint8_t operation) {
  const bool wide = (one.code & kClassMask) == kArithmetic64;
  const bool by_register = (one.code & kSourceRegister) != 0;
  if (wide && by_register && operation == kMoveTo) {
    target(one) = source(one);
    return std::nullopt;
  }
  if (wide && !by_register && (operation == kAdd || operation == kSub)) {
    target(one).offset += operation == kAdd ? one.immediate : -std::int64_t{one.immediate};
    return std::nullopt;
  }
  return "pointers can be copied, and moved by constants, and nothing else";
}

std::optional<std::string> Verifier::look_at_arithmetic(const BpfInstruction& one) {
  const bool wide = (one.code & kClassMask) == kArithmetic64;
  const auto operation = static_cast<std::uint8_t>(one.code & kOperationMask);
  const bool order = operation == kByteOrder;
  const bool by_register = (one.code & kSourceRegister) != 0 && !order;
  if ((one.registers & 0x0fU) == kFrame) return "the frame pointer cannot be changed";
  if (operation > kByteOrder || (order && wide)) return "an operation of this kind is not known";
  if (one.offset != 0) return "an operation of this kind is not known";
  if (operation == kNegate && by_register) return "an operation of this kind is not known";
  if (order && one.immediate != 16 && one.immediate != 32 && one.immediate != 64) {
    return "byte order is changed in 16, 32 or 64 bits";
  }
  const bool reads_target = operation != kMoveTo;
  if (reads_target && target(one).kind == Value::Kind::kUnset) return "the register is not set";
  if (by_register && source(one).kind == Value::Kind::kUnset) return "the source is not set";
  if ((reads_target && target(one).is_pointer()) || (by_register && source(one).is_pointer())) {
    return move_pointer(one, operation);
  }
  const bool divides = operation == kDivide || operation == kRemainder;
  // librte_bpf's machine code for it divides by a register that it has not set: r0 and r3 of DPDK
  // 22.11 (lib/bpf/bpf_jit_x86.c: emit_div()).
  if (divides && by_register && (one.registers & 0x0fU) == one.registers >> 4U)
    return "a register is divided by itself";
  if (!by_register) {
    if (divides && one.immediate == 0) return "a division by zero";
    const bool shifts = operation == kLeft || operation == kRight || operation == kRightSigned;
    if (shifts && (one.immediate < 0 || one.immediate >= (wide ? 64 : 32))) {
      return "a shift by more bits than there are";
    }
  }
  set_number(one);
  return std::nullopt;
}

std::optional<std::string> Verifier::look_at_jump(std::size_t at) {
  const BpfInstruction& one = program_[at];
  if (one.code == kCall) return "functions cannot be called";
  if (one.code == bpf::kExit) {
    if (now_.registers[0].kind == Value::Kind::kNumber) return std::nullopt;
    return "the result (r0) is no number on every path";
  }
  const auto operation = static_cast<std::uint8_t>(one.code & kOperationMask);
  const bool always = one.code == bpf::kJump;
  if (!always && (operation == 0 || operation > kRightSigned + 0x10 || operation == 0x80 ||
                  operation == 0x90)) {
    return "a jump of this kind is not known";
  }
  if (one.offset < 0) return "a jump leads backward: loops are not allowed";
  if (!always) {
    const bool by_register = (one.code & kSourceRegister) != 0;
    const bool numbers = target(one).kind == Value::Kind::kNumber &&
                         (!by_register || source(one).kind == Value::Kind::kNumber);
    if (!numbers) return "only numbers can be compared: a register is not set, or is a pointer";
    if (auto refused = go_to(at + 1)) return refused;
  }
  return go_to(at + 1 + static_cast<std::size_t>(one.offset));
}

std::optional<std::string> Verifier::look(std::size_t at) {
  const BpfInstruction& one = program_[at];
  if ((one.registers & 0x0fU) >= kRegisters || (one.registers >> 4U) >= kRegisters) {
    return "a register of this number does not exist";
  }
  Refusal refused;
  switch (one.code & kClassMask) {
    case kLoadOther: return look_at_wide(at);
    case kJumps: return look_at_jump(at);
    case kJumps32: return "32-bit jumps are not known to librte_bpf; compile with -mcpu=v2";
    case kLoad:
      if ((one.registers & 0x0fU) == kFrame) return "the frame pointer cannot be changed";
      refused = look_at_load(one);
      break;
    case kStoreImmediate:
    case kStore: refused = look_at_store(one); break;
    default: refused = look_at_arithmetic(one); break;
  }
  return refused ? refused : go_to(at + 1);
}

Outcome<BpfProgram> Verifier::run() {
  State& start = states_[0].emplace();
  start.registers[kFirstArgument] = {Value::Kind::kInput};
  start.registers[kFrame] = {Value::Kind::kStack};
  for (std::size_t at = 0; at < program_.size(); ++at) {
    if (second_[at]) continue;
    const auto& state = states_[at];
    if (!state) {
      return failure(Errc::kNotPermitted, fmt::format("instruction {}: no path leads here", at));
    }
    now_ = *state;
    if (const auto refused = look(at)) {
      return failure(Errc::kNotPermitted, fmt::format("instruction {}: {}", at, *refused));
    }
    states_[at].reset();
  }
  if (paths_through(program_) > kBpfPathsMax) {
    return failure(Errc::kTooBig, "the program has more than 65536 paths: a node cannot verify it");
  }
  return BpfProgram{.instructions = {program_.begin(), program_.end()},
                    .needs_content = reads_content_};
}

}  // namespace

Outcome<BpfProgram> verify(std::span<const BpfInstruction> program) {
  if (program.empty() || program.size() > kBpfInstructionsMax) {
    return failure(Errc::kTooBig, fmt::format("a program has 1 to {} instructions, this one {}",
                                              kBpfInstructionsMax, program.size()));
  }
  return Verifier(program).run();
}

std::string program_text(std::span<const BpfInstruction> program) {
  std::string text;
  for (const BpfInstruction& one : program) {
    for (const std::uint8_t byte : std::bit_cast<std::array<std::uint8_t, sizeof one>>(one))
      text += fmt::format("{:02x}", byte);
  }
  return text;
}

Outcome<std::vector<BpfInstruction>> parse_program_text(std::string_view text) {
  constexpr std::size_t kDigits = 2 * sizeof(BpfInstruction);
  if (text.size() % kDigits != 0 || text.size() / kDigits > kBpfInstructionsMax) {
    return failure(Errc::kInvalid, "a program is 16 digits for each of at most 4096 instructions");
  }
  const auto digit = [](char letter) -> unsigned {
    if (letter >= '0' && letter <= '9') return static_cast<unsigned>(letter - '0');
    if (letter >= 'a' && letter <= 'f') return static_cast<unsigned>(letter - 'a') + 10;
    return 16;
  };
  std::vector<BpfInstruction> program(text.size() / kDigits);
  std::array<std::uint8_t, sizeof(BpfInstruction)> bytes{};
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const unsigned high = digit(text[i]);
    const unsigned low = digit(text[i + 1]);
    if (high > 15 || low > 15) {
      return failure(Errc::kInvalid, fmt::format("digit {} is not hexadecimal", i));
    }
    bytes[i / 2 % bytes.size()] = static_cast<std::uint8_t>(high << 4U | low);
    if ((i + 2) % kDigits == 0) {
      program[i / kDigits] = std::bit_cast<BpfInstruction>(bytes);
    }
  }
  return program;
}

}  // namespace plnet::trace
