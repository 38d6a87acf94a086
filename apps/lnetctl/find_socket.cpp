// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/find_socket.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/runtime/control/access.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::apps {
namespace {

constexpr const char* kTable = "/proc/net/unix";
// The flag of a listening socket (__SO_ACCEPTCON), as the table prints it.
constexpr std::string_view kListens = "00010000";

std::string_view word_at(std::string_view line, std::size_t number) {
  for (std::size_t word = 0;; ++word) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find(' '), line.size());
    if (word == number) return line.substr(0, end);
    line.remove_prefix(end);
  }
}

// Another user's socket may be a trap: its answers would be believed.
bool is_trusted(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

}  // namespace

std::vector<std::string> sockets_called(std::string_view name, std::string_view table) {
  constexpr std::size_t kFlags = 3;
  constexpr std::size_t kPath = 7;
  const std::string file = fmt::format("/{}.sock", name);
  std::vector<std::string> found;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    const std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    const std::string_view path = word_at(line, kPath);
    if (word_at(line, kFlags) != kListens || !path.starts_with('/') || !path.ends_with(file))
      continue;
    if (std::ranges::find(found, path) == found.end()) found.emplace_back(path);
  }
  return found;
}

Outcome<std::string> socket_of_instance(std::string_view name) {
  auto usual = runtime::control_socket_path(name);
  if (!usual || name.empty() || ::access(usual->c_str(), F_OK) == 0) return usual;
  const auto table = runtime::read_file(kTable);
  if (!table) return usual;
  std::vector<std::string> found = sockets_called(name, *table);
  std::erase_if(found, [](const std::string& path) { return !is_trusted(path); });
  if (found.empty()) return usual;
  if (found.size() == 1) return found.front();
  return failure(Errc::kExists,
                 fmt::format("instance '{}': several nodes have a socket of this name, {} and {}; "
                             "expected --socket PATH",
                             name, found[0], found[1]));
}

}  // namespace plnet::apps
