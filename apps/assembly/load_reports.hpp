// SPDX-License-Identifier: BSD-3-Clause
// Who makes the load, of all shards.
#pragma once

#include "apps/assembly/lnet_desk.hpp"
#include "lib/lnet/load/load_tally.hpp"

namespace plnet::apps {

// A shard only copies its tables; whoever asks adds them up.
void report_load(LnetDesk& desk, const LnetHost& host, lnet::Reply<lnet::LoadSnapshot> reply);

}  // namespace plnet::apps
