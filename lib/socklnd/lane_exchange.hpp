// SPDX-License-Identifier: BSD-3-Clause
// The exchange of notes about bulk connections between the shards of a CPT.
#pragma once

#include "lib/lnet/flow/lane_exchange.hpp"
#include "lib/socklnd/lane.hpp"

namespace plnet::socklnd {

using lnet::kLanesMax;
using LaneNote = lnet::LaneNoteOf<Lane>;
using LaneEnd = lnet::LaneEndOf<Lane>;
using LaneExchange = lnet::LaneExchangeOf<Lane>;

}  // namespace plnet::socklnd
