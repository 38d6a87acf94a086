// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/start_turn.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/runtime/host/cpu_claims.hpp"

namespace plnet::runtime {
namespace {

// Interval between two tries: flock() has no timeout.
constexpr std::chrono::milliseconds kLookInterval{20};
// Root waits for other users no longer than this.
constexpr Duration kRootPatience = std::chrono::seconds(2);

std::string name_of_turn(uid_t user) {
  return fmt::format("plnet-start.{}.lock", user);
}

// Opens a file that only this user can open, like the files of CPU claims. -1: no file.
int open_turn(const std::string& directory) {
  const std::string path = directory + '/' + name_of_turn(::geteuid());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat about{};
  if (file < 0 || (::fstat(file, &about) == 0 && about.st_uid == ::geteuid())) return file;
  ::close(file);
  return -1;
}

// The other users who hold their lock. The name of a file must be that of its owner: other files of
// that name are not believed.
std::vector<uid_t> others_starting(const std::string& directory) {
  std::vector<uid_t> users;
  const bool usual = directory == kClaimDirectory || directory == kRootClaimDirectory;
  const std::set<std::string> places =
      usual ? std::set{std::string(kClaimDirectory), std::string(kRootClaimDirectory)}
            : std::set{directory};
  std::error_code ignored;
  for (const std::string& place : places) {
    for (const auto& entry : std::filesystem::directory_iterator(place, ignored)) {
      struct stat about{};
      if (!entry.path().filename().string().starts_with("plnet-start.") ||
          ::lstat(entry.path().c_str(), &about) != 0 || about.st_uid == ::geteuid() ||
          entry.path().filename() != name_of_turn(about.st_uid))
        continue;
      if (!locks_of(read_proc_locks(), about.st_dev, about.st_ino).empty())
        users.push_back(about.st_uid);
    }
  }
  return users;
}

}  // namespace

StartTurn::StartTurn(const std::string& directory, Duration patience)
    : file_(open_turn(directory)) {
  if (file_ < 0) return;
  const bool is_root = ::geteuid() == 0;
  for (Duration waited{}; !take(directory, !is_root || waited < kRootPatience);
       waited += kLookInterval) {
    if (waited >= patience) {
      ::close(file_);
      file_ = -1;
      return;
    }
    (void)::poll(nullptr, 0, static_cast<int>(kLookInterval.count()));
  }
}

// The lock is taken before other users are looked for: of two that start together, at least one
// sees the other. If both do, the user with the lower number keeps its lock and goes first.
bool StartTurn::take(const std::string& directory, bool heeds_others) {
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) return false;
  const std::vector<uid_t> others =
      heeds_others ? others_starting(directory) : std::vector<uid_t>{};
  if (others.empty()) return true;
  if (std::ranges::any_of(others, [](uid_t user) { return user < ::geteuid(); }))
    (void)::flock(file_, LOCK_UN);
  return false;
}

StartTurn::~StartTurn() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace plnet::runtime
