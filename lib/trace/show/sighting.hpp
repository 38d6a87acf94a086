// SPDX-License-Identifier: BSD-3-Clause
// One message for outputs: numbered, decoded and paired.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/trace/pair/pair_up.hpp"

namespace plnet::trace {

struct Sighting {
  std::uint64_t number = 0;
  const Message& message;
  const Paired& paired;
  lnet::Nid interface;            // of type 0: unknown
  std::uint64_t previous_ns = 0;  // time of the previous message; 0: none

  [[nodiscard]] const RecordHeader& record() const { return message.record.header; }
  // For an ACK or REPLY, whose header has none, the portal of its request, if that was seen.
  [[nodiscard]] std::optional<std::uint32_t> portal() const {
    if (const auto own = message.record.portal()) return own;
    if (paired.exchange == nullptr) return std::nullopt;
    return paired.exchange->portal;
  }
};

}  // namespace plnet::trace
