// SPDX-License-Identifier: BSD-3-Clause
// TCP segments in any order with any losses: each is two bytes of place, one of size and flags,
// then its data.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/trace/file/ksock_stream.hpp"

using namespace plnet::trace;

namespace {

struct Sink : FramedSink {
  void on_message(const FramedMessage& message) override {
    PLNET_CHECK(message.payload.size() <= message.header.payload_length, "no more than there is");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Sink sink;
  KsockStream messages(sink, 256);
  TcpStream stream;
  std::span rest(data, size);
  for (std::uint64_t time = 1; rest.size() >= 3; ++time) {
    const std::uint32_t place = rest[0] | static_cast<std::uint32_t>(rest[1]) << 8U;
    const bool syn = (rest[2] & 0x80U) != 0;
    const std::size_t length = rest[2] & 0x7fU;
    rest = rest.subspan(3);
    const std::size_t captured = length < rest.size() ? length : rest.size();
    const std::vector<std::uint8_t> copy(rest.begin(),
                                         rest.begin() + static_cast<std::ptrdiff_t>(captured));
    rest = rest.subspan(captured);
    stream.add({.sequence = place,
                .syn = syn,
                .length = static_cast<std::uint32_t>(length),
                .bytes = std::as_bytes(std::span(copy))},
               time, messages);
  }
  stream.finish(messages);
  return 0;
}
