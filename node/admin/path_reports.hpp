// SPDX-License-Identifier: BSD-3-Clause
// The reasons of path selection, from the shard that would select the path.
#pragma once

#include "lib/lnet/node/path_report.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// For a forwarded message that is the home shard of the peer that sends it here. For messages of
// this node shard 0 answers.
void report_path_of(LnetDesk& desk, const lnet::PathQuestion& question,
                    lnet::Reply<lnet::PathReport> reply);

}  // namespace plnet::node
