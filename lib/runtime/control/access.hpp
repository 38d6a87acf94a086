// SPDX-License-Identifier: BSD-3-Clause
// The place of the control socket, and the rights of its users.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "lib/base/result.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

inline constexpr std::string_view kControlFolder = "/run/plnet";
inline constexpr std::size_t kInstanceNameMax = 32;

// /run/plnet/control.sock, or /run/plnet/NAME.sock for an instance with a name. Names are letters,
// digits, '-' and '_', so that they cannot lead out of the folder.
[[nodiscard]] Outcome<std::string> control_socket_path(std::string_view instance);

// The users and groups that may change a node, besides root and the user that it runs as.
struct AccessRule {
  uid_t own_uid = 0;
  std::optional<gid_t> group{};
};
[[nodiscard]] bool may_change(const AccessRule& rule, const Caller& caller);

// The process at the other end of a connected Unix socket.
[[nodiscard]] Result<Caller> caller_of(int socket);

// The number of a user or group given by name or number.
[[nodiscard]] Outcome<uid_t> find_user(std::string_view name);
[[nodiscard]] Outcome<gid_t> find_group(std::string_view name);
// "root", or the number if it has no name.
[[nodiscard]] std::string user_name(uid_t uid);
[[nodiscard]] std::string group_name(gid_t gid);

}  // namespace plnet::runtime
