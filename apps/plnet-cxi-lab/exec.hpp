// SPDX-License-Identifier: BSD-3-Clause
// A process that moves to another rank of its lab. It moves by itself, into the namespaces of the
// rank's process: that needs the same privileges as the calls do (CAP_SYS_ADMIN of the lab), and no
// process of the lab acts for another one.
#pragma once

#include <string>

#include "lib/base/result.hpp"

namespace plnet::cxi_lab {

[[nodiscard]] Outcome<void> enter_rank(const std::string& host);

}  // namespace plnet::cxi_lab
