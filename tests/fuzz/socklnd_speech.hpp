// SPDX-License-Identifier: BSD-3-Clause
// Pieces of a peer's TCP stream, made from the input: requests, HELLOs, NOOPs and messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/lnet/wire/header_codec.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"
#include "lib/socklnd/wire.hpp"
#include "tests/fuzz/script.hpp"

namespace plnet::socklnd::core_fuzz {

using namespace lnet;

inline constexpr std::uint32_t kPeers = 4;  // besides us
inline constexpr std::uint32_t kLengthMax = 3000;

// The node under test is 0.
inline Nid nid_of(std::uint32_t peer) {
  return Nid::of(NetType::kTcp, 0, 0x0a000001 + peer);
}

class Speech {
 public:
  explicit Speech(fuzz::Script& script) : script_(script) {}

  std::span<const std::byte> request() {
    const Nid to = nid_of(script_.below(8) == 0 ? 1 : 0);
    return std::span(bytes_).first(
        encode_acceptor_request(to, std::span(bytes_).first<kAcceptorV2Bytes>()));
  }
  std::span<const std::byte> hello() {
    Hello hello{.protocol = static_cast<Protocol>(2 + script_.below(3)),
                .source = nid_of(1 + script_.below(kPeers)),
                .destination = nid_of(0),
                .source_incarnation = script_.below(3)};
    hello.type = static_cast<std::int8_t>(script_.byte() % 6 - 1);
    if (script_.below(8) == 0) hello.addresses = script_.number<std::uint32_t>();
    const auto length = encode_hello(hello, std::span(bytes_).first<kHelloV4Bytes>());
    return std::span(bytes_).first(length.value_or(0));
  }
  std::span<const std::byte> noop() {
    const Frame frame{
        .cookies = {script_.number<std::uint64_t>(), script_.number<std::uint64_t>()}};
    encode_frame(frame, std::span(bytes_).first<kFrameBytes>());
    return std::span(bytes_).first(kFrameBytes);
  }
  std::span<const std::byte> message() {
    MessageHeader header{.destination = nid_of(script_.below(8) == 0 ? 3 : 0),
                         .source = nid_of(1 + script_.below(kPeers)),
                         .type = static_cast<MessageType>(script_.below(6)),
                         .payload_length = script_.number<std::uint32_t>()};
    const bool is_ping = script_.below(3) == 0;
    const std::uint64_t bits = is_ping ? kPingMatchBits : script_.number<std::uint64_t>();
    const std::uint32_t portal = is_ping ? 0 : 5;
    const WireHandle handle{script_.number<std::uint64_t>(), script_.number<std::uint64_t>()};
    if (header.type == MessageType::kGet) {
      header.payload_length = 0;
      header.set_area(GetArea{.return_handle = handle,
                              .match_bits = bits,
                              .portal = portal,
                              .sink_length = script_.number<std::uint32_t>()});
    } else if (header.type == MessageType::kPut) {
      header.set_area(PutArea{.ack_handle = handle, .match_bits = bits, .portal = portal});
    } else {
      header.set_area(ReplyArea{.destination = handle});
    }
    encode_frame({.type = kFrameLnet, .cookies = {script_.number<std::uint64_t>(), 0}},
                 std::span(bytes_).first<kFrameBytes>());
    auto rest = std::span(bytes_).subspan(kFrameBytes);
    const bool is_v4 = script_.below(8) == 0;
    if (is_v4) {
      encode_header_nid16(header, rest.first<kHeaderNid16Bytes>());
    } else {
      (void)encode_header_nid4(header, rest.first<kHeaderNid4Bytes>());
    }
    const std::size_t head = kFrameBytes + (is_v4 ? kHeaderNid16Bytes : kHeaderNid4Bytes);
    const std::size_t payload = std::min<std::size_t>(header.payload_length, kLengthMax);
    // Often the whole message arrives, else a part of it, or a piece of the head alone.
    const std::size_t cut =
        script_.below(3) == 0 ? script_.number<std::uint16_t>() : kLengthMax * 2;
    return std::span(bytes_).first(std::min(head + payload, cut));
  }

 private:
  fuzz::Script& script_;
  std::array<std::byte, kFrameBytes + kHeaderNid16Bytes + kLengthMax> bytes_{};
};

}  // namespace plnet::socklnd::core_fuzz
