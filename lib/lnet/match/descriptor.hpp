// SPDX-License-Identifier: BSD-3-Clause
// A memory descriptor (MD) in the tables of its shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "lib/base/cache_line.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/match/match_entries.hpp"

namespace plnet::lnet {

class MatchTable;

inline constexpr std::uint32_t kNoPeerNi = 0xffffffff;

// The peer NI that a request left for: it loses health if no response arrives.
struct NextHop {
  std::uint32_t peer_ni = kNoPeerNi;  // PeerNi::number
  Nid nid = Nid::any();               // if there is one
  Nid beyond = Nid::any();            // the target, if the next hop is a gateway
};

struct alignas(kCacheLine) Descriptor {
  enum class State : std::uint8_t {
    kFree,
    kLive,
    kUnlinked,  // no handle leads to it; the end of its last operation frees it
  };

  // One line, which every operation reads.
  std::uint32_t generation = 1;
  std::uint32_t pins = 0;  // operations under way, and quarantines
  std::int32_t threshold = 0;
  std::uint32_t options = 0;  // MdOption
  std::uint32_t offset = 0;   // the place of the next message, unless the sender names one
  std::uint32_t length = 0;
  std::uint32_t max_size = 0;
  std::uint32_t entry = MatchEntries::kNone;  // its ME's index, while kLive
  State state = State::kFree;
  bool attached = false;  // passive: made with an ME
  bool auto_unlink = false;
  // Unlinked early, by its user or its response timeout.
  Relaxed<bool> aborted;
  std::span<const Fragment> fragments;
  EventHandler* handler = nullptr;

  // For events and response tracking.
  void* user = nullptr;
  Timer response_timer = Timer::calling<&Descriptor::on_response_timeout>(*this);
  MatchTable* table = nullptr;
  NextHop next_hop;

  // lustre-release lnet/include/lnet/lib-lnet.h: lnet_md_exhausted()
  [[nodiscard]] bool exhausted() const {
    return threshold == 0 ||
           ((options & kMdMaxSize) != 0 && std::uint64_t{offset} + max_size > length);
  }
  // lustre-release lnet/include/lnet/lib-lnet.h: lnet_md_unlinkable()
  [[nodiscard]] bool unlinkable() const {
    return pins == 0 && (state == State::kUnlinked || (auto_unlink && exhausted()));
  }
  // The bytes that fit at `at`. An offset from the wire may be anywhere: the kernel trusts it, here
  // nothing fits beyond the end.
  [[nodiscard]] std::uint32_t room(std::uint32_t at) const {
    const std::uint32_t left = at < length ? length - at : 0;
    return (options & kMdMaxSize) != 0 ? std::min(max_size, left) : left;
  }

  void on_response_timeout(Timer& timer, Instant now);
};
static_assert(sizeof(Descriptor) == 3 * kCacheLine);

}  // namespace plnet::lnet
