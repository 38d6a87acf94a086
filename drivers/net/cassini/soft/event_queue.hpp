// SPDX-License-Identifier: BSD-3-Clause
// The device's side of an event queue: writes events to memory of the process, naturally aligned,
// the gaps filled with NULL events, the last byte last; reads the reader's position from one
// doorbell word.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/stats.hpp"

namespace plnet::cassini::soft {

inline constexpr unsigned kThresholds = 4;

// Called when there is something to read, by the stepping thread: it must not block.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

struct EventQueueSetup {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t flags = 0;
  std::array<unsigned, kThresholds> threshold_percent{};  // fill levels; 0: none
  unsigned reserved = 0;
  // Wakes the reader unless its doorbell has disabled that. An event is then told later, when the
  // reader enables it; a status is not.
  Waker* on_event = nullptr;
  Waker* on_status = nullptr;
};

// An event under construction.
struct alignas(64) EventBuffer {
  std::array<std::byte, 64> bytes{};
  [[nodiscard]] std::byte* data() { return bytes.data(); }
};

class EventQueue {
 public:
  EventQueue(const EventQueueSetup& setup, NicStats& stats);

  [[nodiscard]] std::uint64_t* software_state() { return &state_->word; }
  [[nodiscard]] std::uint64_t flags() const { return flags_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // `size` is 16, 32 or 64; the last byte holds the return code. False: dropped.
  bool write(EventBuffer& event, unsigned size, std::uint64_t now_ns);
  // From now on events show all but their last byte until settle(): behaviour that readers must
  // tolerate.
  void set_tearing(bool on) { tearing_ = on; }
  [[nodiscard]] bool torn() const { return torn_at_ != nullptr; }
  // Wakes a reader that has enabled wake-ups since the last event and has not read that event. The
  // NIC calls this in each step: the reader may look at the queue before its doorbell is visible.
  void tell_enabled();
  void settle();

  [[nodiscard]] unsigned slots_free();
  [[nodiscard]] unsigned slots_reserved() const { return reserved_; }
  // False if that many cannot be reserved.
  [[nodiscard]] bool adjust_reserved(int slots);
  // The process provides a second buffer: an EQ_SWITCH ends the first, and later events go to the
  // other. False while a switch is incomplete.
  [[nodiscard]] bool resize(std::byte* memory, std::size_t bytes, std::uint64_t now_ns);
  [[nodiscard]] bool resize_complete();

 private:
  struct alignas(64) SoftwareState {
    std::uint64_t word = 0;
  };
  [[nodiscard]] bool room_for(std::size_t offset, unsigned size);
  void pad_to(unsigned alignment);
  void put(const std::byte* event, unsigned size);
  void put_null(unsigned size);
  void write_status(std::uint64_t now_ns, unsigned threshold, bool crossed);
  void check_thresholds(std::uint64_t now_ns);
  void drop(std::uint64_t now_ns);
  void read_doorbell();
  // False: the reader does not want to be woken.
  template <class Disable>
  [[nodiscard]] bool wake(Waker* waker);

  std::byte* memory_;
  std::size_t bytes_;
  std::uint64_t flags_;
  NicStats& stats_;
  Waker* on_event_;
  Waker* on_status_;
  std::unique_ptr<SoftwareState> state_;
  std::array<unsigned, kThresholds> threshold_slots_{};
  std::array<bool, kThresholds> above_{};  // filled at least to the threshold
  bool any_threshold_ = false;
  std::size_t offset_ = kSlotBytes;  // of the next event
  unsigned slots_;                   // whole buffer, status slot included
  unsigned read_slot_ = 1;
  unsigned reserved_ = 0;
  bool dropped_ = false;
  bool drop_sequence_ = false;
  bool tearing_ = false;
  bool buffer_b_ = false;
  bool switching_ = false;
  std::byte* torn_at_ = nullptr;
  std::byte torn_value_{};
  std::uint64_t stamped_ns_ = 0;    // of the last status
  bool untold_ = false;             // the reader did not want to be woken by the last event
  std::byte* last_code_ = nullptr;  // the last byte of that event; null: it is elsewhere
};

}  // namespace plnet::cassini::soft
