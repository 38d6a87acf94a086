// SPDX-License-Identifier: BSD-3-Clause
// The contents of kHello and kWelcome: the sender's limits for receiving.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "drivers/net/cassini/soft/link/options.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

struct SessionOfferWire {
  std::uint32_t packet_bytes_max = 0;
  std::uint32_t window = 0;
};
static_assert(sizeof(SessionOfferWire) == 8 && offsetof(SessionOfferWire, window) == 4);
inline constexpr std::size_t kOfferBytes = sizeof(SessionOfferWire);

struct SessionOffer {
  std::uint32_t packet_bytes_max = 0;
  std::uint32_t window = 0;  // packets
};

[[nodiscard]] inline bool is_offer(std::span<const std::byte> payload) {
  if (payload.size() < kOfferBytes) return false;
  SessionOfferWire wire;
  std::memcpy(&wire, payload.data(), sizeof wire);
  return wire.packet_bytes_max > 0 && wire.window > 0;
}
[[nodiscard]] inline SessionOffer decode_offer(std::span<const std::byte> payload) {
  PLNET_CHECK(is_offer(payload), "the caller has checked is_offer()");
  SessionOfferWire wire;
  std::memcpy(&wire, payload.data(), sizeof wire);
  return {.packet_bytes_max = wire.packet_bytes_max, .window = wire.window};
}
[[nodiscard]] inline std::array<std::byte, kOfferBytes> encode_offer(const SessionOffer& offer) {
  const SessionOfferWire wire{offer.packet_bytes_max, offer.window};
  std::array<std::byte, kOfferBytes> bytes{};
  std::memcpy(bytes.data(), &wire, sizeof wire);
  return bytes;
}

}  // namespace plnet::cassini::soft::link
