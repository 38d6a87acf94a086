// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/command_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "drivers/net/cassini/soft/command_form.hpp"
#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/shared_word.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

// The words of a ring that the process has not written since the device took a command there. No
// command has them, so a low-latency write that is older equals nothing that is there now.
// Producers set the operation and type of a small atomic in the word that is there: both are 15
// here, which no atomic has, so that the word changes.
constexpr std::uint64_t kUnwritten = 0x9d3f'71c2'e85b'afbf;

void erase(std::byte* at, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 8)
    release_word(at + i, kUnwritten);
}

bool is_written(const std::byte* at, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 8) {
    if (acquire_word(const_cast<std::byte*>(at) + i) == kUnwritten) return false;
  }
  return true;
}

// A change of the profile goes with the NOOP behind it.
unsigned bytes_together(const CommandView& command) {
  const bool is_pair =
      command.type == CommandType::kCq && static_cast<CqOpcode>(command.opcode) == CqOpcode::kLcid;
  return is_pair ? command.bytes + kSlotBytes : command.bytes;
}

// False as long as the process writes one of them, perhaps the last half of a write.
bool holds_whole_commands(const std::byte* at, unsigned bytes) {
  while (bytes > 0) {
    if (!is_written(at, 8)) return false;
    const CommandView command = command_at(at);
    if (bytes_together(command) > bytes || !is_written(at, written_bytes(command))) return false;
    at += command.bytes;
    bytes -= command.bytes;
  }
  return true;
}

// Compares word by word: the process may be writing the first of them.
bool same_bytes(const std::byte* window, const std::byte* ring, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 8) {
    auto* const word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(window + i));
    std::uint64_t there = 0;
    std::memcpy(&there, ring + i, sizeof there);
    if (std::atomic_ref(*word).load(std::memory_order_acquire) != there) return false;
  }
  return true;
}

}  // namespace

void CommandQueue::PageDelete::operator()(std::byte* memory) const {
  if (!is_borrowed) ::operator delete[](memory, std::align_val_t{kPageBytes});
}

CommandQueue::Pages CommandQueue::pages(std::size_t bytes, std::byte* borrowed) {
  if (borrowed != nullptr) return Pages(borrowed, PageDelete{.is_borrowed = true});
  auto* const memory =
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kPageBytes}));
  std::memset(memory, 0, bytes);
  return Pages(memory, PageDelete{});
}

CommandQueue::CommandQueue(const Setup& asked, NicStats& stats)
    : setup(asked),
      stats_(stats),
      slots_(asked.slots),
      units_(asked.slots * 2),
      ring_(pages(std::size_t{asked.slots} * kSlotBytes, asked.memory)),
      launch_(pages(kLaunchPageBytes)) {
  PLNET_CHECK(slots_ % (kPageBytes / kSlotBytes) == 0 && slots_ <= kQueueSlotsMax,
              "a ring is whole pages");
  release_word(launch_.get(), kFirstSlot);
  for (const std::size_t window : {kWindow64, kWindow128Aligned, kWindow128Skip})
    erase(launch_.get() + window, kWindowSlots * kSlotBytes);
  erase(ring_.get() + std::size_t{kFirstUnit} * kUnitBytes, (units_ - kFirstUnit) * kUnitBytes);
  write_status();
}

unsigned CommandQueue::lap() const {
  return units_ - kFirstUnit;
}

unsigned CommandQueue::distance(unsigned from, unsigned to) const {
  return (to + lap() - from) % lap();
}

// The process may write this far: one slot stays unused.
unsigned CommandQueue::free_units() const {
  return (published_ + lap() - 2 - written_) % lap();
}

// The process writes the place again only after the status has told that it may.
void CommandQueue::advance(unsigned units) {
  erase(ring_.get() + std::size_t{read_} * kUnitBytes, units * kUnitBytes);
  read_ += units;
  if (read_ >= units_) read_ = kFirstUnit;
}

// The next unit whose low-latency writes have the same slot of a window: they have 16.
unsigned CommandQueue::same_window_slot_after(unsigned unit) const {
  constexpr unsigned kLap = 2 * kWindowSlots;
  if (unit + kLap < units_) return unit + kLap;
  const unsigned first = unit % kLap;
  return first < kFirstUnit ? first + kLap : first;
}

