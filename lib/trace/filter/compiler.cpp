// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/compiler.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <variant>

#include "lib/trace/filter/assembler.hpp"

namespace plnet::trace {

namespace {

using Branch = Assembler::Branch;
using Label = Assembler::Label;

// r1 holds the address of the input throughout.
constexpr unsigned kInput = 1;
constexpr unsigned kValue = 2;
constexpr unsigned kScratch = 3;
constexpr unsigned kCopy = 4;

constexpr std::size_t kAddress = offsetof(lnet::Nid, address_be);

template <class Number, std::size_t kBytes>
Number word_at(const std::array<std::uint8_t, kBytes>& bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, &bytes[at], sizeof number);
  return number;
}

bpf::Condition condition_of(Comparison comparison, bool is_signed) {
  switch (comparison) {
    case Comparison::kEqual: return bpf::kEqual;
    case Comparison::kNotEqual: return bpf::kNotEqual;
    case Comparison::kLess: return is_signed ? bpf::kLessSigned : bpf::kLess;
    case Comparison::kLessOrEqual: return is_signed ? bpf::kLessOrEqualSigned : bpf::kLessOrEqual;
    case Comparison::kGreater: return is_signed ? bpf::kGreaterSigned : bpf::kGreater;
    case Comparison::kGreaterOrEqual:
      return is_signed ? bpf::kGreaterOrEqualSigned : bpf::kGreaterOrEqual;
  }
  return bpf::kEqual;
}

class Compiler {
 public:
  explicit Compiler(const Expression& expression) : expression_(expression) {}

  std::vector<BpfInstruction> run() {
    if (expression_.is_empty()) {
      code_.finish(1);
      return code_.assemble();
    }
    const Label yes = code_.label();
    const Label no = code_.label();
    compile_node(expression_.root(), {yes, no, yes});
    code_.bind(yes);
    if (code_.is_used(yes)) code_.finish(1);
    code_.bind(no);
    if (code_.is_used(no)) code_.finish(0);
    return code_.assemble();
  }

 private:
  void compile_node(std::size_t index, const Branch& branch) {
    const FilterNode& node = expression_.nodes()[index];
    if (node.kind == FilterNode::Kind::kTerm) return compile_term(node.term, branch);
    if (node.kind == FilterNode::Kind::kNot) {
      return compile_node(node.left, {branch.no, branch.yes, branch.next});
    }
    const Label middle = code_.label();
    if (node.kind == FilterNode::Kind::kAll) {
      compile_node(node.left, {middle, branch.no, middle});
    } else {
      compile_node(node.left, {branch.yes, middle, middle});
    }
    code_.bind(middle);
    compile_node(node.right, branch);
  }

  void compile_term(const FilterTerm& term, const Branch& branch) {
    if (std::holds_alternative<Presence>(term.value)) {
      load_presence(*term.field);
      return code_.decide(bpf::kNotEqual, kValue, 0, kScratch, branch);
    }
    if (term.field->presence != 0) {
      const Label present = code_.label();
      load_presence(*term.field);
      code_.decide(bpf::kNotEqual, kValue, 0, kScratch, {present, branch.no, present});
      code_.bind(present);
    }
    if (const auto* const range = std::get_if<lnet::NidRange>(&term.value)) {
      compile_range(*range, term.offset, branch);
    } else if (const auto* const net = std::get_if<lnet::NetId>(&term.value)) {
      compile_net(*net, term.offset, branch);
    } else if (const auto* const job = std::get_if<JobPattern>(&term.value)) {
      compile_job(term, *job, branch);
    } else {
      compile_number(term, std::get<std::uint64_t>(term.value), branch);
    }
  }

  void load_presence(const Field& field) {
    code_.load(kValue, kInput, offsetof(FilterInput, present), 4);
    code_.calculate(bpf::kAnd, kValue, static_cast<std::int32_t>(field.presence));
  }

  void compile_number(const FilterTerm& term, std::uint64_t value, const Branch& branch) {
    const Field& field = *term.field;
    code_.load(kValue, kInput, field.offset, field.bytes);
    if (field.kind == FieldKind::kBits) {
      code_.immediate(kCopy, value);
      code_.calculate_with(bpf::kAndRegister, kValue, kCopy);
      return code_.decide(condition_of(term.comparison, false), kValue, value, kScratch, branch);
    }
    const bool is_signed = field.kind == FieldKind::kSigned;
    if (is_signed && field.bytes == 4) {
      code_.calculate(bpf::kShiftLeft, kValue, 32);
      code_.calculate(bpf::kShiftRightSigned, kValue, 32);
    }
    code_.decide(condition_of(term.comparison, is_signed), kValue, value, kScratch, branch);
  }

