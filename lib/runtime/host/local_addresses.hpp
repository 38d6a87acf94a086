// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this machine's network interfaces.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

struct LocalAddress {
  std::string interface;
  bool is_v6 = false;
  bool up = true;                           // it is switched on
  bool running = true;                      // its link carries something
  std::array<std::uint8_t, 16> bytes_be{};  // four of them are used of an IPv4 address

  friend bool operator==(const LocalAddress&, const LocalAddress&) = default;
};

// Of interfaces that are up, in the system's order; without the loopback interface and without
// link-local IPv6, by which nobody finds anybody; `also_down`: of the others, too. kIo: the system
// does not tell.
[[nodiscard]] Outcome<std::vector<LocalAddress>> local_addresses(bool also_down = false);

}  // namespace plnet::runtime
