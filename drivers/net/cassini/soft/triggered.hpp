// SPDX-License-Identifier: BSD-3-Clause
// Triggered operations of a NIC: commands that wait until a counting event has reached a
// threshold. For each counting event they stand in the order of their thresholds, those with the
// same one in the order of their arrival.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/net/cassini/soft/command_queue.hpp"

namespace plnet::cassini::soft {

class Triggered {
 public:
  static constexpr std::uint16_t kNone = UINT16_MAX;

  struct Entry {
    std::uint64_t threshold = 0;
    CommandQueue* queue = nullptr;  // lives longer: forget()
    std::uint16_t next = kNone;
    CommandType type = CommandType::kCt;
    unsigned opcode = 0;
    unsigned bytes = 0;
    alignas(8) std::array<std::byte, 128> command{};
    [[nodiscard]] CommandView view() const {
      return {.at = command.data(), .bytes = bytes, .type = type, .opcode = opcode};
    }
  };

  explicit Triggered(unsigned counters) : first_(counters, kNone) {}
  // Cold: memory for so many, once a queue may hold such commands.
  void make_room(unsigned entries);
  [[nodiscard]] bool full() const { return free_ == kNone; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

  void add(unsigned counter, std::uint64_t threshold, CommandQueue& queue,
           const CommandView& command);
  // Counting events that something waits for.
  [[nodiscard]] const std::vector<std::uint16_t>& waiting() const { return waiting_; }
  // The first entry of a counting event that reached its threshold; null: none.
  [[nodiscard]] const Entry* due(unsigned counter, std::uint64_t count) const;
  void remove_first(unsigned counter);
  // All entries that `drop` says: tells each before it goes.
  template <class Drop>
  void remove_if(unsigned counter, Drop drop) {
    std::uint16_t* link = &first_[counter];
    while (*link != kNone) {
      const std::uint16_t at = *link;
      if (!drop(entries_[at])) {
        link = &entries_[at].next;
        continue;
      }
      *link = entries_[at].next;
      give_back(at);
    }
    if (first_[counter] == kNone) std::erase(waiting_, static_cast<std::uint16_t>(counter));
  }

 private:
  void give_back(std::uint16_t entry);

  std::vector<Entry> entries_;
  std::vector<std::uint16_t> first_;  // of each counting event
  std::vector<std::uint16_t> waiting_;
  std::uint16_t free_ = kNone;
};

}  // namespace plnet::cassini::soft
