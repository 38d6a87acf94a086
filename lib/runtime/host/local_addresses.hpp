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
  bool loopback = false;  // it is the loopback interface, of which nobody makes an NI by its name
  bool up = true;         // it is switched on
  // Its link carries something, and the address is in use: not while the system looks whether
  // somebody else has it (IPv6), which begins with the link.
  bool running = true;
  std::uint8_t prefix_bits = 0;             // of its subnet
  std::array<std::uint8_t, 16> bytes_be{};  // four of them are used of an IPv4 address

  friend bool operator==(const LocalAddress&, const LocalAddress&) = default;
};

// Those that this machine may be known by: of interfaces that are up, without the loopback
// interface, link-local IPv6, by which nobody finds anybody, and temporary IPv6, which goes within
// days. In the system's order, but deprecated IPv6 comes last. `all`: also temporary ones, those of
// interfaces that are down and the loopback interface's, for who looks for one that is in use.
// Never those that somebody else was found to have. kIo: the system does not tell.
[[nodiscard]] Outcome<std::vector<LocalAddress>> local_addresses(bool all = false);

// The same of what the system has answered to RTM_GETADDR and RTM_GETLINK, in whichever order.
[[nodiscard]] std::vector<LocalAddress> local_addresses_in(std::span<const std::byte> answers,
                                                           bool all);

}  // namespace plnet::runtime
