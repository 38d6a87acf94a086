// SPDX-License-Identifier: BSD-3-Clause
// The calls of the system that make namespaces, files and network interfaces of a lab. Each ends
// in words for people.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/result.hpp"

namespace plnet::cxi_lab {

// The error of the last system call.
[[nodiscard]] std::unexpected<Error> system_failure(const std::string& what);
[[nodiscard]] Outcome<void> write_file(const std::string& path, const std::string& text);
[[nodiscard]] Outcome<void> make_folder(const std::string& path, mode_t mode = 0700);
// `ip -batch` with these commands, in the network namespace of this process.
[[nodiscard]] Outcome<void> run_ip(const std::string& commands);
// Mount and network namespaces and a host name of this process alone; no mount is seen outside. A
// user who is not root gets a user namespace, too, in which it is.
[[nodiscard]] Outcome<void> enter_own_namespaces();
// An empty file system in memory, which nobody outside of the mount namespace sees.
[[nodiscard]] Outcome<void> mount_empty(const std::string& folder);

// The exit status of a command that could not be started, as of a shell.
inline constexpr int kNotStarted = 127;
// The process becomes the command; returns only if that fails.
[[nodiscard]] Error become_command(const std::vector<std::string>& words);

}  // namespace plnet::cxi_lab
