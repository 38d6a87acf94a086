// SPDX-License-Identifier: BSD-3-Clause
// LNet's parameters of an existing network: a site has them once, so those of the first file count.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/lnet-sim/adopt/config_file.hpp"
#include "apps/lnet-sim/plan/site_config.hpp"

namespace plnet::sim {

// Health, timeouts, discovery, checks of gateways, and credits of the networks, whose names are
// those of LNet.
void adopt_parameters(std::span<const ConfigFile> files, SiteConfig& site,
                      std::vector<std::string>& notes);

}  // namespace plnet::sim
