// SPDX-License-Identifier: BSD-3-Clause
// Memory for pings and pushes under way: a fixed number of slots, each with room for the largest
// ping buffer. A slot is used again after its descriptor is unlinked and no part reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

inline constexpr std::uint32_t kPingSlotBytes = (kPingBytesMax + 63) / 64 * 64;
static_assert(kPingSlotBytes % 64 == 0 && kPingSlotBytes >= kPingBytesMax,
              "a slot holds each ping buffer");

// Bytes that the network can reach, with their place in the arena.
struct PingMemory {
  BufferAddress at;
  std::span<std::byte> bytes;

  // Splits `count` slots off the front.
  [[nodiscard]] PingMemory split(std::size_t count) {
    const std::size_t length = count * kPingSlotBytes;
    PLNET_CHECK(length <= bytes.size(), "ping memory is too small");
    PingMemory front{at, bytes.first(length)};
    at.offset += length;
    bytes = bytes.subspan(length);
    return front;
  }
};

enum class ExchangeKind : std::uint8_t { kPing, kPush, kHeard, kAdmin };

struct PingExchange {
  ExchangeKind kind = ExchangeKind::kPing;
  bool linked = false;  // a descriptor refers to it
  bool held = false;    // a part of this node reads it, or waits for it
  void* owner = nullptr;
  const void* left_by = nullptr;  // its previous owner, which has given it up
  Nid target = Nid::any();        // of a gateway check
  MdHandle md;
  std::uint32_t sequence = 0;  // of the pushed buffer
  std::uint32_t length = 0;    // of the received data
  std::uint32_t losses = 0;    // of connections to the peer, at the time of sending
  Fragment fragment;
  std::span<std::byte> room;

  [[nodiscard]] std::span<const std::byte> received() const {
    PLNET_CHECK(length <= room.size(), "received data stay within their slot");
    return room.first(length);
  }
};

class PingExchanges {
 public:
  explicit PingExchanges(PingMemory memory) : pool_(memory.bytes.size() / kPingSlotBytes) {
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
      PingExchange& exchange = pool_.at(i);
      exchange.fragment.at = {memory.at.arena,
                              memory.at.offset + std::uint64_t{i} * kPingSlotBytes};
      exchange.room = memory.bytes.subspan(std::size_t{i} * kPingSlotBytes, kPingSlotBytes);
    }
  }

  // Held by the caller; nullptr: all are in use.
  [[nodiscard]] PingExchange* take(ExchangeKind kind, void* owner) {
    PingExchange* exchange = pool_.take();
    if (exchange == nullptr) return nullptr;
    PLNET_CHECK(!exchange->linked && !exchange->held, "a free slot has no descriptor");
    exchange->kind = kind;
    exchange->owner = owner;
    exchange->left_by = nullptr;
    exchange->target = Nid::any();
    exchange->linked = false;
    exchange->held = true;
    exchange->length = 0;
    exchange->md = {};
    return exchange;
  }
  // Frees the slot when nothing uses it any more.
  void release(PingExchange& exchange) {
    if (exchange.linked || exchange.held) return;
    PLNET_CHECK(exchange.target.is_any() || checks_ > 0, "checks in use are counted");
    if (!exchange.target.is_any()) --checks_;
    exchange.owner = nullptr;
    pool_.give(&exchange);
  }

  // The exchange is the check of a gateway until it is released.
  void becomes_check(PingExchange& exchange, const Nid& target) {
    PLNET_CHECK(exchange.held && exchange.target.is_any() && !target.is_any(),
                "an exchange in use becomes the check of one interface");
    exchange.target = target;
    ++checks_;
    PLNET_CHECK(checks_ <= pool_.capacity(), "a check is one of the slots");
  }

  // The network still has an exchange that this owner has given up: a check of this target, or any.
  [[nodiscard]] bool has_left(const void* owner, const Nid& target = Nid::any()) {
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
      if (!pool_.is_lent(i)) continue;
      const PingExchange& left = pool_.at(i);
      if (left.linked && left.left_by == owner && (target.is_any() || left.target == target))
        return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t free_count() const { return pool_.free_count(); }
  [[nodiscard]] std::size_t checks() const { return checks_; }
  [[nodiscard]] std::size_t capacity() const { return pool_.capacity(); }

 private:
  Pool<PingExchange> pool_;
  std::size_t checks_ = 0;  // of the slots in use
};

}  // namespace plnet::lnet
