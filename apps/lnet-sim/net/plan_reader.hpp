// SPDX-License-Identifier: BSD-3-Clause
// A network as a site file describes it.
#pragma once

#include "apps/lnet-sim/net/plan.hpp"
#include "apps/lnet-sim/yaml/key_reader.hpp"

namespace plnet::sim {

void read_net(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, NetPlan& plan);

}  // namespace plnet::sim
