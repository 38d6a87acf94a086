// SPDX-License-Identifier: BSD-3-Clause
// The control socket of a node by the node's name, also if `--socket` has put it elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::apps {

// The listening sockets called NAME.sock in `table`, the text of /proc/net/unix.
[[nodiscard]] std::vector<std::string> sockets_called(std::string_view name,
                                                      std::string_view table);

// /run/plnet/NAME.sock; if nothing is there, the only socket of that name that a node of root or of
// this user listens on. kExists: there are several.
[[nodiscard]] Outcome<std::string> socket_of_instance(std::string_view name);

}  // namespace plnet::apps
