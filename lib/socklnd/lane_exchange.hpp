// SPDX-License-Identifier: BSD-3-Clause
// Where the shards of a CPT talk about bulk connections.
#pragma once

#include "lib/lnet/flow/lane_exchange.hpp"
#include "lib/socklnd/lane.hpp"

namespace plnet::socklnd {

using lnet::kLanesMax;
using LaneNote = lnet::LaneNoteOf<Lane>;
using LaneEnd = lnet::LaneEndOf<Lane>;
using LaneExchange = lnet::LaneExchangeOf<Lane>;

}  // namespace plnet::socklnd