// A low-latency write equals the ring, where the command is as well, since the device may always
// reject the write. A window has 16 slots: the slot may already hold a later write, which then
// equals the ring further on. The device clears nothing in a window, since the process may be
// writing there. An equal earlier write therefore announces a command a little before the process
// does, but never half of one.
bool CommandQueue::poll_window(std::size_t window, unsigned unit, unsigned units) {
  const std::byte* const ring = ring_.get();
  const std::byte* const at =
      launch_.get() + window + std::size_t{unit / 2 & (kWindowSlots - 1)} * kSlotBytes;
  if (!is_written(at, 8)) return false;
  // Commands that wait to be executed lie between read_ and unit.
  const unsigned free = lap() - distance(read_, unit);
  const unsigned bytes = units * kUnitBytes;
  const auto announces = [&](unsigned there) {
    const std::byte* const commands = ring + std::size_t{there} * kUnitBytes;
    return there + units <= units_ && same_bytes(at, commands, bytes) &&
           (there != unit || holds_whole_commands(commands, bytes));
  };
  unsigned ahead = 0;
  for (unsigned there = unit; !announces(there);) {
    there = same_window_slot_after(there);
    const unsigned further = distance(unit, there);
    if (further <= ahead || further >= free) return false;
    ahead = further;
  }
  // A later write may have announced a command that is longer than a slot.
  const CommandView first = command_at(ring + std::size_t{unit} * kUnitBytes);
  const unsigned end = unit + std::max(units, bytes_together(first) / kUnitBytes);
  const unsigned after = end >= units_ ? kFirstUnit : end;
  if (distance(written_, after) > free_units()) return false;  // a process that overwrites
  written_ = after;
  stats_.add(NicStats::Id::kLowLatency);
  return true;
}

// An equal earlier write may have announced the first slot of 128 bytes before the process writes
// both to a window, so each slot counts by itself.
bool CommandQueue::poll_windows() {
  const unsigned unit = written_;
  if (!is_written(ring_.get() + std::size_t{unit} * kUnitBytes, 8)) return false;
  const bool aligned = unit % 4 == 0;
  if (aligned && (poll_window(kWindow128Aligned, unit, 4) || poll_window(kWindow128Skip, unit, 4)))
    return true;
  for (const std::size_t window : {kWindow64, kWindow128Aligned, kWindow128Skip})
    if (poll_window(window, unit, 2)) return true;
  return !aligned && poll_window(kWindow128Skip, unit + 2 >= units_ ? kFirstUnit : unit + 2, 4);
}

// False: a producer that continues past its announced position overwrites unread commands.
// Low-latency writes from `from` on may have led past the doorbell, which then tells nothing new.
bool CommandQueue::take_doorbell(std::uint64_t word, unsigned from) {
  doorbell_ = word;
  if (word < kFirstSlot || word >= slots_) return false;
  const unsigned position = static_cast<unsigned>(word) * 2;
  if (distance(from, position) <= distance(from, written_)) return true;
  if (distance(written_, position) > free_units()) return false;
  written_ = position;
  return true;
}

bool CommandQueue::poll(Random* rejecting, double chance) {
  if (stopped()) return false;
  const unsigned from = written_;
  while (poll_windows()) {
    if (rejecting != nullptr && rejecting->chance(chance)) {
      ++rejected_;
      stats_.add(NicStats::Id::kLowLatencyRejected);
    }
  }
  // Rung since the last look, so not before the commands that were seen then.
  std::uint64_t word = acquire_word(launch_.get());
  const bool windows = written_ != from;
  if (word != doorbell_ && !take_doorbell(word, from)) {
    fail(ring_.get() + std::size_t{read_} * kUnitBytes, ReturnCode::kCmdInvalidArg);
    return false;
  }
  if (windows && doorbell_ != 0) {
    // The same value may be rung again one lap later, so the doorbell is cleared. If it has been
    // rung meanwhile, that is a new value, whatever it is.
    const std::atomic_ref doorbell(*reinterpret_cast<std::uint64_t*>(launch_.get()));
    doorbell.compare_exchange_strong(word, 0);
    doorbell_ = 0;
  }
  return written_ != read_;
}

