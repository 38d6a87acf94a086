// SPDX-License-Identifier: BSD-3-Clause
// Random bytes in both command queues of a NIC: no crash, no access outside mapped memory, and a
// stopped queue reports the reason. Used by the fuzzer and by tests with random bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "drivers/net/cassini/soft/fabric.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {

inline constexpr std::size_t kRandomPage = 4096;

struct alignas(kRandomPage) RandomMemory {
  std::byte bytes[16 * kRandomPage];
};

// Returns the number of stopped queues. The first byte sets the doorbell positions; its highest bit
// makes a NIC that is no stricter than hardware, with counting events and triggered commands.
inline unsigned run_commands(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  Fabric fabric;
  const Limits few{.event_queues = 8, .portals = 8, .counters = 8, .list_entries = 32};
  const bool is_lenient = (bytes[0] & std::byte{0x80}) != std::byte{};
  NicOptions options{.address = 1, .limits = few};
  options.strict = !is_lenient;
  Nic& nic = fabric.add(options);
  const auto memory = std::make_unique<RandomMemory>();
  const unsigned group = nic.make_group(kDefaultService).value();
  const unsigned lcid = nic.make_profile(group, 255, 1).value();
  const auto domain = nic.make_domain(group, 255, 7).value();
  const unsigned mapping = nic.map(group, memory->bytes, sizeof memory->bytes, true, true).value();
  const unsigned eq =
      nic.make_event_queue(group, mapping, {.memory = memory->bytes, .bytes = 4 * kRandomPage})
          .value();
  const unsigned portal = nic.make_portal(group, eq, {.matching = true}).value();
  PLNET_CHECK(nic.map_portal(portal, domain.key, 0).has_value(), "the index is free");
  PLNET_CHECK(nic.map_portal(portal, domain.key, 128).has_value(), "the index is free");
  const unsigned queues[] = {
      nic.make_command_queue(
             group,
             {.slots = 64, .transmit = true, .triggered = is_lenient, .lcid = lcid, .error_eq = eq})
          .value(),
      nic.make_command_queue(group, {.slots = 64, .error_eq = eq}).value()};
  std::uint64_t shown[2]{};
  for (std::uint64_t& place : shown)
    PLNET_CHECK(nic.make_counter(group, &place).has_value(), "there are counting events");
  const auto where = std::to_integer<std::uint64_t>(bytes[0] & std::byte{0x7f});
  bytes = bytes.subspan(1);
  unsigned stopped = 0;
  for (const unsigned number : queues) {
    CommandQueue& queue = *nic.command_queue(number);
    const std::size_t room = std::size_t{queue.slots() - kFirstSlot} * kSlotBytes;
    std::memcpy(queue.commands() + std::size_t{kFirstSlot} * kSlotBytes, bytes.data(),
                std::min(room, bytes.size()));
    std::memcpy(queue.launch_page(), &where, sizeof where);
    for (std::uint64_t step = 1; step <= 4; ++step)
      fabric.step(step);
    if (!queue.stopped()) continue;
    ++stopped;
    std::uint64_t status = 0;
    std::memcpy(&status, queue.commands(), sizeof status);
    const std::uint64_t code = status >> 48 & 63;
    PLNET_CHECK(code == static_cast<std::uint64_t>(queue.failure()) && code > 1,
                "a stopped queue says why");
  }
  return stopped;
}

}  // namespace plnet::cassini::soft
