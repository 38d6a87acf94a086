// SPDX-License-Identifier: BSD-3-Clause
// Checks of keys that are valid alone but not together, or that would have no effect: every fault
// in the file must be able to happen.
#pragma once

#include "apps/lnet-sim/plan/site_config.hpp"
#include "apps/lnet-sim/yaml/key_reader.hpp"

namespace plnet::sim {

// Requires a site that was read from the document without an error.
void check_site(const SiteConfig& site, const YamlNode& document, ConfigErrors& errors);

}  // namespace plnet::sim
