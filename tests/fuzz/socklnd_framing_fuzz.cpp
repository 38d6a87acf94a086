// SPDX-License-Identifier: BSD-3-Clause
// Bytes from an established peer: read whole or cut at random places, the result is the same.
// First byte: protocol and byte order; second: how it is cut.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "tests/unit/lib/socklnd/framed_stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet;
  using namespace plnet::socklnd;
  if (size < 2) return 0;
  const auto protocol = static_cast<Protocol>(2 + data[0] % 3);
  const bool swapped = (data[0] & 0x80U) != 0;
  const auto wants =
      (data[0] & 0x40U) != 0 ? FramedStream::Wants::kSome : FramedStream::Wants::kAll;
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  FramedStream whole(protocol, swapped, 1, wants);
  whole.feed(bytes, false);
  FramedStream cut(protocol, swapped, data[1], wants);
  cut.feed(bytes, true);
  PLNET_CHECK(cut.messages == whole.messages, "where the stream is cut is all one");
  PLNET_CHECK(cut.acknowledged == whole.acknowledged, "where the stream is cut is all one");
  PLNET_CHECK(cut.framing().failure() == whole.framing().failure(), "nor does it decide on errors");
  PLNET_CHECK(cut.framing().at_boundary() == whole.framing().at_boundary(), "nor on the end");
  return 0;
}
