// SPDX-License-Identifier: BSD-3-Clause
// Checks of values that are valid alone but may contradict each other, as far as that is possible
// without the machine.
#pragma once

#include <string>
#include <vector>

#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

class Schema;

struct SettingsIssue {
  std::string path;   // the place to look at: "plnet.cpts.list[1].shards[0]"
  std::string cause;  // an error at this path, or below it, makes this issue void
  std::string what;
};

// Empty if there are no issues.
[[nodiscard]] std::vector<SettingsIssue> check_settings(const Schema& schema,
                                                        const Settings& settings);

}  // namespace plnet::runtime
