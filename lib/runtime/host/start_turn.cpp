// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/start_turn.hpp"

#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

// Interval between two tries: flock() has no timeout.
constexpr std::chrono::milliseconds kLookInterval{20};

// Opens a file that only this user can open, like the files of CPU claims. -1: no file.
int open_turn(const std::string& directory) {
  const std::string path = fmt::format("{}/plnet-start.{}.lock", directory, ::geteuid());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat about{};
  if (file < 0 || (::fstat(file, &about) == 0 && about.st_uid == ::geteuid())) return file;
  ::close(file);
  return -1;
}

}  // namespace

StartTurn::StartTurn(const std::string& directory, Duration patience)
    : file_(open_turn(directory)) {
  if (file_ < 0) return;
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if ((errno == EWOULDBLOCK || errno == EINTR) && patience > Duration{}) {
      (void)::poll(nullptr, 0, static_cast<int>(kLookInterval.count()));
      patience -= kLookInterval;
      continue;
    }
    ::close(file_);
    file_ = -1;
    return;
  }
}

StartTurn::~StartTurn() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace plnet::runtime
