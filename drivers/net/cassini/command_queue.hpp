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
inline constexpr unsigned kFirstUnit = 8;  // four slots of status block come before

// Where a command of a size may start, at or after `unit`: at a multiple of its size.
constexpr unsigned aligned_unit(unsigned unit, SizeCode size) {
  const unsigned units = 1U << static_cast<unsigned>(size);
  return (unit + units - 1) / units * units;
}
// Units that may be written with the device at slot `read`; one slot stays unused. −1 when the
// producer stands in the middle of that slot.
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
    kCounterNoop,  // of a queue for triggered operations: 64-byte counter commands
  };

  CommandQueue() = default;  // of no device: has no room
  explicit CommandQueue(const CommandQueueMemory& memory, Padding padding = Padding::kNoop);

  // Hot. Appends a command; what `words` and `data` leave of its size is zero. The device does not
  // look before a ring…(). False: no room now.
  [[nodiscard]] bool push(SizeCode size, std::span<const std::uint64_t> words,
                          std::span<const std::byte> data = {});
  template <class Command>
  [[nodiscard]] bool push(const Command& command) {
    return push(size_of(command.command), command.encode());
  }
  // Switches the communication profile for the commands behind it; it and a NOOP fill 128 bytes.
  [[nodiscard]] bool push_profile(unsigned lcid);

  // Hot. Lets the device go on to the end of what was pushed; nothing happens if that is nothing.
  void ring();
  // As ring(), through the low-latency windows where what is pending fits one.
  void ring_low_latency();

  // Whether a command of this size fits. Asks the device how far it is only when it must.
  [[nodiscard]] bool has_room(SizeCode size);
  // The device has run everything that was rung.
  [[nodiscard]] bool drained() const;
  [[nodiscard]] CommandQueueStatus status() const;
  // A command has failed: the device runs nothing more of this queue.
  [[nodiscard]] bool failed() const;
  // How much was ever pushed, in units with padding: where the latest command ends.
  [[nodiscard]] std::uint64_t pushed() const { return pushed_; }
  // What ends here or before it the device may have begun. What ends behind it, it has not: it was
  // never rung, or the device has stopped before it.
  [[nodiscard]] std::uint64_t begun() const;

  [[nodiscard]] unsigned write_unit() const { return unit_; }
  [[nodiscard]] unsigned slots() const { return memory_.slots; }
  [[nodiscard]] unsigned hardware_index() const { return memory_.hardware_index; }
  [[nodiscard]] std::uint64_t rings() const { return rings_; }

 private:
  static constexpr int kCacheFloor = 16;  // units: below that the device is asked

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
  unsigned rung_ = kFirstUnit;  // how far the device was told to go
  int free_ = 0;                // as far as we know
  std::uint64_t rings_ = 0;
  std::uint64_t pushed_ = 0;
};

}  // namespace plnet::cassini
