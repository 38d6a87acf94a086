// SPDX-License-Identifier: BSD-3-Clause
// Streams of socklnd in both byte orders and with NIDs of both sizes, cut at any byte.
#include "lib/trace/file/ksock_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/wire/header_codec.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::ksock_stream_test {
namespace {

using records::Bytes;
using socklnd::Protocol;

constexpr std::size_t kPayloadBytes = 37;

struct Form {
  Protocol protocol;
  bool swapped;
};

struct Seen final : FramedSink {
  void on_message(const FramedMessage& message) override {
    headers.push_back(message.header);
    payloads.emplace_back(message.payload.begin(), message.payload.end());
  }
  std::vector<lnet::MessageHeader> headers;
  std::vector<Bytes> payloads;
};

lnet::MessageHeader put_header(std::uint64_t match_bits) {
  lnet::MessageHeader header;
  header.type = lnet::MessageType::kPut;
  header.source = records::kClient;
  header.destination = records::kServer;
  header.source_pid = header.destination_pid = lnet::kLustrePid;
  header.payload_length = kPayloadBytes;
  header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = match_bits});
  return header;
}

// A frame has the byte order of its sender; the LNet header behind it always has the same one.
Bytes message_bytes(const Form& form, const lnet::MessageHeader& header, std::byte fill) {
  std::array<std::byte, socklnd::kFrameBytes> frame{};
  const std::uint32_t type = socklnd::kFrameLnet;
  socklnd::encode_frame({.type = form.swapped ? std::byteswap(type) : type}, frame);
  Bytes bytes(frame.begin(), frame.end());
  if (form.protocol == Protocol::kV4) {
    std::array<std::byte, lnet::kHeaderNid16Bytes> wire{};
    lnet::encode_header_nid16(header, wire);
    bytes.insert(bytes.end(), wire.begin(), wire.end());
  } else {
    std::array<std::byte, lnet::kHeaderNid4Bytes> wire{};
    EXPECT_TRUE(lnet::encode_header_nid4(header, wire));
    bytes.insert(bytes.end(), wire.begin(), wire.end());
  }
  bytes.insert(bytes.end(), kPayloadBytes, fill);
  return bytes;
}

class KsockStreamForms : public testing::TestWithParam<Form> {};

TEST_P(KsockStreamForms, MessagesAreFoundInTheMiddleOfAConnection) {
  const std::array headers{put_header(7), put_header(8), put_header(9)};
  const Bytes first = message_bytes(GetParam(), headers[0], std::byte{1});
  Bytes rest = message_bytes(GetParam(), headers[1], std::byte{2});
  const Bytes third = message_bytes(GetParam(), headers[2], std::byte{3});
  rest.insert(rest.end(), third.begin(), third.end());
  for (std::size_t cut = 0; cut <= rest.size(); ++cut) {
    Seen seen;
    KsockStream stream(seen, kPayloadBytes);
    const auto bytes = std::span<const std::byte>(rest);
    stream.on_bytes(first, 1, true);
    stream.on_bytes(bytes.first(cut), 2, true);
    stream.on_bytes(bytes.subspan(cut), 3, true);
    ASSERT_EQ(seen.headers.size(), headers.size()) << "cut at " << cut;
    for (std::size_t i = 0; i < headers.size(); ++i) {
      EXPECT_EQ(seen.headers[i].source, records::kClient);
      EXPECT_EQ(seen.headers[i].destination, records::kServer);
      EXPECT_EQ(seen.headers[i].area<lnet::PutArea>().match_bits, 7 + i);
      EXPECT_EQ(seen.payloads[i], Bytes(kPayloadBytes, static_cast<std::byte>(i + 1)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KsockStreamForms,
                         testing::Values(Form{Protocol::kV3, false}, Form{Protocol::kV3, true},
                                         Form{Protocol::kV4, false}, Form{Protocol::kV4, true}));

}  // namespace
}  // namespace plnet::trace::ksock_stream_test