CommandView CommandQueue::next() {
  while (!stopped() && read_ != written_) {
    const std::byte* at = ring_.get() + std::size_t{read_} * kUnitBytes;
    const CommandView command = command_at(at);
    if (const ReturnCode code = check(command); code != ReturnCode::kOk) {
      fail(at, code);
      return {};
    }
    if (command.opcode != 0) {
      if (has_reserved_bits(command)) stats_.add(NicStats::Id::kReservedBits);
      return command;
    }
    advance(command.bytes / kUnitBytes);
  }
  return {};
}

ReturnCode CommandQueue::check(const CommandView& command) const {
  const unsigned units = command.bytes / kUnitBytes;
  const auto size_code = static_cast<unsigned>(layout::Command::CmdSize::get(command.at));
  if (read_ % units != 0) return ReturnCode::kCmdAlignError;
  if (units > distance(read_, written_))
    return ReturnCode::kCmdInvalidArg;  // its end was never written
  if (command.opcode == 0) {
    // Padding is recognised by its first word; the rest of a NOOP may be anything.
    std::uint64_t word = 0;
    std::memcpy(&word, command.at, sizeof word);
    const std::uint64_t dirt = word & ~std::uint64_t{0xff};
    if (command.type == CommandType::kIdc || command.type == CommandType::kDma)
      return dirt == 0 && setup.transmit ? ReturnCode::kOk
             : dirt == 0 && word == 0    ? ReturnCode::kOk
                                         : ReturnCode::kCmdInvalidArg;
    if (command.type == CommandType::kCt && !setup.transmit) return ReturnCode::kIllegalOp;
    return size_code == 1 ? ReturnCode::kOk : ReturnCode::kCmdInvalidArg;
  }
  const bool target = command.type == CommandType::kCq &&
                      command.opcode >= static_cast<unsigned>(CqOpcode::kAppend);
  if (target == setup.transmit) return ReturnCode::kIllegalOp;
  if (command.type == CommandType::kCq) {
    const auto last = static_cast<unsigned>(target ? CqOpcode::kSetstate : CqOpcode::kLcid);
    if (command.opcode > last) return ReturnCode::kIllegalOp;
  }
  return size_of(command);
}

bool CommandQueue::pair_complete(const CommandView& first) const {
  if (read_ % 4 != 0 || distance(read_, written_) < 4) return false;
  const std::byte* const second = first.at + kSlotBytes;
  return static_cast<CommandType>(layout::Command::CmdType::get(second)) == CommandType::kCq &&
         layout::Command::Opcode::get(second) == 0 && layout::Command::CmdSize::get(second) == 1;
}

void CommandQueue::stop(const CommandView& command, ReturnCode code) {
  fail(command.at, code);
}

void CommandQueue::fail(const std::byte* at, ReturnCode code) {
  failure_ = code;
  failed_unit_ = read_;
  failed_byte_ = std::to_integer<std::uint8_t>(at[0]);
  stats_.add(NicStats::Id::kCommandFailures);
  write_status();
}

void CommandQueue::write_status() {
  std::byte block[8]{};
  using Status = layout::CqStatus;
  Status::RdPtr::set(block, read_ / 2);
  Status::Rejected::set(block, rejected_);
  Status::ReturnCodeField::set(block, static_cast<std::uint64_t>(failure_));
  if (stopped()) {
    block[4] = static_cast<std::byte>(failed_byte_);
    Status::FailLoc32::set(block, failed_unit_ & 1);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, block, sizeof word);
  release_word(ring_.get(), word);
  published_ = read_;
}

void CommandQueue::publish(bool burst_ended) {
  if (read_ == published_ || stopped()) return;
  const unsigned done = distance(published_, read_);
  const bool empty = read_ == written_;
  unsigned often = 1;
  if (setup.policy == UpdatePolicy::kHighFreqEmpty) often = lap() / 16;
  if (setup.policy == UpdatePolicy::kLowFreqEmpty || setup.policy == UpdatePolicy::kLowFreq)
    often = lap() / 4;
  const bool tells_empty = setup.policy != UpdatePolicy::kLowFreq;
  if (done >= often || (burst_ended && empty && tells_empty)) write_status();
}

}  // namespace plnet::cassini::soft
