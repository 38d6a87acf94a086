// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/command_form.hpp"

#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/layout_command.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kFirstWord = 8;
constexpr unsigned kTriggeredBytes = 128;
constexpr unsigned kDmaAtomicBytes = 96;  // the rest of its 128 is never written

unsigned size_code_of(unsigned bytes) {
  return bytes <= 32 ? 0 : bytes <= 64 ? 1 : bytes <= 128 ? 2 : 3;
}

}  // namespace

CommandView command_at(const std::byte* at) {
  return {.at = at,
          .bytes = kUnitBytes << layout::Command::CmdSize::get(at),
          .type = static_cast<CommandType>(layout::Command::CmdType::get(at)),
          .opcode = static_cast<unsigned>(layout::Command::Opcode::get(at))};
}

unsigned written_bytes(const CommandView& command) {
  if (command.opcode == 0) return kFirstWord;
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  switch (command.type) {
    case CommandType::kCq:
      return command.opcode >= static_cast<unsigned>(CqOpcode::kAppend) ? command.bytes
                                                                        : kFirstWord;
    case CommandType::kCt: {
      if (static_cast<CtOpcode>(command.opcode) != CtOpcode::kTriggeredDma)
        return layout::Counting::kBytes;
      if (command.bytes < kTriggeredBytes) return command.bytes;
      const std::byte* const inner = command.at + layout::Counting::kBytes;
      const auto size_code = static_cast<unsigned>(layout::Command::CmdSize::get(inner));
      return layout::Counting::kBytes + std::min(kUnitBytes << size_code, kDmaAtomicBytes);
    }
    case CommandType::kIdc: {
      const bool has_length = opcode == DmaOpcode::kPut || opcode == DmaOpcode::kSmallMessage;
      const auto length = static_cast<unsigned>(layout::IdcPut::Length::get(command.at));
      return has_length ? std::clamp(length / 8 * 8, kFirstWord, command.bytes) : command.bytes;
    }
    case CommandType::kDma: return std::min(command.bytes, kDmaAtomicBytes);
  }
  return command.bytes;
}

ReturnCode size_of(const CommandView& command) {
  const auto size_code = static_cast<unsigned>(layout::Command::CmdSize::get(command.at));
  const auto want = [&](unsigned code) {
    return size_code == code ? ReturnCode::kOk : ReturnCode::kCmdInvalidArg;
  };
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  const auto length = static_cast<unsigned>(layout::IdcPut::Length::get(command.at));
  if (command.type == CommandType::kDma) {
    if (opcode == DmaOpcode::kPut || opcode == DmaOpcode::kGet ||
        opcode == DmaOpcode::kRendezvousPut)
      return want(1);
    if (opcode == DmaOpcode::kNomatchPut || opcode == DmaOpcode::kNomatchGet) return want(0);
    if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic) return want(2);
    return ReturnCode::kIllegalOp;
  }
  if (command.type == CommandType::kIdc) {
    if (opcode == DmaOpcode::kCstate) return length == 32 ? want(0) : ReturnCode::kCmdInvalidArg;
    if (opcode == DmaOpcode::kPut)
      return length >= 16 && length <= 240 ? want(size_code_of(length))
                                           : ReturnCode::kCmdInvalidArg;
    if (opcode == DmaOpcode::kAtomic && length == layout::SmallAtomic::kBytes) return want(0);
    if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic)
      return length == layout::IdcAtomic::kBytes ? want(1) : ReturnCode::kCmdInvalidArg;
    if (opcode == DmaOpcode::kSmallMessage)  // never less than 64 bytes
      return length >= 32 && length <= 224 ? want(size_code_of(length < 64 ? 64 : length))
                                           : ReturnCode::kCmdInvalidArg;
    return ReturnCode::kIllegalOp;
  }
  if (command.type == CommandType::kCt) {
    if (command.opcode > static_cast<unsigned>(CtOpcode::kTriggeredEvent))
      return ReturnCode::kIllegalOp;
    return want(static_cast<CtOpcode>(command.opcode) == CtOpcode::kTriggeredDma ? 2 : 1);
  }
  return want(1);
}

namespace {

template <class Layout>
bool reserved_set(const CommandView& command) {
  std::uint64_t wrong = 0;
  const std::size_t words = std::min<std::size_t>(Layout::kBytes, written_bytes(command)) / 8;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, command.at + i * 8, sizeof word);
    wrong |= word & ~Layout::kUsed[i];
  }
  return wrong != 0;
}

}  // namespace

bool has_reserved_bits(const CommandView& command) {
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  switch (command.type) {
    case CommandType::kDma:
      if (command.bytes == layout::DmaAtomic::kBytes)
        return reserved_set<layout::DmaAtomic>(command);
      return command.bytes == layout::FullDma::kBytes ? reserved_set<layout::FullDma>(command)
                                                      : reserved_set<layout::NomatchDma>(command);
    case CommandType::kIdc:
      if (opcode == DmaOpcode::kCstate) return reserved_set<layout::Cstate>(command);
      if (opcode == DmaOpcode::kPut) return reserved_set<layout::IdcPut>(command);
      if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic)
        return command.bytes == layout::SmallAtomic::kBytes
                   ? reserved_set<layout::SmallAtomic>(command)
                   : reserved_set<layout::IdcAtomic>(command);
      return reserved_set<layout::IdcMessage>(command);
    case CommandType::kCt: return reserved_set<layout::Counting>(command);
    case CommandType::kCq:
      if (static_cast<CqOpcode>(command.opcode) == CqOpcode::kSetstate)
        return reserved_set<layout::SetState>(command);
      // Producers clear only the first word of the short ones.
      return command.opcode >= static_cast<unsigned>(CqOpcode::kAppend) &&
             reserved_set<layout::Target>(command);
  }
  return false;
}

}  // namespace plnet::cassini::soft
