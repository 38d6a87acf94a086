// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/trace.hpp"

#include <gtest/gtest.h>

#include "drivers/net/cassini/commands.hpp"
#include "lib/base/random.hpp"
#include "tests/unit/drivers/cassini/driver/queue_memory.hpp"

namespace plnet::cassini::trace_test {
namespace {

TEST(CassiniTrace, CommandsInWords) {
  const DmaCommand put{.command = command_byte(CommandType::kDma, SizeCode::k64, opcode::kPut),
                       .dfa = 0x2b3001,
                       .request_len = 64,
                       .match_bits = 0x0100'0000'0000'0000};
  EXPECT_EQ(words_of_command(false, put.encode()),
            "PUT dfa=0x2b3001 request_len=0x40 match_bits=0x100000000000000");
  const TargetCommand unlink{
      .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kUnlink),
      .ptlte_index = 12,
      .buffer_id = 300};
  EXPECT_EQ(words_of_command(true, unlink.encode()), "UNLINK ptlte_index=0xc buffer_id=0x12c");
  const SetStateCommand enable{
      .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kSetState),
      .ptlte_state = 2,
      .drop_count = kIgnoreDrops};
  EXPECT_EQ(words_of_command(true, enable.encode()),
            "SETSTATE ptlte_state=0x2 drop_count=0xffffff");
  const QueueCommand lcid{
      .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kLcid), .lcid = 5};
  EXPECT_EQ(words_of_command(false, lcid.encode()), "LCID lcid=0x5");
  EXPECT_EQ(words_of_command(false, {}), "no command");
  const DmaCommand::Words whole = put.encode();
  EXPECT_EQ(words_of_command(false, std::span(whole).first(4)), "PUT cut short");
}

TEST(CassiniTrace, EveryFirstByteHasWords) {
  Random random(1);
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<std::uint64_t, 8> words{};
    for (std::uint64_t& word : words)
      word = random.next();
    words[0] = (words[0] & ~0xffULL) | byte;
    for (const bool target : {false, true})
      EXPECT_FALSE(words_of_command(target, words).empty());
  }
}

TEST(CassiniTrace, EventsInWords) {
  EventMemory memory(4096);
  EventQueue queue(memory.queue());
  memory.write(
      64, InitiatorEvent{.user_ptr = 7, .mlength = 64, .size = 1, .type = 9, .return_code = 18});
  memory.write(80, CommandFailureEvent{
                       .cq_id = 5, .fail_loc = 100, .size = 1, .type = 17, .return_code = 50});
  memory.write(96, TargetEvent{.size = 2, .type = 0, .buffer_id = 300, .return_code = 1});
  memory.write(128, StateChangeEvent{.ptlte_state = 2, .size = 3, .type = 13, .return_code = 1});
  memory.write(192, PlainEvent{.size = 1, .type = 25, .return_code = 63});
  std::vector<std::string> lines;
  EXPECT_EQ(queue.poll(10, [&](const Event& event) { lines.push_back(words_of_event(event)); }),
            5U);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"ACK ENTRY_NOT_FOUND user_ptr=0x7 mlength=0x40",
                                      "COMMAND_FAILURE CMD_INVALID_ARG cq_id=0x5 "
                                      "fail_loc=0x64",
                                      "PUT OK buffer_id=0x12c", "STATE_CHANGE OK ptlte_state=0x2",
                                      "unknown unknown"}));
}

}  // namespace
}  // namespace plnet::cassini::trace_test
