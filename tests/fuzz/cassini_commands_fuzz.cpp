// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as commands of a software Cassini.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/unit/drivers/cassini/soft/random_commands.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)plnet::cassini::soft::run_commands(std::as_bytes(std::span(data, size)));
  return 0;
}
