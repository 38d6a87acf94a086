// SPDX-License-Identifier: BSD-3-Clause
// A filter compiled by the user: an object file of `clang -target bpf`, or bare instructions.
#pragma once

#include <string>

#include "lib/base/result.hpp"

namespace plnet::lnetdump {

// As text for a node (trace::program_text()).
[[nodiscard]] Outcome<std::string> read_program(const std::string& path);

}  // namespace plnet::lnetdump
