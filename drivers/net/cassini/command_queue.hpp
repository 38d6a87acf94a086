// SPDX-License-Identifier: BSD-3-Clause
// A ring of commands that the device reads: one producer. Positions count units of 32 bytes; the
// device counts slots of 64. Checked against shs-cassini-headers cxi_prov_hw.h, commit 06f69b00.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/codes.hpp"
#include "drivers/net/cassini/status.hpp"

namespace plnet::cassini {

inline constexpr unsigned kSlotBytes = 64;
inline constexpr unsigned kUnitBytes = 32;
inline constexpr unsigned kFirstUnit = 8;  // after four slots of status block
static_assert(kSlotBytes == 2 * kUnitBytes && kFirstUnit % 4 == 0);

// The first place for a command of this size at or after `unit`: a multiple of its size.
constexpr unsigned aligned_unit(unsigned unit, SizeCode size) {
  const unsigned units = 1U << static_cast<unsigned>(size);
  return (unit + units - 1) / units * units;
}
// Free units with the device at slot `read`; one slot stays unused. −1 when the producer is in the
// middle of that slot.
constexpr int free_units(unsigned read, unsigned unit, unsigned units) {
  const int ahead = static_cast<int>(read * 2) - static_cast<int>(unit) - 2;
  return read * 2 > unit ? ahead : ahead + static_cast<int>(units - kFirstUnit);
}

// Offsets in the launch page, and in its low-latency windows.
namespace launch {
inline constexpr unsigned kWritePointer = 0x000, kWindow64 = 0x400, kWindow128 = 0x800,
                          kWindow128Unaligned = 0xc00, kUsed = 0x1000;
}  // namespace launch
constexpr unsigned low_latency_offset(unsigned unit) {
  return (unit / 2 & 15U) * kSlotBytes;
}

class CommandQueue {
 public:
  enum class Padding : std::uint8_t {
    kNoop,         // units of zeros
    kCounterNoop,  // for queues of triggered operations: 64-byte counter commands
  };

  CommandQueue() = default;  // without a device: never has room
  explicit CommandQueue(const CommandQueueMemory& memory, Padding padding = Padding::kNoop);

  // Hot. Appends a command; the rest of its size after `words` and `data` is zero. The device sees
  // it after a ring…(). False: no room now.
  [[nodiscard]] bool push(SizeCode size, std::span<const std::uint64_t> words,
                          std::span<const std::byte> data = {});
  template <class Command>
  [[nodiscard]] bool push(const Command& command) {
    return push(size_of(command.command), command.encode());
  }
  // Switches the communication profile for the following commands; with a NOOP it fills 128 bytes.
  [[nodiscard]] bool push_profile(unsigned lcid);

  // Hot. Makes the device run all pushed commands; does nothing if there are none.
  void ring();
  // As ring(), through the low-latency windows if the pending commands fit into one.
  void ring_low_latency();

  // True if a command of this size fits. Reads the device's position only when necessary.
  [[nodiscard]] bool has_room(SizeCode size);
  // The device has run all rung commands.
  [[nodiscard]] bool drained() const;
  [[nodiscard]] CommandQueueStatus status() const;
  // A command has failed: the device runs no further commands of this queue.
  [[nodiscard]] bool failed() const;
  // Units ever pushed, with padding: the end of the latest command.
  [[nodiscard]] std::uint64_t pushed() const { return pushed_; }
  // The device may have begun commands that end at or before this position. It has not begun later
  // ones: they were never rung, or the device has stopped before them.
  [[nodiscard]] std::uint64_t begun() const;

  [[nodiscard]] unsigned write_unit() const { return unit_; }
  [[nodiscard]] unsigned slots() const { return memory_.slots; }
  [[nodiscard]] unsigned hardware_index() const { return memory_.hardware_index; }
  [[nodiscard]] std::uint64_t rings() const { return rings_; }

 private:
  static constexpr int kCacheFloor = 16;  // units: below that the device's position is read

  void advance(unsigned units);
  void write_noops(unsigned until);
  void close_slot();
  void copy_to_window(unsigned window, unsigned units);
  [[nodiscard]] unsigned padding_before(SizeCode size) const;
  [[nodiscard]] std::byte* at(unsigned unit) const {
    return memory_.commands + static_cast<std::size_t>(unit) * kUnitBytes;
  }

  CommandQueueMemory memory_;
  Padding padding_ = Padding::kNoop;
  unsigned units_ = 0;          // of the ring, status block included
  unsigned unit_ = kFirstUnit;  // the next to write
  unsigned rung_ = kFirstUnit;  // the last position rung to the device
  int free_ = 0;                // as of the last reading
  std::uint64_t rings_ = 0;
  std::uint64_t pushed_ = 0;
};

}  // namespace plnet::cassini
