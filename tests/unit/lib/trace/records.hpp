// SPDX-License-Identifier: BSD-3-Clause
// Records for tests of lib/trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/trace/decode/lnet_names.hpp"
#include "lib/trace/record/record.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::trace::records {

using lnet::vectors::Bytes;
using lnet::vectors::Json;

inline const lnet::Nid kClient = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000001);
inline const lnet::Nid kServer = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000002);

inline const Json& vector(const char* file, std::string_view name) {
  static const Json kRpc = lnet::vectors::load("ptlrpc");
  static const Json kSelftest = lnet::vectors::load("selftest");
  const Json& all = std::string_view(file) == "ptlrpc" ? kRpc : kSelftest;
  const auto found =
      std::ranges::find_if(all, [&](const Json& one) { return one["name"] == name; });
  PLNET_CHECK(found != all.end(), "the vector is in its file");
  return *found;
}
inline Bytes payload_of(const char* file, std::string_view name) {
  return lnet::vectors::bytes_of(vector(file, name));
}

struct Put {
  lnet::Nid source = kClient;
  lnet::Nid destination = kServer;
  std::uint32_t portal = 0;
  std::uint64_t match_bits = 0;
  std::uint32_t offset = 0;
  Direction direction = Direction::kSent;
  std::uint64_t time_ns = 0;
  lnet::WireHandle handle{};
};

inline Record record_of(const lnet::MessageHeader& header, const Put& put,
                        std::span<const std::byte> payload) {
  Record record;
  set_header(header, record.header);
  record.header.direction = put.direction;
  record.header.time_ns = put.time_ns;
  record.header.hop = put.direction == Direction::kSent ? put.destination : put.source;
  record.header.captured = static_cast<std::uint32_t>(payload.size());
  record.payload = payload;
  return record;
}

inline Record put(const Put& put, std::span<const std::byte> payload) {
  lnet::MessageHeader header{.destination = put.destination,
                             .source = put.source,
                             .type = lnet::MessageType::kPut,
                             .payload_length = static_cast<std::uint32_t>(payload.size())};
  header.set_area(lnet::PutArea{.ack_handle = put.handle,
                                .match_bits = put.match_bits,
                                .portal = put.portal,
                                .offset = put.offset});
  return record_of(header, put, payload);
}

inline Record get(const Put& put, std::uint32_t sink) {
  lnet::MessageHeader header{
      .destination = put.destination, .source = put.source, .type = lnet::MessageType::kGet};
  header.set_area(lnet::GetArea{.return_handle = put.handle,
                                .match_bits = put.match_bits,
                                .portal = put.portal,
                                .source_offset = put.offset,
                                .sink_length = sink});
  return record_of(header, put, {});
}

inline Record reply(const Put& put, std::uint32_t length) {
  lnet::MessageHeader header{.destination = put.destination,
                             .source = put.source,
                             .type = lnet::MessageType::kReply,
                             .payload_length = length};
  header.set_area(lnet::ReplyArea{.destination = put.handle});
  return record_of(header, put, {});
}

}  // namespace plnet::trace::records
