// SPDX-License-Identifier: BSD-3-Clause
// An ACK for a descriptor of another shard. All of it is there with its header, so nobody waits for
// an answer: the owner of the descriptor is told, and the note comes home empty. Half as many cache
// lines change hands as for a message whose match is asked for. Only of a sender that goes by one
// NID and sent it here itself; any other ACK is received as a REPLY is.
#pragma once

#include "lib/base/cache_line.hpp"
#include "lib/lnet/flow/parcel.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// From when it is posted it is only read, until it is taken from its pool again.
struct alignas(2 * kCacheLine) AckNote : Parcel {
  AckNote() : Parcel(ParcelKind::kAckNote) {}

  MessageHeader header;
};
static_assert(sizeof(AckNote) == 2 * kCacheLine);

}  // namespace plnet::lnet
