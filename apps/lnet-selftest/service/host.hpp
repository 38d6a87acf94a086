// SPDX-License-Identifier: BSD-3-Clause
// Facts about a node for the selftest service on it.
#pragma once

#include <functional>
#include <string>

namespace plnet::apps {

struct SelftestHost {
  std::string instance;  // the node's
  // Set if the node exists for one session only: called, on any thread, when the session has ended
  // or has not begun within a minute.
  std::function<void()> when_over{};
};

}  // namespace plnet::apps
