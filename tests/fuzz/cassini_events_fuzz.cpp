// SPDX-License-Identifier: BSD-3-Clause
// Arbitrary bytes in the memory of an event queue: the reader ends, stays inside, and gives back
// the entries that it has read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/net/cassini/event_queue.hpp"
#include "lib/base/check.hpp"

using namespace plnet::cassini;

namespace {

template <class Layout>
void look(const Event& event) {
  const auto decoded = event.as<Layout>();
  PLNET_CHECK(decoded.has_value() == (event.bytes >= Layout::kBytes), "as long as it says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t lines = std::clamp<std::size_t>((size + 63) / 64, 2, 64);
  std::vector<std::uint64_t> memory(lines * 8);
  if (size > 0) std::memcpy(memory.data(), data, std::min(size, lines * 64));
  std::uint64_t doorbell = 0;
  EventQueue queue({.handle = {},
                    .number = 1,
                    .queue = reinterpret_cast<std::byte*>(memory.data()),
                    .bytes = lines * 64,
                    .software_state = &doorbell});
  unsigned total = 0;
  for (unsigned turn = 0; turn < 300; ++turn) {
    total += queue.poll(3, [](const Event& event) {
      PLNET_CHECK(event.code != ReturnCode::kNoEvent, "an incomplete event");
      PLNET_CHECK(event.type != EventType::kNull, "NULL events are not shown");
      (void)name_of(event.type);
      (void)name_of(event.code);
      (void)errc_of(event.code);
      look<InitiatorEvent>(event);
      look<InitiatorLongEvent>(event);
      look<TargetEvent>(event);
      look<TargetLongEvent>(event);
      look<StateChangeEvent>(event);
      look<CommandFailureEvent>(event);
    });
    PLNET_CHECK((doorbell & ones(26)) < lines, "a line of the queue");
  }
  PLNET_CHECK(total <= (lines - 1) * 4, "each event took 16 bytes, and zeros are no events");
  (void)queue.dropped();
  return 0;
}
