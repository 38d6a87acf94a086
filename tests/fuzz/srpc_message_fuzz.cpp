// SPDX-License-Identifier: BSD-3-Clause
// Messages from strangers: whatever is read is written and read again as the same, whoever's byte
// order it came in.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/selftest/srpc_codec.hpp"

using namespace plnet::selftest;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of the exact size, so that the sanitizer sees a read one byte beyond.
  std::vector<std::uint8_t> copy(data, data + size);
  const auto whole = decode_message(std::as_bytes(std::span(copy)));
  PLNET_CHECK(!whole || size == kMessageBytes, "all are equally long");
  copy.resize(kMessageBytes);
  const auto first = decode_message(std::as_bytes(std::span(copy)));
  if (!first) return 0;
  std::array<std::byte, kMessageBytes> out{};
  std::visit([&](const auto& body) { encode(first->received.header, body, out); }, first->body);
  const auto second = decode_message(out);
  PLNET_CHECK(second.has_value() && !second->received.swapped, "what we say is understood");
  PLNET_CHECK(second->received.header == first->received.header, "the header survives");
  PLNET_CHECK(second->body == first->body, "the body survives");
  return 0;
}
