// SPDX-License-Identifier: BSD-3-Clause
// An adopted site as the text of a site file.
#pragma once

#include <string>
#include <string_view>

#include "apps/lnet-sim/adopt/network.hpp"

namespace plnet::sim {

// `made_by`: the command, for the comment at the top.
[[nodiscard]] std::string site_text(const AdoptedSite& adopted, std::string_view made_by);

}  // namespace plnet::sim
