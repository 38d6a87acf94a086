// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/command_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "drivers/net/cassini/commands.hpp"
#include "drivers/net/cassini/fence.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini {

CommandQueue::CommandQueue(const CommandQueueMemory& memory, Padding padding)
    : memory_(memory), padding_(padding), units_(memory.slots * 2) {
  // So that the largest command never wraps around the end.
  PLNET_CHECK(memory.slots >= 8 && memory.slots <= 65536 && memory.slots % 4 == 0,
              "a command queue has 8 to 65536 slots, in fours");
  PLNET_CHECK(memory.commands != nullptr && memory.launch_page != nullptr,
              "a command queue has memory and a launch page");
  free_ = free_units(kFirstUnit / 2, unit_, units_);
}

CommandQueueStatus CommandQueue::status() const {
  // One load, so that the fields are consistent; acquire, so that slots are not overwritten before
  // the device has read them.
  const std::uint64_t word = little(
      __atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory_.commands), __ATOMIC_ACQUIRE));
  return CommandQueueStatus::decode({&word, 1});
}

bool CommandQueue::failed() const {
  if (memory_.commands == nullptr) return false;
  const CommandQueueStatus now = status();
  return now.return_code != static_cast<unsigned>(ReturnCode::kOk) &&
         now.return_code != static_cast<unsigned>(ReturnCode::kNoEvent);
}

bool CommandQueue::drained() const {
  return memory_.commands == nullptr || status().rd_ptr * 2U == rung_;
}

std::uint64_t CommandQueue::begun() const {
  if (memory_.commands == nullptr) return pushed_;
  unsigned from = rung_;
  if (failed()) {
    // The failed command has no effect, and the device stops at it.
    const unsigned read = status().rd_ptr;
    // An invalid position: the device may have begun any command.
    if (read < kFirstUnit / 2 || read >= memory_.slots) return pushed_;
    from = read * 2;
  }
  const unsigned ring = units_ - kFirstUnit;
  PLNET_DEBUG_CHECK(unit_ >= kFirstUnit && unit_ < units_, "the first units hold the status");
  return pushed_ - (unit_ + ring - from) % ring;
}

unsigned CommandQueue::padding_before(SizeCode size) const {
  return aligned_unit(unit_, size) - unit_;
}

bool CommandQueue::has_room(SizeCode size) {
  const int needed = static_cast<int>(padding_before(size) + bytes_of(size) / kUnitBytes);
  if (free_ >= needed + kCacheFloor) return true;
  if (memory_.commands == nullptr) return false;
  const unsigned read = status().rd_ptr;
  // An invalid position is ignored; the status block reports the failure.
  if (read < kFirstUnit / 2 || read >= memory_.slots) return false;
  free_ = free_units(read, unit_, units_);
  return free_ >= needed;
}

void CommandQueue::advance(unsigned units) {
  unit_ += units;
  pushed_ += units;
  free_ -= static_cast<int>(units);
  PLNET_CHECK(unit_ <= units_ && free_ >= -1, "the command queue overflows");
  if (unit_ == units_) unit_ = kFirstUnit;
}

void CommandQueue::write_noops(unsigned until) {
  PLNET_DEBUG_CHECK(until <= units_, "padding does not pass the end of the ring");
  while (unit_ < until) {
    std::uint64_t word = 0;
    unsigned units = 1;
    if (padding_ == Padding::kCounterNoop) {
      word = command_byte(CommandType::kCounter, SizeCode::k64, opcode::kCtNoop);
      units = 2;
    }
    store_words({at(unit_), 8}, {&word, 1});
    // Stops at the end of the ring, since `until` is at most there.
    const bool last = unit_ + units >= until;
    advance(units);
    if (last) return;
  }
}

bool CommandQueue::push(SizeCode size, std::span<const std::uint64_t> words,
                        std::span<const std::byte> data) {
  const unsigned bytes = bytes_of(size);
  PLNET_DEBUG_CHECK(words.size_bytes() + data.size() <= bytes, "a command larger than its size");
  if (!has_room(size)) return false;
  write_noops(aligned_unit(unit_, size));
  std::byte* const to = at(unit_);
  const std::size_t filled = words.size_bytes() + data.size();
  if (filled < bytes) std::memset(to + filled, 0, bytes - filled);
  if (!data.empty()) std::memcpy(to + words.size_bytes(), data.data(), data.size());
  // Last, with the length of the data: the software NIC may look at any moment.
  std::atomic_signal_fence(std::memory_order_release);
  store_words({to, words.size_bytes()}, words);
  advance(bytes / kUnitBytes);
  return true;
}

bool CommandQueue::push_profile(unsigned lcid) {
  // Checks room for both halves before writing the first: they share one 128-byte block.
  if (!has_room(SizeCode::k128)) return false;
  write_noops(aligned_unit(unit_, SizeCode::k128));
  const QueueCommand change{
      .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kLcid),
      .lcid = static_cast<std::uint8_t>(lcid)};
  const QueueCommand filler{.command =
                                command_byte(CommandType::kQueue, SizeCode::k64, opcode::kCqNoop)};
  const bool both = push(change) && push(filler);
  PLNET_CHECK(both, "there was room for the pair");
  return true;
}

// The device counts slots, so an odd unit is padded.
void CommandQueue::close_slot() {
  if (unit_ % 2 != 0) {
    const std::uint64_t noop = 0;
    store_words({at(unit_), 8}, {&noop, 1});
    advance(1);
  }
  device_store_fence();
}

void CommandQueue::ring() {
  if (unit_ == rung_) return;
  close_slot();
  PLNET_DEBUG_CHECK(unit_ % 2 == 0, "the write pointer counts slots");
  rung_ = unit_;
  ++rings_;
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(memory_.launch_page + launch::kWritePointer),
                   little(unit_ / 2), __ATOMIC_RELEASE);
  device_store_fence();
}

void CommandQueue::copy_to_window(unsigned window, unsigned units) {
  PLNET_DEBUG_CHECK(rung_ + units <= units_, "a window does not pass the end of the ring");
  std::byte* const to = memory_.launch_page + window + low_latency_offset(rung_);
  for (unsigned i = 0; i < units * kUnitBytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at(rung_) + i, sizeof word);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + i), word, __ATOMIC_RELAXED);
  }
  rung_ += units;
  if (rung_ == units_) rung_ = kFirstUnit;
}

void CommandQueue::ring_low_latency() {
  if (unit_ == rung_) return;
  const auto first = std::to_integer<std::uint8_t>(*at(rung_));
  if (size_of(first) == SizeCode::k256) {
    ring();
    return;
  }
  close_slot();
  const unsigned pending = (unit_ > rung_ ? unit_ : units_) - rung_;
  const bool aligned = rung_ % 4 == 0;
  if (pending == 2 || (!aligned && opcode_of(first) != opcode::kNoop)) {
    copy_to_window(launch::kWindow64, 2);
  } else if (aligned) {
    copy_to_window(launch::kWindow128, 4);
  } else if (size_of(std::to_integer<std::uint8_t>(*at(rung_ + 2))) == SizeCode::k256) {
    ring();
    return;
  } else {
    rung_ += 2;  // the NOOPs: the device skips that slot by itself
    copy_to_window(launch::kWindow128Unaligned, 4);
  }
  ++rings_;
  device_store_fence();
  ring();  // for commands that did not fit into the window
}

}  // namespace plnet::cassini
