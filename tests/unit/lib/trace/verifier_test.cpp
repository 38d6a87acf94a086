// SPDX-License-Identifier: BSD-3-Clause
// Programs of users: refused with the instruction and the reason, or safe to run.
#include "lib/trace/filter/verifier.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnetdump/lnetdump_filter.h"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/filter/expression.hpp"

namespace plnet::trace::verifier_test {
namespace {

using Program = std::vector<BpfInstruction>;

// The header for C programs has the same layout as FilterInput.
#define PLNET_SAME(theirs, ours) \
  static_assert(offsetof(lnetdump_message, theirs) == offsetof(FilterInput, ours))
static_assert(sizeof(lnetdump_message) == sizeof(FilterInput));
PLNET_SAME(source, record.source);
PLNET_SAME(destination, record.destination);
PLNET_SAME(hop, record.hop);
PLNET_SAME(payload_length, record.payload_length);
PLNET_SAME(direction, record.direction);
PLNET_SAME(type, record.type);
PLNET_SAME(interface, record.interface);
PLNET_SAME(present, present);
PLNET_SAME(match_bits, match_bits);
PLNET_SAME(sink_length, sink_length);
PLNET_SAME(xid, xid);
PLNET_SAME(intent, intent);
PLNET_SAME(job, job);
PLNET_SAME(opcode, opcode);
PLNET_SAME(status, status);
PLNET_SAME(selftest_type, selftest_type);
PLNET_SAME(gid, gid);
PLNET_SAME(tag, tag);
static_assert(LNETDUMP_HAS_PROJECT == static_cast<int>(kHasProject));
static_assert(LNETDUMP_HAS_SELFTEST_TYPE == static_cast<int>(kHasSelftestType));
static_assert(LNETDUMP_DROPPED == static_cast<int>(Direction::kDropped));
static_assert(LNETDUMP_REPLY == static_cast<int>(lnet::MessageType::kReply));

constexpr BpfInstruction kReturn{.code = bpf::kExit};
constexpr BpfInstruction set_r0(std::int32_t value) {
  return {.code = bpf::kMove, .registers = 0, .immediate = value};
}

std::string refusal(const Program& program) {
  const auto verified = verify(program);
  return verified ? "accepted" : verified.error().what;
}

TEST(TraceVerifier, AcceptsCompiledFilters) {
  for (const char* const text :
       {"", "portal OST_IO", "src 10.0.0.0/24@tcp and len > 4096", "opc OST_READ or jobid dd.*",
        "not (status != 0) and intent OPEN|CREAT", "net o2ib1 or nid [22-25]@kfi"}) {
    const auto expression = Expression::parse(text);
    const auto program = compile(*expression);
    ASSERT_TRUE(program.has_value());
    const auto verified = verify(program->instructions);
    ASSERT_TRUE(verified.has_value()) << text << ": " << verified.error().what;
    EXPECT_EQ(verified->instructions, program->instructions);
    if (program->needs_content) {
      EXPECT_TRUE(verified->needs_content) << text;
    }
  }
}

TEST(TraceVerifier, AcceptsStackAndMovedPointers) {
  EXPECT_EQ(refusal({{.code = 0xbf, .registers = 0x12},                            // r2 = r1
                     {.code = 0x07, .registers = 0x02, .immediate = 128},          // r2 += 128
                     {.code = bpf::kLoadWord, .registers = 0x23, .offset = 4},     // r3 = [r2 + 4]
                     {.code = 0x7b, .registers = 0x3a, .offset = -8},              // [r10 - 8] = r3
                     {.code = bpf::kLoadDouble, .registers = 0xa0, .offset = -8},  // r0 = [r10 - 8]
                     kReturn}),
            "accepted");
}

TEST(TraceVerifier, NamesInstructionAndReason) {
  struct Case {
    Program program;
    const char* what;
  };
  const std::vector<Case> cases{
      {{}, "a program has 1 to 4096 instructions, this one 0"},
      {{set_r0(1)}, "instruction 0: the program goes on behind its last instruction"},
      {{kReturn}, "instruction 0: the result (r0) is no number on every path"},
      {{set_r0(1), kReturn, kReturn}, "instruction 2: no path leads here"},
      {{set_r0(1), {.code = bpf::kJump, .offset = -2}},
       "instruction 1: a jump leads backward: loops are not allowed"},
      {{{.code = bpf::kLoadDouble, .registers = 0x10, .offset = 272}, kReturn},
       "instruction 0: 8 bytes at 272 are outside of the message, which has 272 bytes"},
      {{{.code = bpf::kLoadByte, .registers = 0x10, .offset = -1}, kReturn},
       "instruction 0: 1 byte at -1 is outside of the message, which has 272 bytes"},
      {{{.code = bpf::kLoadByte, .registers = 0x20}, kReturn},
       "instruction 0: the address is no pointer, or differs between paths"},
      {{{.code = 0x7a, .registers = 0x01}, kReturn},
       "instruction 0: the message cannot be changed"},
      {{{.code = bpf::kLoadDouble, .registers = 0xa0, .offset = -8}, kReturn},
       "instruction 0: the stack is read where nothing was written"},
      {{{.code = 0x7b, .registers = 0x1a, .offset = -8}, kReturn},
       "instruction 0: only numbers can be stored: the register is not set, or is a pointer"},
      {{{.code = 0x85, .immediate = 1}, kReturn}, "instruction 0: functions cannot be called"},
      {{set_r0(1), {.code = 0x37, .registers = 0}, kReturn}, "instruction 1: a division by zero"},
      {{set_r0(1), {.code = 0x9c, .registers = 0}, kReturn},
       "instruction 1: a register is divided by itself"},
      {{set_r0(1), {.code = 0x67, .registers = 0, .immediate = 64}, kReturn},
       "instruction 1: a shift by more bits than there are"},
      {{{.code = bpf::kMove, .registers = 0x0a}, kReturn},
       "instruction 0: the frame pointer cannot be changed"},
      {{{.code = 0x1d, .registers = 0x11}, kReturn},
       "instruction 0: only numbers can be compared: a register is not set, or is a pointer"},
      {{{.code = 0x18, .registers = 0x10}, {}, kReturn},
       "instruction 0: a load of this kind is not known (maps and packets are not there)"},
      {{set_r0(1), {.code = 0x16, .offset = 0}, kReturn},
       "instruction 1: 32-bit jumps are not known to librte_bpf; compile with -mcpu=v2"},
      {{set_r0(1), {.code = 0xdb, .registers = 0x0a, .offset = -8}, kReturn},
       "instruction 1: atomic operations are not allowed"},
      {{{.code = bpf::kMove, .registers = 0x0c}, kReturn},
       "instruction 0: a register of this number does not exist"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(refusal(one.program), one.what);
}

TEST(TraceVerifier, JoinsPathsByCommonFacts) {
  // r2 is a pointer on one path only.
  const Program program{set_r0(0),
                        {.code = bpf::kLoadWord, .registers = 0x13, .offset = 116},
                        {.code = bpf::kMove, .registers = 0x02, .immediate = 5},
                        {.code = bpf::kEqual, .registers = 0x03, .offset = 1, .immediate = 7},
                        {.code = 0xbf, .registers = 0x12},
                        {.code = bpf::kLoadByte, .registers = 0x20},
                        kReturn};
  EXPECT_EQ(refusal(program), "instruction 5: the address is no pointer, or differs between paths");
}

TEST(TraceVerifier, ProgramsAreTextAndBack) {
  const auto program = compile(*Expression::parse("len > 10 and portal 5"))->instructions;
  const std::string text = program_text(program);
  EXPECT_EQ(text.size(), program.size() * 16);
  EXPECT_EQ(parse_program_text(text).value(), program);
  EXPECT_FALSE(parse_program_text("12").has_value());
  EXPECT_FALSE(parse_program_text("95000000000000zz").has_value());
  EXPECT_FALSE(parse_program_text(std::string(16 * 4097, '0')).has_value());
  EXPECT_TRUE(parse_program_text("")->empty());
}

}  // namespace
}  // namespace plnet::trace::verifier_test
