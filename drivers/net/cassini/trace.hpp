// SPDX-License-Identifier: BSD-3-Clause
// Commands and events as text, a line each, for debugging and for failing tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "drivers/net/cassini/event_queue.hpp"

namespace plnet::cassini {

class Tracer {
 public:
  virtual ~Tracer() = default;
  // A command as written to the queue of this hardware index.
  virtual void command(unsigned queue, std::span<const std::uint64_t> words) = 0;
  // An event as read from the event queue of this number.
  virtual void event(unsigned queue, const Event& event) = 0;
};

// "PUT to nic 0x2b3 endpoint 0x800+0, 64 bytes from 0x… lac 1, match 0x0100000000000000, …"
[[nodiscard]] std::string words_of_command(bool target_queue, std::span<const std::uint64_t> words);
[[nodiscard]] std::string words_of_event(const Event& event);

}  // namespace plnet::cassini
