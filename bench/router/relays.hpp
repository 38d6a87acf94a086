// SPDX-License-Identifier: BSD-3-Clause
// Relays that know nothing but bytes: what a router is held against. Each moves bytes from one
// socket to the other until it is told to stop, in a thread that the caller brings.
#pragma once

#include <atomic>
#include <string_view>

namespace plnet::bench {

enum class RelayKind {
  kSplice,  // by a pipe, without a copy, spinning
  kEpoll,   // by a buffer, asleep whenever there is nothing to read
};

void relay_bytes(RelayKind kind, int from, int to, const std::atomic<bool>& stop);

}  // namespace plnet::bench
