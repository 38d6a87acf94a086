// SPDX-License-Identifier: BSD-3-Clause
// One message of a kind, made of any bytes: magic, destination and source are put right so that the
// rest is reached, unless the first byte says otherwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::kfilnd {

inline void put_right(std::vector<std::byte>& bytes, Kind kind, std::uint64_t own,
                      std::uint8_t choice) {
  if (bytes.size() < kCommonBytes) return;
  CommonWire common;
  std::memcpy(&common, bytes.data(), sizeof common);
  common.magic = kMagic;
  common.destination_nid = own;
  common.source_nid = (own & ~0xffff'ffffULL) | (common.source_nid & 0xffff'ffffU);
  const bool other = (choice & 1U) != 0;  // the other of the two that look alike
  if (kind == Kind::kHelloRequest) {
    common.version = kHelloVersion;
    common.type = static_cast<std::uint8_t>(other ? Kind::kHelloResponse : kind);
  } else {
    common.version = (choice & 2U) != 0 ? 1 : 2;
    common.type =
        static_cast<std::uint8_t>(other && kind == Kind::kBulkPut ? Kind::kBulkGet : kind);
  }
  if ((choice & 4U) != 0) common.nob = static_cast<std::uint16_t>(bytes.size());
  std::memcpy(bytes.data(), &common, sizeof common);
}

inline void check_message(Kind kind, std::span<const std::uint8_t> data) {
  if (data.empty()) return;
  const std::uint8_t choice = data[0];
  const auto given = std::as_bytes(data.subspan(1));
  std::vector<std::byte> bytes(given.begin(), given.end());
  constexpr std::uint64_t kOwn = 0x0010'0000'0000'01a2;
  if ((choice & 0x80U) == 0) put_right(bytes, kind, kOwn, choice);
  Message message;
  const bool verify = (choice & 8U) != 0;
  if (decode(bytes, {.own_nid = kOwn, .verify_checksum = verify}, message)) return;
  CommonWire common;
  std::memcpy(&common, bytes.data(), sizeof common);
  PLNET_CHECK(common.nob <= bytes.size(), "no message is longer than what came");
  const std::size_t payload =
      message.kind == Kind::kImmediate ? common.nob - kImmediateBytes : std::size_t{0};
  if (payload > kInlineBytesMax) return;
  Head head{};
  const std::size_t length = encode(message, static_cast<std::uint32_t>(payload), head);
  Message again;
  std::vector<std::byte> sent(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(length));
  sent.insert(sent.end(), bytes.begin() + static_cast<std::ptrdiff_t>(length),
              bytes.begin() + static_cast<std::ptrdiff_t>(length + payload));
  Checksum checksum;
  checksum.add(sent);
  set_checksum(checksum.value(), sent);
  PLNET_CHECK(!decode(sent, {.own_nid = kOwn, .verify_checksum = true}, again),
              "what was read can be sent");
  PLNET_CHECK(again.hello == message.hello && again.key == message.key &&
                  again.session_key == message.session_key &&
                  again.response_rx == message.response_rx,
              "and is the same");
}

}  // namespace plnet::kfilnd
