// SPDX-License-Identifier: BSD-3-Clause
// Command and event queues without a device: memory that a test fills and reads by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "drivers/net/cassini/command_queue.hpp"
#include "drivers/net/cassini/event_queue.hpp"

namespace plnet::cassini {

struct CommandMemory {
  explicit CommandMemory(unsigned slots) : words(slots * 8ULL), launch(launch::kUsed / 8) {
    set_read(4);
  }
  void set_read(unsigned slot, ReturnCode code = ReturnCode::kOk) {
    const CommandQueueStatus status{.rd_ptr = static_cast<std::uint16_t>(slot),
                                    .return_code = static_cast<std::uint8_t>(code)};
    __atomic_store_n(words.data(), little(status.encode()[0]), __ATOMIC_RELEASE);
  }
  [[nodiscard]] CommandQueueMemory queue() {
    return {.handle = {},
            .hardware_index = 0,
            .slots = static_cast<unsigned>(words.size() / 8),
            .commands = reinterpret_cast<std::byte*>(words.data()),
            .launch_page = reinterpret_cast<std::byte*>(launch.data())};
  }
  [[nodiscard]] const std::byte* unit(unsigned position) const {
    return reinterpret_cast<const std::byte*>(words.data()) +
           static_cast<std::size_t>(position) * kUnitBytes;
  }
  [[nodiscard]] unsigned doorbell() const { return static_cast<unsigned>(launch[0]); }

  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> launch;
};

struct EventMemory {
  explicit EventMemory(std::size_t bytes) : words(bytes / 8) {}
  [[nodiscard]] EventQueueMemory queue() {
    return {.handle = {},
            .number = 1,
            .queue = reinterpret_cast<std::byte*>(words.data()),
            .bytes = words.size() * 8,
            .software_state = &software_state};
  }
  [[nodiscard]] std::byte* at(std::size_t offset) {
    return reinterpret_cast<std::byte*>(words.data()) + offset;
  }
  template <class Layout>
  void write(std::size_t offset, const Layout& event) {
    store_words({at(offset), Layout::kBytes}, event.encode());
  }
  [[nodiscard]] std::uint64_t acknowledged() const { return software_state & ones(26); }

  std::vector<std::uint64_t> words;
  std::uint64_t software_state = 0;
};

}  // namespace plnet::cassini
