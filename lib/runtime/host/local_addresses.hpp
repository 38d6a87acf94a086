// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this machine's network interfaces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

struct LocalAddress {
  std::string interface;
  bool is_v6 = false;
  bool loopback = false;  // the loopback interface, which makes no NI by name
  bool up = true;         // the interface is enabled
  // The link has a carrier, and the address is in use: not during duplicate address detection
  // (IPv6), which begins when the link comes up.
  bool running = true;
  std::uint8_t prefix_bits = 0;             // of its subnet
  std::array<std::uint8_t, 16> bytes_be{};  // IPv4 uses the first four

  friend bool operator==(const LocalAddress&, const LocalAddress&) = default;
};

// Addresses by which other nodes may reach this machine: of enabled interfaces, without loopback,
// link-local IPv6 (which others cannot use) and temporary IPv6 (which expires within days). In the
// system's order, deprecated IPv6 last. `all`: also temporary ones, those of disabled interfaces
// and of loopback, to find one in use. Never addresses that failed duplicate detection. kIo: the
// system does not answer.
[[nodiscard]] Outcome<std::vector<LocalAddress>> local_addresses(bool all = false);

// The same from the system's answers to RTM_GETADDR and RTM_GETLINK, in either order.
[[nodiscard]] std::vector<LocalAddress> local_addresses_in(std::span<const std::byte> answers,
                                                           bool all);

// Why no NID can be made of an interface, and the command that looks closer: it does not exist, it
// is not up, or it has no address of that family.
[[nodiscard]] std::string interface_trouble(const std::string& name);

}  // namespace plnet::runtime
