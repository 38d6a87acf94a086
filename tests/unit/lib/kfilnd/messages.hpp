// SPDX-License-Identifier: BSD-3-Clause
// kfilnd messages as a peer sends them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

inline constexpr std::uint64_t kFirstNic = 0x1a0;

inline lnet::Nid nid_of(unsigned node) {
  return lnet::Nid::of(lnet::NetType::kKfi, 0, static_cast<std::uint32_t>(kFirstNic + node));
}
inline std::uint64_t nid64_of(unsigned node) {
  return lnet::to_nid64(nid_of(node)).value;
}

inline Message hello_message(unsigned from, unsigned to, Kind kind, const Hello& hello) {
  Message message;
  message.kind = kind;
  message.source_nid = nid64_of(from);
  message.destination_nid = nid64_of(to);
  message.hello = hello;
  return message;
}

inline Message lnet_message(unsigned from, unsigned to, Kind kind, std::uint16_t version,
                            lnet::MessageType type, std::uint32_t length) {
  Message message;
  message.kind = kind;
  message.version = version;
  message.source_nid = nid64_of(from);
  message.destination_nid = nid64_of(to);
  message.header = {.destination = nid_of(to), .source = nid_of(from), .type = type};
  if (type == lnet::MessageType::kGet) {
    message.header.set_area(lnet::GetArea{.sink_length = length});
  } else {
    message.header.payload_length = length;
  }
  return message;
}

inline std::vector<std::byte> bytes_of(const Message& message, std::uint32_t payload = 0) {
  Head head{};
  const std::size_t length = encode(message, payload, head);
  std::vector<std::byte> bytes(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(length));
  bytes.resize(length + payload);
  return bytes;
}

}  // namespace plnet::kfilnd
