// SPDX-License-Identifier: BSD-3-Clause
// The device's side of a command queue: reads the producer's position from the launch page, checks
// the form of each command, and writes its own position to the status block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/command_form.hpp"
#include "drivers/net/cassini/soft/stats.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

// The sticky command applies to the immediate commands that follow it.
struct StickyState {
  bool set = false;
  std::byte command[32]{};
};

class CommandQueue {
 public:
  struct Setup {
    unsigned index = 0;  // hardware index
    unsigned slots = 0;
    bool transmit = false;
    bool triggered = false;
    UpdatePolicy policy = UpdatePolicy::kAlways;
    unsigned group = 0;
    unsigned lcid = 0;
    unsigned error_eq = 0;
    std::byte* memory = nullptr;  // of the process; null: the queue has its own
    std::uint32_t generation = 0;
  };
  CommandQueue(const Setup& setup, NicStats& stats);

  [[nodiscard]] std::byte* commands() { return ring_.get(); }
  [[nodiscard]] std::byte* launch_page() { return launch_.get(); }
  [[nodiscard]] unsigned slots() const { return slots_; }

  // Reads the doorbell and the windows. True if there are commands.
  bool poll(Random* rejecting, double chance);
  // The next command; NOOPs are skipped. A bad one stops the queue: failure() has the reason.
  [[nodiscard]] CommandView next();
  void consume(const CommandView& command) { advance(command.bytes / kUnitBytes); }
  // The second half of an LCID switch: a mandatory NOOP.
  [[nodiscard]] bool pair_complete(const CommandView& first) const;
  void stop(const CommandView& command, ReturnCode code);
  void publish(bool burst_ended);

  [[nodiscard]] bool stopped() const { return failure_ != ReturnCode::kOk; }
  [[nodiscard]] ReturnCode failure() const { return failure_; }
  [[nodiscard]] bool failure_told() const { return told_; }
  void set_failure_told() { told_ = true; }
  [[nodiscard]] unsigned failed_slot() const { return failed_unit_ / 2; }
  [[nodiscard]] std::uint8_t failed_byte() const { return failed_byte_; }

  Setup setup;
  StickyState sticky;
  std::uint16_t vni = 0;  // of the profile of the present lcid
  std::uint8_t traffic_class = 0;
  bool is_hrp = false;  // the profile's type
  bool profile_known = false;
  unsigned outstanding = 0;  // operations begun but not ended
  bool fenced = false;       // waits for the end of all operations

 private:
  [[nodiscard]] ReturnCode check(const CommandView& command) const;
  void fail(const std::byte* at, ReturnCode code);
  void advance(unsigned units);
  static constexpr unsigned kWindowSlots = 16;
  [[nodiscard]] bool poll_windows();
  [[nodiscard]] unsigned same_window_slot_after(unsigned unit) const;
  [[nodiscard]] bool take_doorbell(std::uint64_t word, unsigned from);
  [[nodiscard]] bool poll_window(std::size_t window, unsigned unit, unsigned units);
  [[nodiscard]] unsigned lap() const;  // units for commands
  [[nodiscard]] unsigned distance(unsigned from, unsigned to) const;
  [[nodiscard]] unsigned free_units() const;
  void write_status();

  struct PageDelete {
    bool is_borrowed = false;
    void operator()(std::byte* memory) const;
  };
  using Pages = std::unique_ptr<std::byte[], PageDelete>;
  static Pages pages(std::size_t bytes, std::byte* borrowed = nullptr);

  NicStats& stats_;
  unsigned slots_;
  unsigned units_;
  Pages ring_;
  Pages launch_;
  unsigned read_ = kFirstUnit;     // 32-byte units
  unsigned written_ = kFirstUnit;  // likewise
  unsigned published_ = kFirstUnit;
  std::uint64_t doorbell_ = kFirstSlot;
  std::uint16_t rejected_ = 0;
  ReturnCode failure_ = ReturnCode::kOk;
  bool told_ = false;
  unsigned failed_unit_ = 0;
  std::uint8_t failed_byte_ = 0;
};

}  // namespace plnet::cassini::soft
