// SPDX-License-Identifier: BSD-3-Clause
// The configuration file as a page: the rows of the schema.
#pragma once

#include <string>

#include "lib/runtime/config/schema.hpp"

namespace plnet::manual {

[[nodiscard]] std::string config_page(const runtime::Schema& schema);

}  // namespace plnet::manual
