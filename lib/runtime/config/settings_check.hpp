// SPDX-License-Identifier: BSD-3-Clause
// What no single key can tell: whether values that are fine alone make sense together, as far as
// that can be said without the machine.
#pragma once

#include <string>
#include <vector>

#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

class Schema;

struct SettingsIssue {
  std::string path;   // where to look: "plnet.cpts.list[1].shards[0]"
  std::string cause;  // if this, or anything below it, could not be read, that is to blame instead
  std::string what;
};

// Empty if all is well.
[[nodiscard]] std::vector<SettingsIssue> check_settings(const Schema& schema,
                                                        const Settings& settings);

}  // namespace plnet::runtime
