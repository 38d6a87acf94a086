// SPDX-License-Identifier: BSD-3-Clause
// Drives the framing like a driver and an LND together: reads that end anywhere, payload past or
// through the staging buffer, decisions at once or later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/random.hpp"
#include "lib/socklnd/framing.hpp"

namespace plnet::socklnd {

struct FramedMessage {
  lnet::MessageHeader header;
  std::uint64_t request_cookie = 0;
  std::vector<std::byte> payload;  // the accepted part
  bool whole = false;

  friend bool operator==(const FramedMessage& a, const FramedMessage& b) {
    return a.header.type == b.header.type && a.header.source == b.header.source &&
           a.header.type_area == b.header.type_area && a.request_cookie == b.request_cookie &&
           a.payload == b.payload && a.whole == b.whole;
  }
};

class FramedStream {
 public:
  // The accepted part of a payload depends on its length alone, so that runs can be compared.
  enum class Wants : std::uint8_t { kAll, kSome };

  FramedStream(Protocol protocol, bool swapped, std::uint64_t seed, Wants wants = Wants::kAll)
      : memory_(kMemoryBytes), random_(seed), wants_(wants), framing_(protocol, swapped) {
    arena_ = *arenas_.add({.base = memory_.data(), .size = memory_.size()});
  }

  // Feeds all bytes, cut at random positions; in whole reads if `cut` is false. Stops at a failure.
  void feed(std::span<const std::byte> bytes, bool cut) {
    while (!framing_.failed() && (!bytes.empty() || framing_.undecided())) {
      if (framing_.undecided()) decide();
      std::size_t count = cut ? 1 + random_.below(std::min<std::size_t>(bytes.size() + 1, 700)) : 0;
      count = cut ? std::min(count, bytes.size()) : bytes.size();
      std::span<const std::byte> read = bytes.first(count);
      const std::span<std::byte> direct = framing_.destination(arenas_);
      const std::size_t past = std::min(direct.size(), read.size());
      if (past > 0 && (!cut || random_.below(2) == 0)) {
        std::memcpy(direct.data(), read.data(), past);
        framing_.took(past, arenas_);
        read = read.subspan(past);
      }
      take(read);
      bytes = bytes.subspan(count - read.size());
    }
  }

  [[nodiscard]] const Framing& framing() const { return framing_; }
  std::vector<FramedMessage> messages;
  std::vector<ZeroCopyAck> acknowledged;
  unsigned noops = 0;

 private:
  // small, since a fuzzer makes many of these
  static constexpr std::size_t kMemoryBytes = 256U << 10U;

  void take(std::span<const std::byte>& read) {
    for (;;) {
      switch (framing_.next(read, arenas_)) {
        case Framing::Step::kNoop:
          ++noops;
          acknowledged.push_back(framing_.acknowledges());
          break;
        case Framing::Step::kAcknowledge: acknowledged.push_back(framing_.acknowledges()); break;
        case Framing::Step::kHeader:
          messages.push_back({.header = framing_.header()});
          if (random_.below(3) == 0) return;  // decide later
          decide();
          break;
        case Framing::Step::kWanted: {
          FramedMessage& message = messages.back();
          message.whole = true;
          message.request_cookie = framing_.request_cookie();
          message.payload.assign(memory_.begin(),
                                 memory_.begin() + static_cast<std::ptrdiff_t>(wanted_));
          break;
        }
        case Framing::Step::kMore: PLNET_CHECK(read.empty(), "more only when all is used"); return;
        case Framing::Step::kUndecided:
        case Framing::Step::kFailed: return;
      }
    }
  }

  void decide() {
    const std::uint32_t length = framing_.header().payload_length;
    wanted_ = std::min<std::uint32_t>(length, kMemoryBytes / 2);
    if (wants_ == Wants::kSome) wanted_ = std::min(wanted_, length / 3);
    const std::uint32_t first = wanted_ / 4;  // scattered but consecutive
    fragments_[0] = {{arena_, 0}, first};
    fragments_[1] = {{arena_, first}, wanted_ - first};
    framing_.decide({.fragments = fragments_, .length = wanted_}, wanted_);
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  ArenaId arena_ = 0;
  Random random_;
  Wants wants_;
  Framing framing_;
  std::array<Fragment, 2> fragments_{};
  std::uint32_t wanted_ = 0;
};

}  // namespace plnet::socklnd
