// SPDX-License-Identifier: BSD-3-Clause
// Keys of a site file that are right alone and not together, or that would be without effect:
// whoever writes a fault down is to get it.
#pragma once

#include "apps/lnet-sim/plan/site_config.hpp"
#include "apps/lnet-sim/yaml/key_reader.hpp"

namespace plnet::sim {

// Of a site that has been read from the document without an error.
void check_site(const SiteConfig& site, const YamlNode& document, ConfigErrors& errors);

}  // namespace plnet::sim
