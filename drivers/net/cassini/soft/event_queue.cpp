// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/event_queue.hpp"

#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/layout_event.hpp"
#include "drivers/net/cassini/soft/shared_word.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kNsPerSecondShift = 1000000000;

unsigned size_code(unsigned size) {
  return size == 16 ? 1 : size == 32 ? 2 : 3;
}

}  // namespace

EventQueue::EventQueue(const EventQueueSetup& setup, NicStats& stats)
    : memory_(setup.memory),
      bytes_(setup.bytes),
      flags_(setup.flags),
      stats_(stats),
      on_event_(setup.on_event),
      on_status_(setup.on_status),
      state_(std::make_unique<SoftwareState>()),
      slots_(static_cast<unsigned>(setup.bytes / kSlotBytes)),
      reserved_(setup.reserved) {
  PLNET_CHECK(setup.bytes % kPageBytes == 0 && setup.bytes > 0, "an event queue is whole pages");
  PLNET_CHECK(setup.memory != nullptr, "an event queue has memory");
  for (unsigned i = 0; i < kThresholds; ++i) {
    threshold_slots_[i] = slots_ * setup.threshold_percent[i] / 100;
    any_threshold_ |= threshold_slots_[i] != 0;
  }
}

void EventQueue::read_doorbell() {
  const std::uint64_t word = std::atomic_ref(state_->word).load(std::memory_order_acquire);
  std::byte bytes[8];
  std::memcpy(bytes, &word, sizeof word);
  const auto slot = static_cast<unsigned>(layout::EqSwState::RdPtr::get(bytes));
  // Never rung, or of the other buffer: the reader has read nothing of this one.
  if (slot == 0 || layout::EqSwState::ReadingBufferB::get(bytes) != (buffer_b_ ? 1 : 0)) return;
  if (slot < slots_) read_slot_ = slot;
}

template <class Disable>
bool EventQueue::wake(Waker* waker) {
  const std::uint64_t word = std::atomic_ref(state_->word).load(std::memory_order_acquire);
  std::byte bytes[8];
  std::memcpy(bytes, &word, sizeof word);
  if (Disable::get(bytes) != 0) return false;
  waker->wake();
  return true;
}

// The reader zeroes what it has read before it rings. While an event is torn, its last byte is 0.
void EventQueue::tell_enabled() {
  if (!untold_ || torn_at_ != nullptr) return;
  const std::uint64_t word = std::atomic_ref(state_->word).load(std::memory_order_acquire);
  std::byte bytes[8];
  std::memcpy(bytes, &word, sizeof word);
  if (layout::EqSwState::EventIntDisable::get(bytes) != 0) return;
  untold_ = false;
  if (last_code_ != nullptr &&
      std::atomic_ref(*last_code_).load(std::memory_order_relaxed) == std::byte{0})
    return;
  on_event_->wake();
}

unsigned EventQueue::slots_free() {
  read_doorbell();
  const unsigned ring = slots_ - 1;
  if (ring == 0) return 0;
  const auto write_slot = static_cast<unsigned>((offset_ + kSlotBytes - 1) / kSlotBytes);
  const unsigned used = (write_slot - 1 + ring - (read_slot_ - 1)) % ring;
  return ring - 1 - used;
}

// A partly used slot is already reserved; a new one must not be the one before the reader's.
bool EventQueue::room_for(std::size_t offset, unsigned size) {
  if (offset % kSlotBytes != 0 && offset % kSlotBytes + size <= kSlotBytes) return true;
  const unsigned ring = slots_ - 1;
  if (ring == 0) return false;
  auto next = static_cast<unsigned>((offset + kSlotBytes - 1) / kSlotBytes);
  if (next == slots_) next = 1;
  const auto after = next % ring + 1;
  if (after != read_slot_) return true;
  read_doorbell();
  return after != read_slot_;
}

void EventQueue::put(const std::byte* event, unsigned size) {
  PLNET_DEBUG_CHECK(offset_ + size <= bytes_, "an event ends within the queue");
  std::byte* at = memory_ + offset_;
  if (at[14] != std::byte{0} || at[size - 1] != std::byte{0})
    stats_.add(NicStats::Id::kEventsUncleared);
  settle();
  std::uint64_t words[8];
  std::memcpy(words, event, size);
  const unsigned last = size / 8 - 1;
  if (tearing_) {
    torn_at_ = at + size - 1;
    torn_value_ = event[size - 1];
    words[last] &= ~(std::uint64_t{0xff} << 56);
  }
  // Matches the reader's acquire of the last byte.
  for (unsigned i = 0; i < last; ++i)
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at + std::size_t{i} * 8))
        .store(words[i], std::memory_order_relaxed);
  release_word(at + std::size_t{last} * 8, words[last]);
  last_code_ = at + size - 1;
  offset_ += size;
  if (offset_ == bytes_) offset_ = kSlotBytes;
}

void EventQueue::settle() {
  if (torn_at_ == nullptr) return;
  std::atomic_ref(*torn_at_).store(torn_value_, std::memory_order_release);
  torn_at_ = nullptr;
}

