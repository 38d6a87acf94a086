// SPDX-License-Identifier: BSD-3-Clause
// A HELLO from an unknown sender: an accepted one encodes to the same bytes, nothing is
// read past the end, and a checksum is right or refused.
#include "tests/fuzz/kfilnd_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::kfilnd::check_message(plnet::kfilnd::Kind::kHelloRequest, {data, size});
  return 0;
}
