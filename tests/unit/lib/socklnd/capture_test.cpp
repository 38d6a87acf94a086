// SPDX-License-Identifier: BSD-3-Clause
// Two kernels, replayed: every stream of a capture, both directions, through the readers and the
// framing. The capture lies beside the tree, not in it.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/request_reader.hpp"
#include "tests/mocks/tcp_capture.hpp"
#include "tests/unit/lib/socklnd/framed_stream.hpp"

namespace plnet::socklnd {
namespace {

TEST(SocklndCapture, EveryByteOfTwoKernelsIsUnderstood) {
  const auto path = mocks::shared_capture("kernel-2.17-tcp.pcap");
  const auto streams_of_capture = mocks::read_tcp_capture(path);
  if (!streams_of_capture) GTEST_SKIP() << "no capture at " << path;
  unsigned introductions = 0;
  unsigned streams = 0;
  std::size_t messages = 0;
  std::map<std::int32_t, unsigned> types;
  for (const mocks::CapturedStream& direction : *streams_of_capture) {
    const bool active = direction.to.port == 988;
    SCOPED_TRACE("from port " + std::to_string(direction.from.port));
    ++streams;
    ASSERT_EQ(direction.gaps, 0U);
    std::span<const std::byte> rest(direction.bytes);
    if (active) {
      RequestReader request;
      rest = rest.subspan(request.take(rest));
      ASSERT_EQ(request.state(), RequestReader::State::kDone);
      EXPECT_EQ(request.target().address32(), direction.to.address);
      std::array<std::byte, kAcceptorV2Bytes> again{};
      const std::size_t length = encode_acceptor_request(request.target(), again);
      EXPECT_TRUE(std::ranges::equal(std::span(again).first(length),
                                     std::span(direction.bytes).first(length)));
      EXPECT_LE(direction.from.port, 1023);
      ++introductions;
    }
    HelloReader hello;
    const auto at_hello = rest;
    rest = rest.subspan(hello.take(rest));
    ASSERT_EQ(hello.state(), HelloReader::State::kDone);
    EXPECT_EQ(hello.hello().protocol, Protocol::kV3);
    EXPECT_EQ(hello.hello().source.address32(), direction.from.address);
    EXPECT_EQ(hello.hello().source_pid, lnet::kLustrePid);
    ++types[hello.hello().type];
    std::array<std::byte, kHelloV4Bytes> again{};
    ASSERT_EQ(encode_hello(hello.hello(), again), kHelloNid4Bytes);
    EXPECT_TRUE(std::ranges::equal(std::span(again).first(kHelloNid4Bytes),
                                   at_hello.first(kHelloNid4Bytes)))
        << "our HELLO would have been the same";

    FramedStream whole(hello.hello().protocol, hello.swapped(), 1);
    whole.feed(rest, false);
    EXPECT_FALSE(whole.framing().failed());
    EXPECT_TRUE(whole.framing().at_boundary());
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      FramedStream cut(hello.hello().protocol, hello.swapped(), seed);
      cut.feed(rest, true);
      ASSERT_EQ(cut.messages, whole.messages) << "seed " << seed;
    }
    messages += whole.messages.size();
    for (const FramedMessage& message : whole.messages)
      EXPECT_LE(static_cast<std::uint32_t>(message.header.type), 3U);
  }
  EXPECT_EQ(introductions, 3U);
  EXPECT_EQ(streams, 6U);
  EXPECT_EQ(messages, 44U);
  EXPECT_EQ(types[1] + types[2] + types[3], 6U);
}

}  // namespace
}  // namespace plnet::socklnd
