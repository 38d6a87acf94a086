// SPDX-License-Identifier: BSD-3-Clause
// The load by sender, of all shards.
#pragma once

#include "lib/lnet/load/load_tally.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// A shard only copies its tables; the caller adds them up.
void report_load(LnetDesk& desk, const LnetHost& host, lnet::Reply<lnet::LoadSnapshot> reply);

}  // namespace plnet::node
