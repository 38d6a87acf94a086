// SPDX-License-Identifier: BSD-3-Clause
// Counting events of a NIC: their allocation and their doorbells.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/nic.hpp"
#include "drivers/net/cassini/soft/shared_word.hpp"

namespace plnet::cassini::soft {
namespace {

// The value that was stored since the last look, or `idle`.
std::uint64_t drained(CountingDoorbell::Word& word, std::uint64_t idle) {
  const std::atomic_ref value(word.value);
  if (value.load(std::memory_order_acquire) == idle) return idle;
  return value.exchange(idle, std::memory_order_acq_rel);
}

void reset(std::uint64_t& value, const CountingEvent& counter) {
  value = 0;
  counter.write_back();
}

bool is_aligned(const void* writeback) {
  return reinterpret_cast<std::uintptr_t>(writeback) % 8 == 0;
}

}  // namespace

void CountingEvent::write_back() const {
  if (writeback == nullptr) return;
  std::byte block[8]{};
  layout::CtWriteback::Success::set(block, success);
  layout::CtWriteback::Failure::set(block, failure);
  layout::CtWriteback::Writeback::set(block, 1);
  std::uint64_t word = 0;
  std::memcpy(&word, block, sizeof word);
  release_word(writeback, word);
}

Made<unsigned> Nic::make_counter(unsigned group, void* writeback) {
  Group* const owner = group_of(group);
  if (owner == nullptr || !is_aligned(writeback)) return no(EINVAL);
  unsigned number = 1;
  while (tables_.counter(number) != nullptr)
    ++number;
  if (number >= tables_.counters.size() || !take(group, Resource::kCounters)) return no(ENOSPC);
  CountingEvent& counter = tables_.counters[number];
  counter.allocated = true;
  counter.group = static_cast<std::uint16_t>(group);
  counter.writeback = static_cast<std::byte*>(writeback);
  ++owner->objects;
  return number;
}

Made<void> Nic::drop_counter(unsigned number) {
  CountingEvent* const counter = tables_.counter(number);
  if (counter == nullptr) return no(EINVAL);
  --group_of(counter->group)->objects;
  give(counter->group, Resource::kCounters);
  initiator_.forget(number, nullptr);
  std::erase(doorbells_, number);
  has_doorbells_.set(!doorbells_.empty());
  *counter = {};
  return {};
}

Made<void> Nic::set_writeback(unsigned number, void* writeback) {
  CountingEvent* const counter = tables_.counter(number);
  if (counter == nullptr || !is_aligned(writeback)) return no(EINVAL);
  counter->writeback = static_cast<std::byte*>(writeback);
  return {};
}

CountingDoorbell* Nic::counter_doorbell(unsigned number) {
  CountingEvent* const counter = tables_.counter(number);
  if (counter == nullptr) return nullptr;
  if (counter->doorbell == nullptr) {
    counter->doorbell = std::make_unique<CountingDoorbell>();
    doorbells_.push_back(number);
    has_doorbells_.set(true);
  }
  return counter->doorbell.get();
}

// Two stores between two looks count as one: memory keeps the last of them.
void Nic::poll_doorbells() {
  constexpr std::uint64_t kNotRung = CountingDoorbell::kNotRung;
  for (const unsigned number : doorbells_) {
    CountingEvent& counter = tables_.counters[number];
    CountingDoorbell& doorbell = *counter.doorbell;
    if (drained(doorbell.reset_success, kNotRung) != kNotRung) reset(counter.success, counter);
    if (drained(doorbell.reset_failure, kNotRung) != kNotRung) reset(counter.failure, counter);
    if (const std::uint64_t more = drained(doorbell.success, 0); more != 0)
      tables_.count(number, true, more);
    if (const std::uint64_t more = drained(doorbell.failure, 0); more != 0)
      Tables::add_failures(counter, more);
  }
}

}  // namespace plnet::cassini::soft
