// SPDX-License-Identifier: BSD-3-Clause
// The credentials of the process that calls libcxi's functions, at the time of the call.
#pragma once

#include "drivers/net/cassini/soft/service.hpp"

namespace plnet::cassini::soft {

[[nodiscard]] Caller caller();
// The effective capability CAP_SYS_ADMIN, which the driver asks for (cxi_user_core.c: admin_only).
[[nodiscard]] bool is_administrator();

}  // namespace plnet::cassini::soft
