// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/trace.hpp"

#include <cstdio>

#include "drivers/net/cassini/commands.hpp"

namespace plnet::cassini {

namespace {

// " name=0x1f" for every non-zero field.
template <class Layout>
void add_fields(std::string& line, const Layout& layout) {
  Layout::each(layout, [&line](const char* name, auto value) {
    const std::string_view field(name);
    if (value == 0 || field == "command" || field == "size" || field == "type" ||
        field == "return_code")
      return;
    char text[32];
    (void)std::snprintf(text, sizeof text, "=0x%llx", static_cast<unsigned long long>(value));
    line += ' ';
    line += field;
    line += text;
  });
}

template <class Layout>
std::string command(const char* name, std::span<const std::uint64_t> words) {
  std::string line = name;
  if (words.size() * 8 < Layout::kBytes) return line + " cut short";
  add_fields(line, Layout::decode(words));
  return line;
}

std::string queue_command(unsigned operation, std::span<const std::uint64_t> words) {
  switch (operation) {
    case opcode::kCqNoop: return "NOOP";
    case opcode::kFence: return "FENCE";
    case opcode::kLcid: return command<QueueCommand>("LCID", words);
    default: return "unknown queue command " + std::to_string(operation);
  }
}

std::string target_command(unsigned operation, std::span<const std::uint64_t> words) {
  switch (operation) {
    case opcode::kAppend: return command<TargetCommand>("APPEND", words);
    case opcode::kSearch: return command<TargetCommand>("SEARCH", words);
    case opcode::kSearchAndDelete: return command<TargetCommand>("SEARCH_AND_DELETE", words);
    case opcode::kUnlink: return command<TargetCommand>("UNLINK", words);
    case opcode::kSetState: return command<SetStateCommand>("SETSTATE", words);
    default: return "unknown target command " + std::to_string(operation);
  }
}

std::string dma_command(unsigned operation, std::span<const std::uint64_t> words) {
  switch (operation) {
    case opcode::kNoop: return "NOOP";
    case opcode::kPut: return command<DmaCommand>("PUT", words);
    case opcode::kGet: return command<DmaCommand>("GET", words);
    case opcode::kRendezvousPut: return command<DmaCommand>("RENDEZVOUS_PUT", words);
    case opcode::kNomatchPut: return command<NomatchDmaCommand>("NOMATCH_PUT", words);
    case opcode::kNomatchGet: return command<NomatchDmaCommand>("NOMATCH_GET", words);
    default: return "DMA command " + std::to_string(operation);
  }
}

std::string idc_command(unsigned operation, std::span<const std::uint64_t> words) {
  switch (operation) {
    case opcode::kNoop: return "NOOP";
    case opcode::kPut: return command<IdcPutCommand>("IDC PUT", words);
    case opcode::kSmallMessage: return command<IdcMessageCommand>("SMALL_MESSAGE", words);
    case opcode::kCState: return command<CStateCommand>("CSTATE", words);
    default: return "IDC command " + std::to_string(operation);
  }
}

template <class Layout>
bool add_event(std::string& line, const Event& event) {
  const auto decoded = event.as<Layout>();
  if (decoded) add_fields(line, *decoded);
  return decoded.has_value();
}

}  // namespace

std::string words_of_command(bool target_queue, std::span<const std::uint64_t> words) {
  if (words.empty()) return "no command";
  const auto byte = static_cast<std::uint8_t>(words[0]);
  switch (type_of(byte)) {
    case CommandType::kIdc: return idc_command(opcode_of(byte), words);
    case CommandType::kDma: return dma_command(opcode_of(byte), words);
    case CommandType::kCounter: return command<CounterCommand>("CT", words);
    case CommandType::kQueue: break;
  }
  return target_queue ? target_command(opcode_of(byte), words)
                      : queue_command(opcode_of(byte), words);
}

std::string words_of_event(const Event& event) {
  std::string line(name_of(event.type));
  line += ' ';
  line += name_of(event.code);
  switch (event.type) {
    case EventType::kSend:
    case EventType::kAck:
    case EventType::kReply: (void)add_event<InitiatorEvent>(line, event); break;
    case EventType::kStateChange: (void)add_event<StateChangeEvent>(line, event); break;
    case EventType::kCommandFailure: (void)add_event<CommandFailureEvent>(line, event); break;
    case EventType::kPct: (void)add_event<PctEvent>(line, event); break;
    default:
      if (!add_event<TargetLongEvent>(line, event)) (void)add_event<TargetEvent>(line, event);
  }
  return line;
}

}  // namespace plnet::cassini
