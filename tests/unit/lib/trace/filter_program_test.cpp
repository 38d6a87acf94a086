// SPDX-License-Identifier: BSD-3-Clause
// Programs of filters, run by librte_bpf: their results must equal those of the expressions.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/runtime/trace/filter_runner.hpp"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/filter/expression.hpp"

namespace plnet::trace::filter_program_test {
namespace {

// Random filters over random inputs; most values come from a small set, so that terms are often
// true.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::string filter(unsigned depth = 0) {
    switch (depth > 3 ? 0 : random_.below(5)) {
      case 1: return "(" + filter(depth + 1) + " and " + filter(depth + 1) + ")";
      case 2: return "(" + filter(depth + 1) + " or " + filter(depth + 1) + ")";
      case 3: return "not " + filter(depth + 1);
      default: return term();
    }
  }

  FilterInput input() {
    FilterInput input;
    auto* const bytes = reinterpret_cast<unsigned char*>(&input);
    for (std::size_t i = 0; i < sizeof input; ++i)
      bytes[i] = random_.below(3) == 0 ? static_cast<unsigned char>(random_.below(5)) : 0;
    input.record.type = static_cast<std::uint8_t>(random_.below(4));
    input.record.source = nid();
    input.record.destination = nid();
    input.record.hop = nid();
    input.status = -static_cast<std::int32_t>(random_.below(3));
    input.job = {};
    for (std::size_t i = 0; i < random_.below(4); ++i)
      input.job[i] = static_cast<char>('a' + random_.below(2));
    return input;
  }

 private:
  lnet::Nid nid() {
    if (random_.below(4) == 0) {
      return lnet::nid_of(
          lnet::make_net(lnet::NetType::kTcp),
          lnet::parse_ip(random_.below(2) == 0 ? "2001:db8::1" : "a00:1::").value());
    }
    if (random_.below(20) == 0) return lnet::Nid::any();
    const auto type = random_.below(2) == 0 ? lnet::NetType::kTcp : lnet::NetType::kKfi;
    return lnet::Nid::of(type, static_cast<std::uint16_t>(random_.below(2) * 200),
                         static_cast<std::uint32_t>(0x0a000000 + random_.below(20)));
  }

  std::string term() {
    static constexpr std::array kRanges = std::to_array<const char*>(
        {"10.0.0.[1-9/2]@tcp", "*@tcp", "10.0.0.0/28@tcp", "2001:db8::/32@tcp", "10.0.0.3@tcp200",
         "[167772160-167772170/3]@kfi", "*@kfi200", "10.[0-9].*.[1-3,7,9-15/3]@tcp",
         "2001:db8::1@tcp", "0.0.0.0/1@tcp"});
    static constexpr std::array kComparisons =
        std::to_array<const char*>({"=", "!=", "<", "<=", ">", ">="});
    const auto fields = filter_fields();
    const Field& field = fields[random_.below(fields.size())];
    const bool ordered = field.kind == FieldKind::kNumber || field.kind == FieldKind::kSigned;
    const std::string comparison = kComparisons[random_.below(ordered ? kComparisons.size() : 2)];
    const std::string begin = std::string(field.name) + comparison;
    switch (field.kind) {
      case FieldKind::kNid: return begin + kRanges[random_.below(kRanges.size())];
      case FieldKind::kNet: return begin + (random_.below(2) == 0 ? "tcp" : "kfi200");
      case FieldKind::kJob: {
        static constexpr std::array kJobs =
            std::to_array<const char*>({"a", "ab", "a*", "EMPTY", "*", "abababababab*"});
        return begin + kJobs[random_.below(kJobs.size())];
      }
      default: break;
    }
    if (random_.below(6) == 0) return begin + std::to_string(random_.next());
    if (random_.below(6) == 0) return begin + "0x80000000";
    return begin + std::to_string(random_.below(5));
  }

  Random random_;
};

// Overwrites the words that a node fills in for matching messages only.
void spoil_rest(FilterInput& input) {
  auto* const bytes = reinterpret_cast<unsigned char*>(&input.record);
  for (std::size_t at = 0; at < sizeof input.record; ++at) {
    if (!is_brief(at, 1)) bytes[at] = static_cast<unsigned char>(~bytes[at]);
  }
}

TEST(TraceFilterProgram, MeansTheSameAsExpression) {
  std::size_t hits = 0;
  std::size_t filters = 0;
  std::size_t brief = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Maker maker(seed);
    const std::string text = maker.filter();
    const auto expression = Expression::parse(text);
    ASSERT_TRUE(expression.has_value()) << text << ": " << expression.error().what;
    const auto program = compile(*expression);
    if (!program) continue;
    const auto runner = runtime::FilterRunner::load(*program);
    ASSERT_TRUE(runner.has_value()) << text;
    ++filters;
    for (int i = 0; i < 50; ++i) {
      FilterInput input = maker.input();
      const bool wanted = expression->matches(input);
      hits += wanted ? 1 : 0;
      ASSERT_EQ(runner->matches(input), wanted) << text << " seed " << seed;
      ASSERT_EQ(runner->interpret(input), wanted) << text << " seed " << seed;
      if (!runner->reads_brief_only()) continue;
      ++brief;
      spoil_rest(input);
      ASSERT_EQ(runner->matches(input), wanted) << text << " seed " << seed;
    }
  }
  EXPECT_GT(brief, 1000U);
  EXPECT_GT(filters, 350U);
  EXPECT_GT(hits, filters * 5);
}

TEST(TraceFilterProgram, EmptyFilterMatches) {
  const auto runner = runtime::FilterRunner::load(compile(Expression()).value());
  ASSERT_TRUE(runner.has_value());
  FilterInput input;
  EXPECT_TRUE(runner->matches(input));
#if defined(__x86_64__)
  EXPECT_TRUE(runner->is_machine_code());
#endif
}

TEST(TraceFilterProgram, KnowsWhetherBriefWordsWillDo) {
  const auto is_brief = [](std::vector<BpfInstruction> instructions) {
    instructions.push_back({.code = bpf::kExit});
    return runtime::FilterRunner::load({.instructions = std::move(instructions)})
        .value()
        .reads_brief_only();
  };
  const BpfInstruction load_source{.code = bpf::kLoadWord, .registers = 0x10, .offset = 48};
  const BpfInstruction load_time{.code = bpf::kLoadDouble, .registers = 0x10, .offset = 0};
  const BpfInstruction move_input{.code = bpf::kMoveRegister, .registers = 0x12};
  const BpfInstruction load_by_copy{.code = bpf::kLoadWord, .registers = 0x20, .offset = 48};
  EXPECT_TRUE(is_brief({load_source}));
  EXPECT_FALSE(is_brief({load_source, load_time}));
  EXPECT_FALSE(is_brief({move_input, load_by_copy}));
  EXPECT_FALSE(is_brief({{.code = 0x07, .registers = 0x01, .immediate = 8}, load_source}));
}

TEST(TraceFilterProgram, RefusesReadsOutsideInput) {
  BpfProgram program{.instructions = {{.code = bpf::kLoadDouble, .registers = 0x10, .offset = 272},
                                      {.code = bpf::kExit}}};
  EXPECT_FALSE(runtime::FilterRunner::load(program).has_value());
  program.instructions[0].offset = 264;
  EXPECT_TRUE(runtime::FilterRunner::load(program).has_value());
}

}  // namespace
}  // namespace plnet::trace::filter_program_test