  // The first word of a NID: size, type, number. Without the size if any size matches.
  void check_first_word(lnet::NetId net, std::optional<std::uint8_t> size, std::size_t offset,
                        const Branch& branch) {
    std::uint64_t word = std::uint64_t{lnet::type_of_net(net)} << 8U |
                         std::uint64_t{std::byteswap(lnet::number_of_net(net))} << 16U;
    code_.load(kValue, kInput, offset, 4);
    if (size) {
      word |= *size;
    } else {
      code_.calculate(bpf::kShiftRight, kValue, 8);
      word >>= 8U;
    }
    code_.decide(bpf::kEqual, kValue, word, kScratch, branch);
  }

  // The wildcard NID is on kNetAny only, which is not the name of a network.
  void compile_net(lnet::NetId net, std::size_t offset, const Branch& branch) {
    check_first_word(net, std::nullopt, offset, branch);
  }

  void compile_range(const lnet::NidRange& range, std::size_t offset, const Branch& branch) {
    using Kind = lnet::AddressPattern::Kind;
    const auto& pattern = range.addresses;
    if (pattern.kind == Kind::kAll) return compile_net(range.net, offset, branch);
    const bool large = pattern.kind == Kind::kPrefix && pattern.base.is_v6();
    const Label on_net = code_.label();
    check_first_word(range.net, large ? lnet::Nid::kLargeSize : std::uint8_t{0}, offset,
                     {on_net, branch.no, on_net});
    code_.bind(on_net);
    const std::size_t address = offset + kAddress;
    if (pattern.kind == Kind::kPrefix) return compile_prefix(pattern, address, branch);
    if (pattern.kind == Kind::kNumbers) {
      code_.load(kValue, kInput, address, 4);
      code_.calculate(bpf::kToBigEndian, kValue, 32);
      return compile_list(pattern.numbers, branch);
    }
    for (std::size_t i = 0; i < pattern.octets.size(); ++i) {
      code_.load(kValue, kInput, address + i, 1);
      if (i + 1 == pattern.octets.size()) return compile_list(pattern.octets[i], branch);
      const Label fits = code_.label();
      compile_list(pattern.octets[i], {fits, branch.no, fits});
      code_.bind(fits);
    }
  }

  // Word by word, in the order of memory: masks need no swapping.
  void compile_prefix(const lnet::AddressPattern& pattern, std::size_t address,
                      const Branch& branch) {
    std::array<std::uint8_t, 16> mask{};
    for (unsigned bit = 0; bit < pattern.prefix_bits; ++bit)
      mask[bit / 8] = static_cast<std::uint8_t>(mask[bit / 8] | 0x80U >> bit % 8);
    const std::size_t words = (pattern.prefix_bits + 31) / 32;
    for (std::size_t i = 0; i < words; ++i) {
      const auto bits = word_at<std::uint32_t>(mask, 4 * i);
      const auto wanted = word_at<std::uint32_t>(pattern.base.bytes_be, 4 * i) & bits;
      code_.load(kValue, kInput, address + 4 * i, 4);
      code_.calculate(bpf::kAnd, kValue, static_cast<std::int32_t>(bits));
      if (i + 1 == words) return code_.decide(bpf::kEqual, kValue, wanted, kScratch, branch);
      const Label fits = code_.label();
      code_.decide(bpf::kEqual, kValue, wanted, kScratch, {fits, branch.no, fits});
      code_.bind(fits);
    }
  }

  // Tests whether kValue is in the list, which is never empty.
  void compile_list(const lnet::NumberList& list, const Branch& branch) {
    for (std::size_t i = 0; i < list.ranges.size(); ++i) {
      if (i + 1 == list.ranges.size()) return compile_number_range(list.ranges[i], branch);
      const Label next = code_.label();
      compile_number_range(list.ranges[i], {branch.yes, next, next});
      code_.bind(next);
    }
  }

  void compile_number_range(const lnet::NumberRange& range, const Branch& branch) {
    if (range.low == range.high) {
      return code_.decide(bpf::kEqual, kValue, range.low, kScratch, branch);
    }
    const Label above = code_.label();
    code_.decide(bpf::kGreaterOrEqual, kValue, range.low, kScratch, {above, branch.no, above});
    code_.bind(above);
    if (range.stride == 1) {
      return code_.decide(bpf::kLessOrEqual, kValue, range.high, kScratch, branch);
    }
    const Label within = code_.label();
    code_.decide(bpf::kLessOrEqual, kValue, range.high, kScratch, {within, branch.no, within});
    code_.bind(within);
    compile_stride(range, branch);
  }

