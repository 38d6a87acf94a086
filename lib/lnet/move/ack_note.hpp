// SPDX-License-Identifier: BSD-3-Clause
// An ACK for a descriptor of another shard. The ACK is complete with its header, so the receiving
// shard does not wait for an answer: a note tells the owner of the descriptor, and comes home
// empty. That moves half as many cache lines between cores as a question about a match. It is for
// senders with one NID that sent the ACK themselves; any other ACK is received like a REPLY.
#pragma once

#include "lib/base/cache_line.hpp"
#include "lib/lnet/flow/parcel.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// Constant from its post until its pool lends it again.
struct alignas(2 * kCacheLine) AckNote : Parcel {
  AckNote() : Parcel(ParcelKind::kAckNote) {}

  MessageHeader header;
};
static_assert(sizeof(AckNote) == 2 * kCacheLine, "a note moves two lines between cores");

}  // namespace plnet::lnet
