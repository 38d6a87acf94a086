// SPDX-License-Identifier: BSD-3-Clause
// /sys of a rank: the classes net, cxi and cxi_user and the module cxi_ss1 show its NICs; all else
// stays as it is.
#pragma once

#include "apps/plnet-cxi-lab/plan.hpp"
#include "lib/base/result.hpp"

namespace plnet::cxi_lab {

// In the mount namespace of the rank, whose folder is there. Files of the NICs are in
// Plan::driver_folder(): programs see them in /sys/class/cxi, and may write only to those that the
// driver lets them write to.
[[nodiscard]] Outcome<void> make_sysfs(const Plan& plan, unsigned rank);

}  // namespace plnet::cxi_lab
