// SPDX-License-Identifier: BSD-3-Clause
// The site of an existing network, made of the configurations of its nodes.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "apps/lnet-sim/adopt/config_file.hpp"
#include "apps/lnet-sim/plan/site_config.hpp"

namespace plnet::sim {

struct AdoptedSite {
  SiteConfig site;
  // Parts of the configuration that the site does not have, and assumptions.
  std::vector<std::string> notes;
};

// The error names the file and the expectation.
[[nodiscard]] std::expected<AdoptedSite, std::string> adopt(std::span<const ConfigFile> files);

}  // namespace plnet::sim
