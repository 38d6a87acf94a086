// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/access.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#include "lib/base/whole_number.hpp"

namespace plnet::runtime {
namespace {

// Room for one line of the user or group database; a group with more members than fit is not found.
using DatabaseLine = std::array<char, 65536>;

std::optional<unsigned> number_of(std::string_view text) {
  const auto number = whole_number<unsigned>(text);
  return number == static_cast<unsigned>(-1) ? std::nullopt : number;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

}  // namespace

Outcome<std::string> control_socket_path(std::string_view instance) {
  if (instance.empty()) return fmt::format("{}/control.sock", kControlFolder);
  if (instance.size() > kInstanceNameMax || !std::ranges::all_of(instance, is_name_character)) {
    return failure(Errc::kInvalid,
                   fmt::format("instance '{}': expected 1 to {} letters, digits, "
                               "'-' or '_'",
                               instance.substr(0, 2 * kInstanceNameMax), kInstanceNameMax));
  }
  return fmt::format("{}/{}.sock", kControlFolder, instance);
}

bool may_change(const AccessRule& rule, const Caller& caller) {
  if (caller.uid == 0 || caller.uid == rule.own_uid) return true;
  if (!rule.group) return false;
  return caller.gid == *rule.group ||
         std::ranges::find(caller.groups, *rule.group) != caller.groups.end();
}

Result<Caller> caller_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::unexpected(errc_of_errno(errno));
  }
  Caller caller{credentials.uid, credentials.gid, credentials.pid, {}, false};
  // The groups at the moment of connect(), so that a slow or missing group database does not
  // matter. Without kernel support only the primary group counts.
  std::array<gid_t, 1024> groups{};
  size = sizeof groups;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) {
    caller.groups.assign(groups.begin(), groups.begin() + size / sizeof(gid_t));
  }
  return caller;
}

Outcome<uid_t> find_user(std::string_view name) {
  if (const auto number = number_of(name)) return *number;
  DatabaseLine line;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(std::string(name).c_str(), &entry, line.data(), line.size(), &found);
  if (found == nullptr) return failure(Errc::kNotFound, fmt::format("no user named '{}'", name));
  return entry.pw_uid;
}

Outcome<gid_t> find_group(std::string_view name) {
  if (const auto number = number_of(name)) return *number;
  DatabaseLine line;
  group entry{};
  group* found = nullptr;
  ::getgrnam_r(std::string(name).c_str(), &entry, line.data(), line.size(), &found);
  if (found == nullptr) return failure(Errc::kNotFound, fmt::format("no group named '{}'", name));
  return entry.gr_gid;
}

std::string user_name(uid_t uid) {
  DatabaseLine line;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, line.data(), line.size(), &found);
  return found != nullptr ? std::string(entry.pw_name) : fmt::format("{}", uid);
}

std::string group_name(gid_t gid) {
  DatabaseLine line;
  group entry{};
  group* found = nullptr;
  ::getgrgid_r(gid, &entry, line.data(), line.size(), &found);
  return found != nullptr ? std::string(entry.gr_name) : fmt::format("{}", gid);
}

}  // namespace plnet::runtime