void EventQueue::put_null(unsigned size) {
  using Null = layout::EqSwitch;  // a header only
  EventBuffer event;
  Null::EventSize::set(event.data(), size_code(size));
  Null::EventKind::set(event.data(), static_cast<std::uint64_t>(EventType::kNull));
  event.bytes[size - 1] = static_cast<std::byte>(ReturnCode::kOk);
  put(event.data(), size);
}

void EventQueue::pad_to(unsigned alignment) {
  if (alignment >= 32 && offset_ % 32 == 16) put_null(16);
  if (alignment >= 64 && offset_ % 64 == 32) put_null(32);
}

bool EventQueue::write(EventBuffer& event, unsigned size, std::uint64_t now_ns) {
  PLNET_DEBUG_CHECK(size == 16 || size == 32 || size == 64, "an event has one of three sizes");
  if (dropped_) {  // after a dropped event, no event may follow
    stats_.add(NicStats::Id::kEventsDropped);
    return false;
  }
  const std::size_t aligned = (offset_ + size - 1) / size * size;
  if (!room_for(aligned == bytes_ ? kSlotBytes : aligned, size)) {
    drop(now_ns);
    return false;
  }
  layout::EqSwitch::EventSize::set(event.data(), size_code(size));
  pad_to(size);
  put(event.data(), size);
  stats_.add(NicStats::Id::kEvents);
  if (any_threshold_) check_thresholds(now_ns);
  if (on_event_ != nullptr) untold_ = !wake<layout::EqSwState::EventIntDisable>(on_event_);
  return true;
}

void EventQueue::drop(std::uint64_t now_ns) {
  stats_.add(NicStats::Id::kEventsDropped);
  dropped_ = true;
  drop_sequence_ = !drop_sequence_;
  settle();
  if ((flags_ & kEqDropStatusDisable) == 0) write_status(now_ns, 0, false);
}

void EventQueue::check_thresholds(std::uint64_t now_ns) {
  const unsigned filled = slots_ - kReservedEventSlots - slots_free();
  for (unsigned i = 0; i < kThresholds; ++i) {
    const bool above = threshold_slots_[i] != 0 && filled >= threshold_slots_[i];
    if (above == above_[i]) continue;
    above_[i] = above;
    write_status(now_ns, i, above);
  }
}

// The two timestamps differ while the words between them change. A reader tells a new status by its
// timestamp (cxi_prov_hw.h: cxi_eq_get_status()).
void EventQueue::write_status(std::uint64_t now_ns, unsigned threshold, bool crossed) {
  using Status = layout::EqStatus;
  EventBuffer status;
  std::byte* base = status.data();
  stamped_ns_ = std::max(now_ns, stamped_ns_ + 1);
  const std::uint64_t seconds = stamped_ns_ / kNsPerSecondShift;
  const std::uint64_t nanoseconds = stamped_ns_ % kNsPerSecondShift;
  Status::TimestampNsCopy::set(base, nanoseconds);
  Status::TimestampSecCopy::set(base, seconds);
  Status::ThldSts::set(base, crossed ? 1 : 0);
  Status::ThldId::set(base, threshold);
  Status::UnackdDropped::set(base, dropped_ ? 1 : 0);
  Status::DropSeqNo::set(base, drop_sequence_ ? 1 : 0);
  Status::SlotsFree::set(base, slots_free());
  Status::SlotsReserved::set(base, reserved_);
  Status::WrPtr::set(base, offset_ / kSlotBytes);
  Status::UsingBufferB::set(base, buffer_b_ ? 1 : 0);
  Status::TimestampNs::set(base, nanoseconds);
  Status::TimestampSec::set(base, seconds);
  for (std::size_t word = 0; word < kSlotBytes; word += 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, base + word, sizeof value);
    release_word(memory_ + word, value);
  }
  if (on_status_ != nullptr) (void)wake<layout::EqSwState::StsIntDisable>(on_status_);
}

bool EventQueue::adjust_reserved(int slots) {
  const auto wanted = static_cast<std::int64_t>(reserved_) + slots;
  if (wanted < 0 || wanted > kReservedFlowControlMax || wanted >= slots_) return false;
  reserved_ = static_cast<unsigned>(wanted);
  return true;
}

bool EventQueue::resize(std::byte* memory, std::size_t bytes, std::uint64_t now_ns) {
  if (switching_) return false;
  EventBuffer event;
  layout::EqSwitch::EventKind::set(event.data(), static_cast<std::uint64_t>(EventType::kEqSwitch));
  layout::EqSwitch::Code::set(event.data(), static_cast<std::uint64_t>(ReturnCode::kOk));
  if (!write(event, 16, now_ns)) return false;
  settle();
  last_code_ = nullptr;
  memory_ = memory;
  bytes_ = bytes;
  slots_ = static_cast<unsigned>(bytes / kSlotBytes);
  offset_ = kSlotBytes;
  read_slot_ = 1;
  buffer_b_ = !buffer_b_;
  switching_ = true;
  return true;
}

bool EventQueue::resize_complete() {
  if (!switching_) return false;
  switching_ = false;
  return true;
}

}  // namespace plnet::cassini::soft
