// SPDX-License-Identifier: BSD-3-Clause
// Why a message takes its way: asked of the shard that would choose it.
#pragma once

#include "lib/lnet/node/path_report.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// A message that is forwarded is chosen a way for by the home of who sends it here; shard 0 stands
// for those that would send one of ours.
void report_path_of(LnetDesk& desk, const lnet::PathQuestion& question,
                    lnet::Reply<lnet::PathReport> reply);

}  // namespace plnet::node
