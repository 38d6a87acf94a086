// SPDX-License-Identifier: BSD-3-Clause
// What a selftest service is told of the node that it is on.
#pragma once

#include <functional>
#include <string>

namespace plnet::apps {

struct SelftestHost {
  std::string instance;  // of the node
  // Of a node that is there for one session only: called, on any thread, when that has ended or has
  // not begun within a minute.
  std::function<void()> when_over{};
};

}  // namespace plnet::apps