  void compile_stride(const lnet::NumberRange& range, const Branch& branch) {
    constexpr std::uint32_t kImmediateMax = std::numeric_limits<std::int32_t>::max();
    // No number of 32 bits lies two such strides above another.
    if (range.stride > kImmediateMax || range.low > kImmediateMax) {
      const std::uint64_t second = std::uint64_t{range.low} + range.stride;
      if (second > range.high) {
        return code_.decide(bpf::kEqual, kValue, range.low, kScratch, branch);
      }
    }
    code_.copy(kCopy, kValue);
    code_.immediate(kScratch, range.low);
    code_.calculate_with(static_cast<bpf::Code>(bpf::kSubtract | bpf::kRegister), kCopy, kScratch);
    code_.immediate(kScratch, range.stride);
    code_.calculate_with(static_cast<bpf::Code>(bpf::kModulo | bpf::kRegister), kCopy, kScratch);
    code_.decide(bpf::kEqual, kCopy, 0, kScratch, branch);
  }

  void compile_job(const FilterTerm& term, const JobPattern& pattern, const Branch& wanted) {
    Branch branch = wanted;
    if (term.comparison == Comparison::kNotEqual) std::swap(branch.yes, branch.no);
    // Compares the letters of the pattern and the end of the text.
    std::array<std::uint8_t, kJobIdBytes> text{};
    std::memcpy(text.data(), pattern.text.data(), pattern.text.size());
    const std::size_t letters = pattern.text.size() + (pattern.prefix ? 0 : 1);
    if (letters == 0) {  // kValue has the bit of the field: true, but not known to a verifier
      return code_.decide(bpf::kEqual, kValue, term.field->presence, kScratch, branch);
    }
    const std::size_t words = (letters + 7) / 8;
    for (std::size_t i = 0; i < words; ++i) {
      const std::size_t here = letters - 8 * i;
      const std::uint64_t mask = here >= 8 ? ~0ULL : (1ULL << 8 * here) - 1;
      const auto value = word_at<std::uint64_t>(text, 8 * i) & mask;
      code_.load(kValue, kInput, term.field->offset + 8 * i, 8);
      if (mask != ~0ULL) {
        code_.immediate(kCopy, mask);
        code_.calculate_with(bpf::kAndRegister, kValue, kCopy);
      }
      if (i + 1 == words) return code_.decide(bpf::kEqual, kValue, value, kScratch, branch);
      const Label fits = code_.label();
      code_.decide(bpf::kEqual, kValue, value, kScratch, {fits, branch.no, fits});
      code_.bind(fits);
    }
  }

  const Expression& expression_;
  Assembler code_;
};

}  // namespace

std::uint64_t paths_through(std::span<const BpfInstruction> program) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> paths(program.size() + 1, 0);
  for (std::size_t i = program.size(); i-- > 0;) {
    const BpfInstruction& one = program[i];
    const std::size_t target = i + 1 + static_cast<std::size_t>(one.offset);
    const bool is_jump = (one.code & 7U) == 5 && one.code != bpf::kExit;
    if (one.code == bpf::kExit) {
      paths[i] = 1;
    } else if (!is_jump) {
      paths[i] = paths[i + 1];
    } else if (target > program.size()) {
      return kMax;
    } else if (one.code == bpf::kJump) {
      paths[i] = paths[target];
    } else {
      const std::uint64_t other = paths[target];
      paths[i] = paths[i + 1] > kMax - other ? kMax : paths[i + 1] + other;
    }
  }
  return paths[0];
}

Outcome<BpfProgram> compile(const Expression& expression) {
  BpfProgram program{.instructions = Compiler(expression).run(),
                     .needs_content = expression.needs_content()};
  if (program.instructions.empty() || program.instructions.size() > kBpfInstructionsMax) {
    return failure(Errc::kTooBig, "the filter is too long: its program has more than 4096 steps");
  }
  if (paths_through(program.instructions) > kBpfPathsMax) {
    return failure(Errc::kTooBig,
                   "the filter has too many alternatives that are combined with \"and\": "
                   "a node cannot verify it. Use fewer or wider NID ranges");
  }
  return program;
}

}  // namespace plnet::trace
