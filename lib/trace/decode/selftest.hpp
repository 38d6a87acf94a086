// SPDX-License-Identifier: BSD-3-Clause
// A message of LNet's selftest in a captured payload. The layouts are lib/selftest's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/selftest/srpc_codec.hpp"

namespace plnet::trace {

struct SelftestMessage {
  std::uint32_t type = 0;  // selftest::MessageType; may be any value
  bool swapped = false;
  std::optional<std::uint32_t> features;
  std::optional<std::uint64_t> reply_id;   // request
  std::optional<std::uint64_t> bulk_id;    // requests with bulk
  std::optional<std::uint32_t> status;     // reply
  std::optional<selftest::Message> whole;  // all 160 bytes were captured and the type is known

  [[nodiscard]] bool is_request() const { return type % 2 == 0; }
};

// Nothing: another magic, or the type was not captured. `length`: of the whole payload.
[[nodiscard]] std::optional<SelftestMessage> parse_selftest(std::span<const std::byte> payload,
                                                            std::size_t length);

}  // namespace plnet::trace
